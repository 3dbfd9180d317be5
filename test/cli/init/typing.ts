import { PassThrough } from 'node:stream';
import type { ExitCode } from '../../../src/cli/exit-codes.ts';
import { runCli } from '../../../src/cli/run.ts';

export interface TypedRun {
  readonly exitCode: ExitCode;
  readonly stdout: string;
  /** Questions and echoed input. */
  readonly stderr: string;
}

/** A question to wait for, and the answer to type. */
export type Answer = readonly [question: string, typed: string];

/** Runs a command line at a terminal where each question is answered once it appears; then the input ends. */
export async function runAtTerminal(
  args: readonly string[],
  answers: readonly Answer[],
  {
    env = {},
    signal = new AbortController().signal,
  }: { env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<TypedRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let shown = '';
  let printed = '';
  let at = 0;
  const left = [...answers];
  stdout.on('data', (chunk: Buffer) => {
    printed += String(chunk);
  });
  stderr.on('data', (chunk: Buffer) => {
    shown += String(chunk);
    const [next] = left;
    if (next === undefined) return;
    const found = shown.indexOf(next[0], at);
    if (found < 0) return;
    at = found + next[0].length;
    left.shift();
    // After the question, not during its output.
    setImmediate(() => {
      stdin.write(next[1]);
      if (left.length === 0) setImmediate(() => stdin.end());
    });
  });
  if (left.length === 0) stdin.end();
  const isTty = { stdin: true, stdout: false, stderr: false };
  const exitCode = await runCli(args, { stdin, stdout, stderr, isTty, env, signal });
  stdin.end();
  return { exitCode, stdout: printed, stderr: shown };
}
