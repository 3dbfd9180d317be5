import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const PATIENCE_MS = 15_000;

/**
 * Ends a process that a measurement started: gracefully if it stops in time, else by force. It may have ended already.
 */
export async function endInTime(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(timer);
}
