import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/**
 * Holds this process up at random, as a busy machine does: with `HOLD_UP=2500,800` for up to 800 ms each time, at most
 * 2,500 ms apart. `vitest.config.ts` loads it into the processes of a run for which that is set.
 */

const [apartMs = Number.NaN, forMs = Number.NaN] = (process.env['HOLD_UP'] ?? '').split(',').map(Number);
if (!(apartMs > 0 && forMs > 0))
  throw new Error('HOLD_UP must be two numbers of milliseconds, as in 2500,800.');

// Tests may replace these.
const { random } = Math;
const later = setTimeout;
const cell = new Int32Array(new SharedArrayBuffer(4));

function holdUpSoon(): void {
  later(() => {
    Atomics.wait(cell, 0, 0, random() * forMs);
    holdUpSoon();
  }, random() * apartMs).unref();
}

if (isMainThread) holdUpSoon();
