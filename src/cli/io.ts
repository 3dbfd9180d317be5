import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Conceal } from '../core/redaction/conceal.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** Everything that a command may touch of its process; tests supply their own. */
export interface CliIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Which of the three are terminals: decides on colours, live tables and questions. */
  readonly isTty: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted once: by a signal, or when nobody reads standard output any more. A command then ends in order. */
  readonly signal: AbortSignal;
  /** Calls back for each SIGHUP, which then does not end the command; returns a function that stops it. */
  readonly onHangup?: (listener: () => void) => () => void;
  /** From this call on, lost outputs neither end the command nor keep it from ending. Absent: not of a process. */
  readonly outliveOutputs?: () => void;
  /** Makes the process end with the command, even if something is left open. Absent: not of a process. */
  readonly leaveOpen?: () => void;
  /** From this call on, crashes and refusals print nothing that `conceal` hides. Absent: not of a process. */
  readonly hide?: (conceal: Conceal) => void;
  /** The function given to `hide`. */
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

/** Size of the terminal behind standard output; undefined if unknown. */
export function terminalSize({ stdout }: Pick<CliIo, 'stdout'>, of: 'columns' | 'rows'): number | undefined {
  const size: unknown = Reflect.get(stdout, of);
  return Number.isInteger(size) && Number(size) > 0 ? Number(size) : undefined;
}

/** Prints one line of the result to standard output. */
export function printLine(io: Outputs, text: string): void {
  io.stdout.write(`${text}\n`);
}

/** The `--json` convention: one JSON value per line on standard output, and nothing else there. */
export function printJson(io: Outputs, value: unknown): void {
  printLine(io, jsonText(value));
}

/** Without what sums of fractions leave behind the last digit that means something: 25.74, not 25.740000000000002. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) =>
    typeof one === 'number' && !Number.isInteger(one) ? Number(one.toPrecision(SURE_DIGITS)) : one,
  );
}

const SURE_DIGITS = 15;

/** Records of others, digit by digit: times of the exchange have 16, and hashes are of the exact text. */
export function printExactJson(io: Outputs, value: unknown): void {
  printLine(io, JSON.stringify(value));
}

/** Prints progress and remarks, which are not the result, to standard error. */
export function printNote(io: Outputs, text: string): void {
  io.stderr.write(`${text}\n`);
}

/** Prints a remark that must not be overlooked. */
export function printWarning(io: Outputs, text: string): void {
  printNote(io, paint(io, 'stderr', 'yellow', text));
}

/**
 * Asks on standard error; anything but y or yes is a no, which `undone` (such as `nothing was sent`) then explains.
 * @throws CliError for a no or Ctrl-C, UsageError if standard input is not a terminal
 */
export async function confirm(io: CliIo, question: string, undone: string): Promise<void> {
  if (!io.isTty.stdin) {
    throw new UsageError('this needs a confirmation, and standard input is not a terminal.', 'Add --yes.');
  }
  const prompt = createInterface({ input: io.stdin, output: io.stderr, terminal: io.isTty.stderr });
  try {
    // A terminal under the line editor's control sends Ctrl-C as a key, not as a signal.
    const stopped = once(prompt, 'SIGINT').then(() => {
      const exitCode = EXIT.interrupted;
      throw new CliError('interrupted', `stopped by Ctrl-C: ${undone}.`, { exitCode });
    });
    // The end of the input (Ctrl-D) is no answer, and `question` would wait forever.
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

/** Ctrl-D at a terminal is a key that rejects the question like an abort; it counts as an empty answer. */
function noneAt(signal: AbortSignal): (error: Error) => string {
  return (error) => {
    if (error.name !== 'AbortError' || signal.aborted) throw error;
    return '';
  };
}
