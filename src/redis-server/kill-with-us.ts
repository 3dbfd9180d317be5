import type { ChildProcess } from 'node:child_process';
import process from 'node:process';

const RUNNING = new Set<ChildProcess>();

function killAll(): void {
  for (const child of RUNNING) child.kill('SIGKILL');
}

/** Kills the child when this process exits. One listener serves all children, as many may run at once. */
export function killWithUs(child: ChildProcess): void {
  if (RUNNING.size === 0) process.once('exit', killAll);
  RUNNING.add(child);
  const release = (): void => {
    RUNNING.delete(child);
    if (RUNNING.size === 0) process.off('exit', killAll);
  };
  child.once('exit', release);
  child.once('error', release);
}
