import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/** Cleans up after a process that could not do so itself (SIGKILL, a crash of the runtime). */
export interface DeathWatch {
  /** Call it after an orderly clean-up: ends the watch, which then does nothing. */
  release(): Promise<void>;
}

/**
 * POSIX sh. `read` fails when the pipe closes with this process; a line ends it. Arguments: a pid or '', then folders.
 */
const WATCH = [
  'trap "" HUP INT TERM',
  'read -r _ && exit 0',
  'pid=$1',
  'shift',
  '[ -z "$pid" ] || kill -KILL "$pid"',
  // The killed process may still be writing into its folder.
  'for _ in 1 2 3 4 5; do rm -rf -- "$@" && exit 0; sleep 1; done',
].join('; ');

/** If this process ends without releasing the watch, kills `pid` and removes the folders. */
export function watchOverDeath(remains: {
  readonly pid?: number;
  readonly folders: readonly string[];
}): DeathWatch {
  const args = ['-c', WATCH, 'breakwater-death-watch', String(remains.pid ?? ''), ...remains.folders];
  const stdio: ['pipe', 'ignore', 'ignore'] = ['pipe', 'ignore', 'ignore'];
  // In its own process group: a signal from the terminal must not end the watch before this process.
  const watch = spawn('/bin/sh', args, { stdio, detached: true });
  // Without a shell there is no watch; a process that ends in order cleans up without it.
  const ended = once(watch, 'close').catch(() => undefined);
  // The watch may have been killed.
  watch.stdin.on('error', () => undefined);
  watch.unref();
  (watch.stdin as Socket).unref();
  return {
    release: async () => {
      watch.ref();
      watch.stdin.end('done\n');
      await ended;
    },
  };
}
