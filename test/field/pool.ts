import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { ask } from '../support/threads.ts';

/** Where threads get their work from, and where their answers go. */
export interface Feed<Work, Answer> {
  /** Undefined: there is no more. */
  readonly next: () => Work | undefined;
  readonly take: (answer: Answer) => void;
}

/**
 * Plays work in as many threads as there are processors, each of which runs `program`. Ends when there is no more work,
 * or when the signal is aborted; work in progress is then dropped.
 */
export async function inThreads<Work, Answer>(
  program: URL,
  { next, take }: Feed<Work, Answer>,
  signal: AbortSignal,
): Promise<void> {
  const workers = Array.from({ length: availableParallelism() }, () => new Worker(program));
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
