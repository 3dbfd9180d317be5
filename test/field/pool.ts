import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { ask } from '../support/threads.ts';
import type { Answer, Work } from './work.ts';

/**
 * Plays work in as many threads as there are processors, and passes on each result. Ends when `next` has none left, or
 * when the signal is aborted; work in progress is then dropped.
 */
export async function inThreads(
  next: () => Work | undefined,
  take: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<void> {
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(new URL('./worker.ts', import.meta.url)),
  );
  const playAll = async (worker: Worker): Promise<void> => {
    for (let work = next(); work !== undefined && !signal.aborted; work = next())
      take(await ask<Answer>(worker, work, signal));
  };
  try {
    await Promise.all(workers.map(playAll));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
