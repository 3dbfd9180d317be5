import { type Command, CommanderError } from 'commander';
import { readVersion } from '../app.ts';
import { commandsFor, type RegisterCommand } from './commands.ts';
import { CliError } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type CliIo, paint, printNote } from './io.ts';
import { fullName, namedCommand, requireKnownCommand } from './named-command.ts';
import { buildProgram } from './program.ts';
import { stopReason } from './signals.ts';

/** What the caller provides; `runCli` adds `setExitCode`, one per run. */
export type CliSurroundings = Omit<CliIo, 'setExitCode'>;

/** An error as one line for people, or as one object for `--json`. */
interface Problem {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly message: string;
  readonly cure?: string | undefined;
}

/** Runs one command line and returns its exit code; never throws, never ends the process. */
export async function runCli(
  args: readonly string[],
  surroundings: CliSurroundings,
  commands?: readonly RegisterCommand[],
): Promise<ExitCode> {
  let chosen: ExitCode | undefined;
  const io = withExitCode(surroundings, (code) => {
    chosen = code;
  });
  const program = buildProgram(io, readVersion(), commands ?? (await commandsFor(args)));
  try {
    requireKnownCommand(program, args);
    await program.parseAsync(args, { from: 'user' });
    return chosen ?? stopReason(io.signal)?.exitCode ?? EXIT.ok;
  } catch (error) {
    const stopped = stopReason(io.signal);
    if (stopped !== undefined && isAbort(error, stopped)) return chosen ?? stopped.exitCode;
    // Help or version was asked for and is printed already.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    // No command was given: commander has printed the help, which is the whole answer.
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    return report(error, describe(error, program, args), args, io);
  }
}

/** Reports an error that no command awaited: one line as for any other, and the exit code of a defect. */
export function reportCrash(
  error: unknown,
  args: readonly string[],
  surroundings: CliSurroundings,
): ExitCode {
  return report(error, describeDefect(error), args, surroundings);
}

/** Keeps `stdin` a lazy getter, if it is one. */
function withExitCode(surroundings: CliSurroundings, setExitCode: CliIo['setExitCode']): CliIo {
  return Object.create(surroundings, { setExitCode: { value: setExitCode } }) as CliIo;
}

function isAbort(error: unknown, stopped: Error): boolean {
  return error === stopped || (error instanceof Error && error.name === 'AbortError');
}

function report(error: unknown, problem: Problem, args: readonly string[], io: CliSurroundings): ExitCode {
  const { conceal = (text: string) => text } = io;
  const ownArgs = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  if (ownArgs.includes('--json')) {
    const { exitCode: _exitCode, ...shown } = problem;
    printNote(io, conceal(JSON.stringify({ error: shown })));
  } else {
    const cure = problem.cure === undefined ? '' : ` ${problem.cure}`;
    printNote(io, conceal(`${paint(io, 'stderr', 'red', 'breakwater:')} ${problem.message}${cure}`));
  }
  if ((ownArgs.includes('--debug') || isSet(io.env['BREAKWATER_DEBUG'])) && error instanceof Error) {
    printNote(io, conceal(stackWithCauses(error)));
  }
  return problem.exitCode;
}

function describe(error: unknown, program: Command, args: readonly string[]): Problem {
  if (error instanceof CommanderError) {
    const cure = `See: ${fullName(namedCommand(program, args).command)} --help`;
    return { exitCode: EXIT.usage, code: 'usage', message: sentence(error.message), cure };
  }
  if (error instanceof CliError) {
    const { exitCode, code, message, cure } = error;
    return { exitCode, code, message: oneLine(message), cure: cure === undefined ? cure : oneLine(cure) };
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && error instanceof Error) {
    const cure = 'cure' in error && typeof error.cure === 'string' ? oneLine(error.cure) : undefined;
    const message = oneLine(error.message);
    return { exitCode: EXIT.failed, code, message: cure === undefined ? message : ended(message), cure };
  }
  return describeDefect(error);
}

function describeDefect(error: unknown): Problem {
  return {
    exitCode: EXIT.bug,
    code: 'bug',
    message: `this is a defect in Breakwater: ${oneLine(error instanceof Error ? error.message : String(error))}.`,
    cure: 'Run the same with --debug and report what it prints.',
  };
}

/** Commander says "error: unknown option '--prot'\n(Did you mean --port?)". */
function sentence(message: string): string {
  const [first = '', ...rest] = message.replace(/^error: /, '').split('\n');
  const suggestion = rest
    .join(' ')
    .trim()
    .replace(/^\((.*)\)$/s, '$1');
  return `${ended(first)}${suggestion === '' ? '' : ` ${suggestion}`}`;
}

function ended(words: string): string {
  return /[.?!]$/.test(words) ? words : `${words}.`;
}

function oneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0';
}

function stackWithCauses(error: Error): string {
  const own = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackWithCauses(error.cause)}` : own;
}
