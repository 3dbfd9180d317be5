import type { Clock, Timers } from '../core/ports/clock.ts';
import { within } from '../core/ports/within.ts';

/** How long a store is not asked after a failure. */
const PAUSE_MS = 1000;

interface BoundedStoreOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly timeoutMs: number;
  readonly onChange: (available: boolean) => void;
}

/** Bounds the time of calls to a store. For a while after a failure, callers get `undefined` at once and do without. */
export class BoundedStore<S> {
  readonly #store: S;
  readonly #options: BoundedStoreOptions;
  #pausedUntilMs = -Infinity;
  #available = true;

  constructor(store: S, options: BoundedStoreOptions) {
    this.#store = store;
    this.#options = options;
  }

  async use<T>(action: (store: S) => Promise<T>): Promise<T | undefined> {
    const { clock, timers, timeoutMs } = this.#options;
    if (clock.monotonicMs() < this.#pausedUntilMs) return undefined;
    try {
      const result = await within(timers, timeoutMs, action(this.#store));
      this.#report(true);
      return result;
    } catch {
      this.#pausedUntilMs = clock.monotonicMs() + PAUSE_MS;
      this.#report(false);
      return undefined;
    }
  }

  #report(available: boolean): void {
    if (available === this.#available) return;
    this.#available = available;
    this.#options.onChange(available);
  }
}
