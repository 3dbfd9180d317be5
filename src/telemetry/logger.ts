import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import { createRedactor, type Redactor } from '../core/redaction/redactor.ts';
import { parsedJson } from '../core/text/parsed-json.ts';
import { createLogSink, type LogLoss } from './log-sink.ts';
import { loggedValue } from './logged-value.ts';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

export type LogFormat = 'json' | 'pretty';

/** Fields of a line. `account`, `subject`, `rule`, `reason` and `durationMs` mean the same in every line. */
export interface LogFields {
  readonly account?: string | undefined;
  readonly subject?: string | undefined;
  readonly rule?: string | undefined;
  readonly reason?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly error?: unknown;
  readonly [key: string]: unknown;
}

/** One line per event: a stable name to search for, and a sentence to read. */
export interface Logger {
  log(level: LogLevel, event: string, words: string, fields?: LogFields): void;
  /** Reports whether lines of a level are written; ask before a line that is costly to prepare. */
  writes(level: LogLevel): boolean;
  setLevel(level: LogLevel): void;
  setFormat(format: LogFormat): void;
  /** Adds secrets to redact, e.g. those of a new config. */
  hide(secrets: Iterable<string>): void;
  /** Resolves when everything logged so far is written, or after a second. */
  flush(): Promise<void>;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly colours?: boolean;
  readonly stream: Writable;
  readonly onLost?: (why: LogLoss) => void;
}

/**
 * Creates a pino logger on a stream; every value passes the redactor. Logging never blocks: lines that the stream does
 * not take are lost and counted, and a `logResumed` line reports them when it takes lines again.
 */
export function createLogger(options: LoggerOptions): Logger {
  const redactor = createRedactor();
  let { format } = options;
  const sink = createLogSink(options.stream, {
    onLost: (why) => options.onLost?.(why),
    onResumed: (lost) => logger.warn({ event: 'logResumed', lost }, `${lost} lines of the log were lost`),
  });
  const destination: DestinationStream = {
    write: (line) => {
      const shown = format === 'json' ? line : prettyLine(line, options.colours ?? false);
      // Every line passes here, so no path to the output skips the redactor.
      sink.write(redactor.line(shown));
    },
  };
  const logger: PinoLogger = pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      messageKey: 'words',
      formatters: { level: (label) => ({ level: label }) },
      serializers: {},
    },
    destination,
  );
  return {
    log(level, event, words, fields = {}) {
      if (!logger.isLevelEnabled(level)) return;
      logger[level]({ event, ...plain(redactor, fields) }, redactor.text(words));
    },
    writes: (level) => logger.isLevelEnabled(level),
    setLevel: (level) => {
      logger.level = level;
    },
    setFormat: (next) => {
      format = next;
    },
    hide: (secrets) => redactor.add(secrets),
    flush: () => sink.flush(),
  };
}

/** Keys of pino; fields with these names are renamed. */
const RESERVED = new Set(['level', 'time', 'words', 'event', 'pid', 'hostname']);

function plain(redactor: Redactor, fields: LogFields): Readonly<Record<string, unknown>> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  if (entries.every(([, value]) => typeof value === 'number')) return Object.fromEntries(entries);
  const shown = loggedValue(Object.fromEntries(entries), redactor);
  if (typeof shown !== 'object' || shown === null) return { fields: shown };
  const renamed = Object.entries(shown).map(([key, value]) => [RESERVED.has(key) ? `${key}_` : key, value]);
  return Object.fromEntries(renamed) as Record<string, unknown>;
}

/** Formats a JSON line for people: time, level, sentence, the other fields as `key=value`, and the stack below. */
function prettyLine(json: string, colours: boolean): string {
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
