import type { Clock } from '../core/ports/clock.ts';

interface Waiter {
  readonly rank: number;
  readonly order: number;
  wake: () => void;
}

/** The turns of one channel: at most one per `intervalMs`, none while it is blocked, the most urgent waiter first. */
export class Pace {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #waiters: Waiter[] = [];
  #openAtMs = -Infinity;
  #arrivals = 0;

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** No turns for this long. */
  block(forMs: number): void {
    this.#openAtMs = Math.max(this.#openAtMs, this.#clock.monotonicMs() + forMs);
  }

  /** Waits for a turn; false as soon as it cannot come before `deadlineMs` (monotonic). Lower ranks go first. */
  async turn(rank: number, deadlineMs: number, signal?: AbortSignal): Promise<boolean> {
    signal?.throwIfAborted();
    const waiter: Waiter = { rank, order: this.#arrivals++, wake: () => undefined };
    this.#waiters.push(waiter);
    this.#waiters.sort((a, b) => a.rank - b.rank || a.order - b.order);
    try {
      for (;;) {
        const now = this.#clock.monotonicMs();
        const isFirst = this.#waiters[0] === waiter;
        if (isFirst && now >= this.#openAtMs) {
          this.#openAtMs = now + this.#intervalMs;
          return true;
        }
        if (now >= deadlineMs || this.#openAtMs > deadlineMs) return false;
        const until = isFirst ? Math.min(this.#openAtMs, deadlineMs) : deadlineMs;
        await this.#wait(waiter, until - now, signal);
      }
    } finally {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      this.#waiters[0]?.wake();
    }
  }

  async #wait(waiter: Waiter, forMs: number, signal: AbortSignal | undefined): Promise<void> {
    const woken = new AbortController();
    waiter.wake = () => woken.abort();
    try {
      await this.#clock.sleep(
        forMs,
        signal === undefined ? woken.signal : AbortSignal.any([signal, woken.signal]),
      );
    } catch (error) {
      if (signal?.aborted === true || !woken.signal.aborted) throw error;
    }
  }
}
