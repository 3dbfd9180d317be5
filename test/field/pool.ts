import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Answer, Work } from './work.ts';

interface Thread {
  readonly worker: Worker;
  reject: (error: Error) => void;
}

/**
 * Plays work in as many threads as there are processors, and passes on each result. Ends when `next` has none left, or
 * when the signal is aborted; work in progress is then dropped.
 */
export async function inThreads(
  next: () => Work | undefined,
  take: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<void> {
  const threads = Array.from({ length: availableParallelism() }, (): Thread => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url));
    const thread: Thread = { worker, reject: () => undefined };
    worker.on('error', (error) => thread.reject(error as Error));
    return thread;
  });
  const stop = (): void => {
    for (const thread of threads) thread.reject(new Error('stopped'));
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.all(threads.map((thread) => playAll(thread, next, take, signal)));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }
}

async function playAll(
  thread: Thread,
  next: () => Work | undefined,
  take: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let work = next(); work !== undefined && !signal.aborted; work = next()) {
    const asked = work;
    const result = await new Promise<Answer>((resolve, reject) => {
      thread.reject = reject;
      thread.worker.once('message', resolve);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      thread.worker.postMessage(asked);
    });
    take(result);
  }
}
