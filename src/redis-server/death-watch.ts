import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/** Cleans up behind a process that had no time to do so itself (SIGKILL, a crash of the runtime). */
export interface DeathWatch {
  /** Everything was cleaned up in order: ends the watch, which then does nothing. */
  release(): Promise<void>;
}

/**
 * POSIX sh. The pipe closes with this process, and `read` fails; a line ends it. Arguments: a pid or '', then folders.
 */
const WATCH = [
  'trap "" HUP INT TERM',
  'read -r _ && exit 0',
  'pid=$1',
  'shift',
  '[ -z "$pid" ] || kill -KILL "$pid"',
  // What is being killed may still be writing into its folder.
  'for _ in 1 2 3 4 5; do rm -rf -- "$@" && exit 0; sleep 1; done',
].join('; ');

/** When this process ends without releasing the watch, `pid` is killed and the folders are removed. */
export function watchOverDeath(remains: {
  readonly pid?: number;
  readonly folders: readonly string[];
}): DeathWatch {
  const args = ['-c', WATCH, 'breakwater-death-watch', String(remains.pid ?? ''), ...remains.folders];
  const stdio: ['pipe', 'ignore', 'ignore'] = ['pipe', 'ignore', 'ignore'];
  // In a group of its own: what ends this process from the terminal must not end the watch first.
  const watch = spawn('/bin/sh', args, { stdio, detached: true });
  // No shell, no watch: a process that ends in order cleans up all the same.
  const ended = once(watch, 'close').catch(() => undefined);
  // Somebody may have ended the watch.
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
