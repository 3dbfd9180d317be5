import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;

/**
 * Runs `work` while no other process runs its own under the same lock file. A lock whose owner died is taken over.
 * @template T
 * @param {string} file
 * @param {() => void} onWait called once if somebody else is at work
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, onWait, work) {
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  let told = false;
  while (!tryCreate(file, mine)) {
    const theirs = tryRead(file);
    if (theirs !== undefined && isAbandoned(theirs)) {
      remove(file, theirs);
      continue;
    }
    if (!told) onWait();
    told = true;
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    remove(file, mine);
  }
}

/**
 * Appears complete or not at all, so that nobody reads half of it.
 * @param {string} file
 * @param {string} content
 */
function tryCreate(file, content) {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, content);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @param {string} file */
function tryRead(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** @param {string} content */
function isAbandoned(content) {
  try {
    const { pid, host } = JSON.parse(content);
    if (host !== hostname()) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    // EPERM: alive, and somebody else's. Unreadable content: never written by us.
    return /** @type {NodeJS.ErrnoException} */ (error).code !== 'EPERM';
  }
}

/**
 * Removes the lock if it is still the one meant: between reading and removing, another process
 * may have taken over the abandoned one, and then its lock is put back.
 * @param {string} file
 * @param {string} content
 */
function remove(file, content) {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (tryRead(aside) !== content) {
    try {
      linkSync(aside, file);
    } catch {
      // A third process has locked meanwhile; the owner that lost its file finishes beside it.
    }
  }
  rmSync(aside, { force: true });
}
