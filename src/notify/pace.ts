import type { Clock } from '../core/ports/clock.ts';

interface Waiter {
  readonly rank: number;
  readonly order: number;
  wake: () => void;
}

/** The turns of one channel: at most one per `intervalMs`, none while it is blocked, the most urgent waiter first. */
export function createPace(clock: Clock, intervalMs: number) {
  const waiters: Waiter[] = [];
  let openAtMs = -Infinity;
  let arrivals = 0;
  const wait = async (waiter: Waiter, forMs: number, signal: AbortSignal | undefined): Promise<void> => {
    const woken = new AbortController();
    waiter.wake = () => woken.abort();
    try {
      await clock.sleep(forMs, signal === undefined ? woken.signal : AbortSignal.any([signal, woken.signal]));
    } catch (error) {
      if (signal?.aborted === true || !woken.signal.aborted) throw error;
    }
  };
  return {
    /** No turns for this long. */
    block(forMs: number): void {
      openAtMs = Math.max(openAtMs, clock.monotonicMs() + forMs);
    },
    /** Waits for a turn; false as soon as it cannot come before `deadlineMs` (monotonic). Lower ranks go first. */
    async turn(rank: number, deadlineMs: number, signal?: AbortSignal): Promise<boolean> {
      signal?.throwIfAborted();
      const waiter: Waiter = { rank, order: arrivals++, wake: () => undefined };
      waiters.push(waiter);
      waiters.sort((a, b) => a.rank - b.rank || a.order - b.order);
      try {
        for (;;) {
          const now = clock.monotonicMs();
          const isFirst = waiters[0] === waiter;
          if (isFirst && now >= openAtMs) {
            openAtMs = now + intervalMs;
            return true;
          }
          if (now >= deadlineMs || openAtMs > deadlineMs) return false;
          const until = isFirst ? Math.min(openAtMs, deadlineMs) : deadlineMs;
          await wait(waiter, until - now, signal);
        }
      } finally {
        waiters.splice(waiters.indexOf(waiter), 1);
        waiters[0]?.wake();
      }
    },
  };
}

export type Pace = ReturnType<typeof createPace>;
