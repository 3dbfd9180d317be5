import process from 'node:process';
import { isatty } from 'node:tty';
import { within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import type { RegisterCommand } from './commands.ts';
import { EXIT } from './exit-codes.ts';
import { type CliSurroundings, reportCrash, runCli } from './run.ts';
import { abortOnClosedOutput, abortOnSignals, Hangups, stopReason } from './signals.ts';

/** npm repeats the terminal's Ctrl-C, and reports a command that is gone by then as killed: wait briefly for it. */
const NPM_ECHO_MS = 1_000;

/** Runs this process's command line with its streams and signals, and sets its exit code. */
export async function runProcess(commands?: readonly RegisterCommand[]): Promise<void> {
  const args = process.argv.slice(2);
  const controller = new AbortController();
  const hangups = new Hangups();
  let outlivesOutputs = false;
  let leavesOpen = false;
  let conceal = (text: string): string => text;
  const outputs = [process.stdout, process.stderr];
  const surroundings: CliSurroundings = {
    // Opens standard input only for a command that reads it.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    isTty: { stdin: isatty(0), stdout: isatty(1), stderr: isatty(2) },
    env: process.env,
    signal: controller.signal,
    onHangup: (listener) => hangups.listen(listener),
    outliveOutputs: () => {
      outlivesOutputs = true;
    },
    leaveOpen: () => {
      leavesOpen = true;
    },
    hide: (next) => {
      conceal = next;
    },
    get conceal() {
      return conceal;
    },
  };
  keepSecretsOutOfReports();
  const isEchoed = process.env['npm_lifecycle_event'] !== undefined;
  const echo = abortOnSignals(process, controller, { nowMs: () => performance.now(), hangups, isEchoed });
  abortOnClosedOutput(outputs, controller, () => outlivesOutputs);
  // Without this handler, Node would open its debugger to every user of this machine, with all secrets in reach.
  process.on('SIGUSR1', () => undefined);
  process.on('uncaughtException', (error) => process.exit(reportCrash(error, args, surroundings)));
  // Usually the process then ends by itself, so that a handle forgotten by a command shows as a hang.
  process.exitCode = await runCli(args, surroundings, commands);
  if (leavesOpen) process.exit();
  if (outlivesOutputs && outputs.some(({ writableLength }) => writableLength > 0)) process.exit();
  const interrupted = stopReason(controller.signal)?.exitCode === EXIT.interrupted;
  if (interrupted && isEchoed) await within(systemTimers, NPM_ECHO_MS, echo, () => undefined);
}

/** A diagnostic report requested by NODE_OPTIONS would contain the environment, and with it keys and tokens. */
function keepSecretsOutOfReports(): void {
  process.report.excludeEnv = true;
  process.report.reportOnFatalError = false;
  process.report.reportOnUncaughtException = false;
}
