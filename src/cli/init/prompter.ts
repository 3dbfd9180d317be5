import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, paint, printNote } from '../io.ts';

export interface Question<T> {
  readonly text: string;
  /** Used for an empty answer; absent: the question is asked again. */
  readonly fallback?: string;
  /** The required form of an answer: completes "Expected". */
  readonly expected: string;
  /** `undefined`: not as expected. */
  readonly read: (text: string) => T | undefined;
}

export type Prompter = ReturnType<typeof openPrompter>;

/**
 * Asks on standard error, one question after another; close it at the end.
 *
 * Typed text is echoed only while a visible question waits. Text pasted ahead of a hidden question stays unseen, and
 * answers the questions that follow.
 */
export function openPrompter(io: CliIo) {
  let isShown = false;
  const echo = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (isShown) io.stderr.write(chunk);
      done();
    },
  });
  // Without a history no key brings a secret back. Only with `terminal` is the echo under our control.
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
  lines.on('close', () => end(new CliError('input-ended', ENDED_EARLY)));
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
    // The text is the line editor's prompt, because the editor rewrites the whole line after a deletion.
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
  /** Asks until the answer is valid. @throws CliError when the input ends, the signal's reason when it is aborted */
  const ask = async <T extends string | number | boolean>(question: Question<T>): Promise<T> => {
    const { text, fallback, expected, read } = question;
    const shown = fallback === undefined ? `${text}: ` : `${text} [${fallback}]: `;
    for (;;) {
      const answer = (await nextLine(shown, true)).trim();
      const value = read(answer === '' ? (fallback ?? '') : answer);
      if (value !== undefined) return value;
      complain(expected);
    }
  };
  return {
    ask,
    /** The same for a secret of visible ASCII characters: typed text is not shown. */
    askHidden: async (text: string) => {
      for (;;) {
        const answer = (await nextLine(`${text} (not shown): `, false)).trim();
        if (/^[\x21-\x7e]+$/.test(answer)) return answer;
        if (answer !== '') complain('visible ASCII characters without blanks');
      }
    },
    /** Requires an explicit yes or no: Enter must not agree. */
    confirm: (text: string) =>
      ask<boolean>({
        text: `${text} (y/n)`,
        expected: 'y or n',
        read: (answer) => /^y(es)?$/i.test(answer) || (/^no?$/i.test(answer) ? false : undefined),
      }),
    close: (): void => {
      io.signal.removeEventListener('abort', abort);
      lines.close();
    },
  };
}

function stoppedByCtrlC(): CliError {
  const exitCode = EXIT.interrupted;
  return new CliError('interrupted', 'stopped by Ctrl-C: nothing was written.', { exitCode });
}

const ENDED_EARLY = 'the input ended before every question was answered: nothing was written.';
