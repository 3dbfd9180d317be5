import { Worker } from 'node:worker_threads';
import { answerOf, ask } from '../support/threads.ts';
import type { RemovedGuard } from './guards.ts';

/** The violations of the first world that shows the lack of a guard; `undefined`: no seed shows it. */
export interface Shown {
  readonly seed: number;
  readonly violation: string;
}

/** Plays worlds without a guard until one shows it. */
export async function playWithout(guard: RemovedGuard, seeds: Iterable<number>): Promise<Shown | undefined> {
  const worker = new Worker(new URL('./guard-worker.ts', import.meta.url), { workerData: guard });
  try {
    await answerOf(worker);
    for (const seed of seeds) {
      const { violations } = await ask<{ readonly violations: readonly string[] }>(worker, seed);
      const violation = violations.find((words) => words.startsWith(guard.shows));
      if (violation !== undefined) return { seed, violation };
    }
    return undefined;
  } finally {
    await worker.terminate();
  }
}
