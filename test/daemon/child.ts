import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { closeAfterTest } from '../contract/support/world.ts';
import type { DaemonWorld } from './world.ts';

const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
const KILL_AT = path.join(import.meta.dirname, 'fixtures/kill-at.ts');
const WALL_CLOCK = path.join(import.meta.dirname, 'fixtures/wall-clock.ts');

/** `breakwater run` in its own process. */
export interface ChildDaemon {
  readonly child: ChildProcess;
  /** Its exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  readonly output: () => string;
  /** Resolves when the log says that it watches. */
  readonly watching: Promise<void>;
  /** Ends it gracefully. */
  stop(): Promise<number | NodeJS.Signals | null>;
}

export function startChild(
  world: Pick<DaemonWorld, 'configFile' | 'env'>,
  options: {
    readonly args?: readonly string[];
    readonly killAt?: string;
    readonly killAfter?: number;
    /** What its host's wall clock is ahead, milliseconds. */
    readonly clockOffMs?: number;
  } = {},
): ChildDaemon {
  const { args = [], killAt, killAfter = 1, clockOffMs } = options;
  const hook = [
    ...(killAt === undefined ? [] : ['--import', KILL_AT]),
    ...(clockOffMs === undefined ? [] : ['--import', WALL_CLOCK]),
  ];
  const child = spawn(process.execPath, [...hook, MAIN, 'run', '--config', world.configFile, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...world.env,
      ...(killAt === undefined ? {} : { KILL_AT: killAt, KILL_AFTER: String(killAfter) }),
      ...(clockOffMs === undefined ? {} : { CLOCK_OFF: String(clockOffMs) }),
    },
  });
  let output = '';
  let seen: (() => void) | undefined;
  const watching = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const take = (chunk: Buffer): void => {
    output += String(chunk);
    if (output.includes('watching ')) seen?.();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const ended = once(child, 'exit').then(
    ([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null,
  );
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    return await ended;
  };
  closeAfterTest(async () => {
    await stop();
  });
  return { child, ended, output: () => output, watching, stop };
}
