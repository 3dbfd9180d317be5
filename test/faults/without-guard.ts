import { Worker } from 'node:worker_threads';
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
    await answer(worker);
    for (const seed of seeds) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(seed);
      const { violations } = (await answer(worker)) as { readonly violations: readonly string[] };
      const violation = violations.find((words) => words.startsWith(guard.shows));
      if (violation !== undefined) return { seed, violation };
    }
    return undefined;
  } finally {
    await worker.terminate();
  }
}

function answer(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.once('message', (message) => {
      worker.removeListener('error', reject);
      resolve(message);
    });
    worker.once('error', reject);
  });
}
