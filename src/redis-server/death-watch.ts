import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/** Cleans up behind a process that had no time to do so itself (SIGKILL, a crash of the runtime). */
export interface DeathWatch {
  /** Everything was cleaned up in order: ends the watch, which then does nothing. */
  release(): Promise<void>;
}

/**
 * POSIX sh. The pipe closes when our process is gone, however it went, and then `read` fails; a line read means
 * that there is nothing to do. Arguments: a process id or an empty text, then folders.
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

/**
 * As soon as this process is gone without having released the watch, ends the process with that id and removes
 * the folders. The watch is a shell that waits on a pipe; it does not keep this process alive.
 */
export function watchOverDeath(remains: {
  readonly pid?: number;
  readonly folders: readonly string[];
}): DeathWatch {
  const pid = remains.pid === undefined ? '' : String(remains.pid);
  const watch = spawn('/bin/sh', ['-c', WATCH, 'breakwater-death-watch', pid, ...remains.folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a group of its own: what ends us from the terminal must not end it first.
    detached: true,
  });
  const ended = once(watch, 'close').then(
    () => undefined,
    // No shell, no watch: whoever ends in order cleans up all the same.
    () => undefined,
  );
  // A watch that somebody ended cannot be told anything.
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
