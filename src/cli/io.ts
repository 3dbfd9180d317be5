import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Conceal } from '../core/redaction/conceal.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** Everything a command may touch of the process it runs in; tests hand in their own. */
export interface CliIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Which of the three is a terminal: decides about colours, live tables and questions. */
  readonly isTty: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted once: by a signal, or because nobody reads standard output any more. A command then ends in order. */
  readonly signal: AbortSignal;
  /** Calls back for each SIGHUP, which then does not end the command; returns how to stop. Absent: there is none. */
  readonly onHangup?: (listener: () => void) => () => void;
  /** From now on lost outputs neither end the command nor keep it from ending. Absent: not those of a process. */
  readonly outliveOutputs?: () => void;
  /** The process ends with the command, whatever that left open. Absent: it is not a process. */
  readonly leaveOpen?: () => void;
  /** From now on nothing that a crash or a refusal prints shows what this conceals. Absent: not those of a process. */
  readonly hide?: (conceal: Conceal) => void;
  /** As given to `hide`. */
  readonly conceal?: Conceal;
  /** For an end that is neither success nor an error: a daemon stopped by a signal may end with 0. */
  setExitCode(code: ExitCode): void;
}

/** The part that printing needs. */
type Outputs = Pick<CliIo, 'stdout' | 'stderr' | 'isTty' | 'env'>;

export type OutputName = 'stdout' | 'stderr';
export type Style = Parameters<typeof styleText>[0];

/** Colours: never with NO_COLOR or TERM=dumb, always with FORCE_COLOR (but 0), otherwise only on a terminal. */
export function hasColours(io: Outputs, output: OutputName): boolean {
  const { NO_COLOR: none, FORCE_COLOR: forced, TERM: term } = io.env;
  if (none !== undefined && none !== '') return false;
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  return io.isTty[output] && term !== 'dumb';
}

export function paint(io: Outputs, output: OutputName, style: Style, text: string): string {
  return hasColours(io, output) ? styleText(style, text, { validateStream: false }) : text;
}

/** Of the terminal behind standard output; undefined where nothing tells. */
export function terminalSize({ stdout }: Pick<CliIo, 'stdout'>, of: 'columns' | 'rows'): number | undefined {
  const size: unknown = Reflect.get(stdout, of);
  return Number.isInteger(size) && Number(size) > 0 ? Number(size) : undefined;
}

/** One line to standard output: the result that was asked for. */
export function printLine(io: Outputs, text: string): void {
  io.stdout.write(`${text}\n`);
}

/** The `--json` convention: one JSON value per line on standard output, and nothing else there. */
export function printJson(io: Outputs, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Progress and remarks, which are not the result: standard error. */
export function printNote(io: Outputs, text: string): void {
  io.stderr.write(`${text}\n`);
}

/** A remark that must not be overlooked. */
export function printWarning(io: Outputs, text: string): void {
  printNote(io, paint(io, 'stderr', 'yellow', text));
}

/**
 * Asks on standard error; anything but y or yes is a no, and `undone` (`nothing was sent`) then says what that means.
 * @throws CliError when the answer is no or Ctrl-C, UsageError where standard input is no terminal
 */
export async function confirm(io: CliIo, question: string, undone: string): Promise<void> {
  if (!io.isTty.stdin) {
    throw new UsageError('this needs a confirmation, and standard input is not a terminal.', 'Add --yes.');
  }
  const prompt = createInterface({ input: io.stdin, output: io.stderr, terminal: io.isTty.stderr });
  try {
    // A terminal in the hands of the line editor sends Ctrl-C as a key, not as a signal.
    const stopped = once(prompt, 'SIGINT').then(() => {
      const exitCode = EXIT.interrupted;
      throw new CliError('interrupted', `stopped by Ctrl-C: ${undone}.`, { exitCode });
    });
    // The end of the input (Ctrl-D) answers nothing, and `question` would wait for ever.
    const ended = once(prompt, 'close').then(() => '');
    const asked = prompt.question(`${question} [y/N] `, { signal: io.signal }).catch(noneAt(io.signal));
    const answer = await Promise.race([asked, ended, stopped]);
    if (/^y(es)?$/i.test(answer.trim())) return;
    io.signal.throwIfAborted();
    throw new CliError('not-confirmed', `not confirmed: ${undone}.`);
  } finally {
    prompt.close();
  }
}

/** Ctrl-D at a terminal is a key, which rejects the question as an abort does. */
function noneAt(signal: AbortSignal): (error: Error) => string {
  return (error) => {
    if (error.name !== 'AbortError' || signal.aborted) throw error;
    return '';
  };
}
