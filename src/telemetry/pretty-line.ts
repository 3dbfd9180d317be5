import { styleText } from 'node:util';
import { parsedJson } from '../core/text/parsed-json.ts';

/** Formats a JSON line for people: time, level, sentence, the other fields as `key=value`, and the stack below. */
export function prettyLine(json: string, colours: boolean): string {
  const record = parsedJson(json);
  if (typeof record !== 'object' || record === null) return json;
  const { time, level, event, words, error, ...rest } = record as Readonly<Record<string, unknown>>;
  const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text;
  const name = typeof level === 'string' ? level : 'info';
  const fields = Object.entries(rest).map(([key, value]) => `${paint('dim', `${key}=`)}${shortText(value)}`);
  const line = [
    paint('dim', typeof time === 'string' ? time.slice(11, 23) : ''),
    paint(STYLES[name] ?? 'reset', name.toUpperCase().padEnd(5)),
    printable(typeof words === 'string' && words !== '' ? words : String(event)),
    ...fields,
    ...(error === undefined ? [] : [`${paint('dim', 'error=')}${paint('red', shortText(messageOf(error)))}`]),
  ];
  return `${line.filter((part) => part !== '').join(' ')}\n${stackOf(error)}`;
}

const STYLES: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: ['red', 'bold'],
};

function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[\w.:@/%+*-]+$/.test(text)
    ? text
    : printable(typeof value === 'string' ? JSON.stringify(text) : text);
}

/** Removes control characters: text from outside must not move the cursor or colour the terminal. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}

function messageOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null || !('message' in error)) return error;
  const cause = 'cause' in error && error.cause !== undefined ? `: ${String(messageOf(error.cause))}` : '';
  return `${String(error.message)}${cause}`;
}

function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('stack' in error)) return '';
  const frames = String(error.stack).split('\n').slice(1);
  return frames.map((frame) => `    ${printable(frame.trim())}\n`).join('');
}
