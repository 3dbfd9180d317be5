import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;

/**
 * Runs `work` under a lock file that excludes other processes. Takes over a lock whose owner died.
 * @template T
 * @param {string} file
 * @param {() => void} onWait called once if another process holds the lock
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
 * Creates the file complete or not at all, so that nobody reads half of it.
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
    // EPERM: alive, under another user. Unreadable content was not written by this program.
    return /** @type {NodeJS.ErrnoException} */ (error).code !== 'EPERM';
  }
}

/**
 * Removes the lock if its content is still `content`. Another process may take over an abandoned lock between the read
 * and the removal; its lock is then put back.
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
      // A third process took the lock meanwhile. The owner whose file is lost finishes beside it.
    }
  }
  rmSync(aside, { force: true });
}
