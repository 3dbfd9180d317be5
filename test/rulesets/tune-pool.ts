import { Worker } from 'node:worker_threads';
import type { CasePlayer, TunePlan } from './search.ts';
import type { BareOutcome, Candidate, CaseOutcome } from './tune-case.ts';

export interface TuneWork {
  readonly index: number;
  /** Absent: no rules. */
  readonly candidate?: Candidate;
  readonly durationMs?: number | undefined;
}

export type TuneAnswer =
  | { readonly kind: 'played'; readonly outcome: CaseOutcome | BareOutcome }
  | { readonly kind: 'failed'; readonly message: string; readonly code?: string };

/** Threads that play cases. Once one has ended, or all by `close`, every case is rejected. */
export interface TunePool extends CasePlayer {
  close(): Promise<void>;
}

const PROGRAM = new URL('./tune-thread.ts', import.meta.url);

interface Thread {
  readonly worker: Worker;
  reject: (error: Error) => void;
}

export function openTunePool({ cases, base }: Pick<TunePlan, 'cases' | 'base'>, threads: number): TunePool {
  const idle: Thread[] = [];
  const waiting: ((thread: Thread) => void)[] = [];
  let ended: Error | undefined;
  const all = Array.from({ length: threads }, (): Thread => {
    const worker = new Worker(PROGRAM, { name: 'tune', workerData: { cases, base }, env: {} });
    const thread: Thread = { worker, reject: () => undefined };
    const end = (error: Error): void => {
      ended ??= error;
      thread.reject(error);
    };
    worker.on('error', (error) => end(error as Error));
    worker.on('exit', () => end(new Error('the thread of a search ended')));
    idle.push(thread);
    return thread;
  });
  const take = async (): Promise<Thread> => {
    const thread = idle.pop();
    return thread ?? (await new Promise<Thread>((resolve) => waiting.push(resolve)));
  };
  const give = (thread: Thread): void => {
    const next = waiting.shift();
    if (next === undefined) idle.push(thread);
    else next(thread);
  };
  const ask = async (work: TuneWork): Promise<CaseOutcome | BareOutcome> => {
    const thread = await take();
    try {
      if (ended !== undefined) throw ended;
      const answer = await new Promise<TuneAnswer>((resolve, reject) => {
        thread.reject = reject;
        thread.worker.once('message', resolve);
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        thread.worker.postMessage(work);
      });
      if (answer.kind === 'played') return answer.outcome;
      throw Object.assign(new Error(answer.message), { code: answer.code });
    } finally {
      thread.reject = () => undefined;
      thread.worker.removeAllListeners('message');
      give(thread);
    }
  };
  return {
    lanes: threads,
    bare: async (index) => (await ask({ index })) as BareOutcome,
    play: async (index, candidate, durationMs) => await ask({ index, candidate, durationMs }),
    async close() {
      ended = Object.assign(new Error('the search was closed'), { code: 'search-closed' });
      for (const thread of all) thread.reject(ended);
      await Promise.all(all.map(({ worker }) => worker.terminate()));
    },
  };
}
