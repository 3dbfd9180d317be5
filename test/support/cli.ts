import { PassThrough } from 'node:stream';
import type { RegisterCommand } from '../../src/cli/commands.ts';
import type { ExitCode } from '../../src/cli/exit-codes.ts';
import { runCli } from '../../src/cli/run.ts';
import { Stopped } from '../../src/cli/signals.ts';

export interface CliRun {
  readonly exitCode: ExitCode;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliRunOptions {
  /** Only these commands; default: the real ones. */
  readonly commands?: readonly RegisterCommand[];
  readonly env?: Readonly<Record<string, string>>;
  /** All three streams are terminals. */
  readonly tty?: boolean;
  /** Typed input; standard input then ends. */
  readonly input?: string;
  readonly signal?: AbortSignal;
}

/** Runs a command line inside the test process, with its own streams and environment. */
export async function runCommandLine(args: readonly string[], options: CliRunOptions = {}): Promise<CliRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(options.input ?? '');
  const tty = options.tty ?? false;
  const exitCode = await runCli(
    args,
    {
      stdin,
      stdout,
      stderr,
      isTty: { stdin: tty, stdout: tty, stderr: tty },
      env: options.env ?? {},
      signal: options.signal ?? new AbortController().signal,
    },
    options.commands,
  );
  const printed = drained(stdout);
  if (args.includes('--json') && options.commands === undefined) await requireShape(args, printed);
  return { exitCode, stdout: printed, stderr: drained(stderr) };
}

/** Whatever a test is about: each line that a command prints with `--json` is as docs/json.md says. */
async function requireShape(args: readonly string[], printed: string): Promise<void> {
  const { shapeFault } = await import('./json-shapes.ts');
  for (const line of printed.split('\n').filter((text) => text !== '')) {
    const fault = shapeFault(args, line);
    if (fault !== undefined)
      throw new Error(`breakwater ${args.join(' ')}: ${fault}: ${line.slice(0, 2_000)}`);
  }
}

/** The abort reason of a command after Ctrl-C. */
export function ctrlC(): Stopped {
  return new Stopped('SIGINT');
}

function drained(stream: PassThrough): string {
  return String((stream.read() as Buffer | null) ?? '');
}
