import { hostname } from 'node:os';
import { kill } from 'node:process';
import { systemClock } from '../exchange/system-clock.ts';
import { createDiskDirectory } from '../owner/disk-directory.ts';
import { holderOf } from '../owner/journal-lock.ts';
import { readOwnState } from '../owner/open-own-state.ts';
import { createOperatorTrust } from '../state/controls/operator-seal.ts';
import { createMemoryState, randomText } from '../state/state.ts';

/** This machine, as the lock of a journal knows it. */
export const THIS_MACHINE = { host: hostname(), isRunning };

function isRunning(pid: number): boolean {
  try {
    kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** What a daemon without Redis has stored, for a process that only looks. Rejects if the directory cannot be read. */
export async function readOwnDirectory(directory: string, key: string | undefined) {
  const disk = createDiskDirectory(directory);
  const operators = createOperatorTrust({ key: () => key, isGuarded: true });
  const parts = { disk, clock: systemClock, trust: operators, randomText };
  const { backend, faults } = await readOwnState(parts);
  const state = createMemoryState({ clock: systemClock, operators }, { backend });
  return { state, faults, isHeld: (await holderOf({ disk, ...THIS_MACHINE })) !== undefined };
}
