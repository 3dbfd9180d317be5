import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';

/** The next message of a thread. @throws what ended the thread, or an AbortError once the signal is aborted */
export async function answerOf<T>(worker: Worker, signal?: AbortSignal): Promise<T> {
  const [answer] = (await once(worker, 'message', signal === undefined ? {} : { signal })) as [T];
  return answer;
}

/** Sends work to a thread and waits for its answer, as `answerOf` does. */
export async function ask<T>(worker: Worker, work: unknown, signal?: AbortSignal): Promise<T> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  worker.postMessage(work);
  return await answerOf<T>(worker, signal);
}
