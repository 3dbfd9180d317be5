import { randomUUID } from 'node:crypto';
import { getPriority, setPriority } from 'node:os';
import process from 'node:process';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { closeWhatIsOpen, closeWhatIsShared } from './after-test.ts';
import { followServers, isComputing } from './computing.ts';
import { type Footprint, leftOver, takeFootprint } from './leaks.ts';
import { followTimers, stopFollowing } from './timers.ts';

/**
 * Runs before each test file: seeds fast-check, and fails a file that leaks a handle or a process.
 * Files may share a process and its modules: none may leave state in a module.
 */

fc.configureGlobal({ seed: inject('fastCheckSeed') });

const MARK_NAME = 'BREAKWATER_TEST_FILE';
const mark = `${MARK_NAME}=${randomUUID()}`;
let before: Footprint;
let servers = 0;

// Per file: files of one process share the module.
followTimers();
const stopFollowingServers = followServers(() => {
  servers += 1;
});

// Runs first and, since hooks unwind, also last.
beforeAll(() => {
  process.env[MARK_NAME] = mark.slice(MARK_NAME.length + 1);
  before = takeFootprint(mark);
  setPriorityFor(expect.getState().testPath ?? '');
});

/** Added to the niceness of this process while a file computes. */
const NICER = 10;

/**
 * What waits for real time would miss it beside files that compute, so those run at a lower priority. Only root may
 * raise it again: for others it stays low, which starves nobody.
 */
function setPriorityFor(file: string): void {
  const ordinary = getPriority(process.ppid);
  try {
    setPriority(isComputing(file) ? Math.min(ordinary + NICER, 19) : ordinary);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
  }
}

// Hooks unwind: runs after those of the file itself.
afterEach(closeWhatIsOpen);

afterAll(async () => {
  await closeWhatIsShared();
  const found = await leftOver(before, mark);
  stopFollowing();
  stopFollowingServers();
  if (servers > 0 && isComputing(expect.getState().testPath ?? '')) {
    throw new Error('This test file runs a server, which has real times: take it out of computing.ts.');
  }
  if (found.length > 0) throw new Error(`This test file leaves behind:\n  ${found.join('\n  ')}`);
});
