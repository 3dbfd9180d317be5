import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, paint, printNote } from '../io.ts';

/** What a text was read as, or what it should have been. */
export type AnswerReading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly expected: string };

export interface Question<T> {
  readonly text: string;
  /** What an empty answer means; absent: the question is asked again. */
  readonly fallback?: string;
  readonly read: (text: string) => AnswerReading<T>;
}

/** Asks on standard error, one question after another; close it at the end. */
export interface Prompter {
  /** Asks until the answer can be read. @throws CliError when the input ends, the signal's reason when it is aborted */
  ask<T>(question: Question<T>): Promise<T>;
  /** The same for a secret: nothing that is typed is shown. It has visible ASCII characters only. */
  askHidden(text: string): Promise<string>;
  /** Yes or no, in so many words: what is asked like this is not to be agreed to by Enter. */
  confirm(text: string): Promise<boolean>;
  close(): void;
}

/**
 * What is typed is echoed only while a visible question waits: what was pasted ahead of a hidden one stays unseen, and is
 * the answer to the questions that follow.
 */
export function openPrompter(io: CliIo): Prompter {
  let isShown = false;
  const echo = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (isShown) io.stderr.write(chunk);
      done();
    },
  });
  // Without a history no key brings a secret back. `terminal`: only then the echo is ours.
  const lines = createInterface({ input: io.stdin, output: echo, terminal: true, historySize: 0 });
  const typed: string[] = [];
  let waiting: PromiseWithResolvers<string> | undefined;
  let ended: Error | undefined;
  const end = (error: Error): void => {
    ended ??= error;
    waiting?.reject(ended);
    waiting = undefined;
  };
  lines.on('line', (line) => {
    isShown = false;
    if (waiting === undefined) typed.push(line);
    else waiting.resolve(line);
    waiting = undefined;
  });
  lines.on('SIGINT', () => end(stoppedByCtrlC()));
  lines.on('close', () => end(inputEnded()));
  const abort = (): void => end(io.signal.reason as Error);
  if (io.signal.aborted) abort();
  io.signal.addEventListener('abort', abort, { once: true });

  const nextLine = async (text: string, shows: boolean): Promise<string> => {
    const ahead = typed.shift();
    if (ahead === undefined && ended !== undefined) throw ended;
    if (ahead !== undefined) {
      io.stderr.write(`${text}${shows ? ahead : ''}\n`);
      return ahead;
    }
    waiting = Promise.withResolvers<string>();
    const { promise } = waiting;
    isShown = shows;
    // The text is the line editor's prompt, as it writes the whole line anew when something is deleted.
    lines.setPrompt(text);
    if (shows) lines.prompt(true);
    else io.stderr.write(text);
    return await promise.finally(() => {
      isShown = false;
      if (!shows || ended !== undefined) io.stderr.write('\n');
    });
  };

  const complain = (expected: string): void =>
    printNote(io, paint(io, 'stderr', 'yellow', `Expected ${expected}.`));
  const ask = async <T>({ text, fallback, read }: Question<T>): Promise<T> => {
    const shown = fallback === undefined ? `${text}: ` : `${text} [${fallback}]: `;
    for (;;) {
      const answer = (await nextLine(shown, true)).trim();
      const reading = read(answer === '' ? (fallback ?? '') : answer);
      if (reading.ok) return reading.value;
      complain(reading.expected);
    }
  };
  return {
    ask,
    askHidden: async (text) => {
      for (;;) {
        const answer = (await nextLine(`${text} (not shown): `, false)).trim();
        if (/^[\x21-\x7e]+$/.test(answer)) return answer;
        if (answer !== '') complain('visible ASCII characters without blanks');
      }
    },
    confirm: (text) =>
      ask({
        text: `${text} (y/n)`,
        read: (answer): AnswerReading<boolean> => {
          if (/^y(es)?$/i.test(answer)) return { ok: true, value: true };
          return /^no?$/i.test(answer) ? { ok: true, value: false } : { ok: false, expected: 'y or n' };
        },
      }),
    close: () => {
      io.signal.removeEventListener('abort', abort);
      lines.close();
    },
  };
}

function stoppedByCtrlC(): CliError {
  return new CliError('interrupted', 'stopped by Ctrl-C: nothing was written.', {
    exitCode: EXIT.interrupted,
  });
}

function inputEnded(): CliError {
  return new CliError(
    'input-ended',
    'the input ended before every question was answered: nothing was written.',
  );
}
