import process from 'node:process';
import { isatty } from 'node:tty';
import type { RegisterCommand } from './commands.ts';
import { type CliSurroundings, reportCrash, runCli } from './run.ts';
import { abortOnClosedOutput, abortOnSignals } from './signals.ts';

/** Runs this process's command line on this process's streams and signals, and sets its exit code. */
export async function runProcess(commands?: readonly RegisterCommand[]): Promise<void> {
  const args = process.argv.slice(2);
  const controller = new AbortController();
  const surroundings: CliSurroundings = {
    // Standard input is opened only by a command that reads it.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    isTty: { stdin: isatty(0), stdout: isatty(1), stderr: isatty(2) },
    env: process.env,
    signal: controller.signal,
  };
  abortOnSignals(process, controller, () => performance.now());
  abortOnClosedOutput([process.stdout, process.stderr], controller);
  process.on('uncaughtException', (error) => process.exit(reportCrash(error, args, surroundings)));
  // The process then ends by itself: a handle that a command forgot shows as a hang, not as luck.
  process.exitCode = await runCli(args, surroundings, commands);
}
