import type { Clock, Timers } from '../core/ports/clock.ts';

/** A shared store that did not answer in time or answered with an error. */
class StoreLost extends Error {
  readonly code = 'STORE_LOST';
}

/**
 * Calls to a store that may be lost, each bounded in time. After a failure the store is left alone for a
 * while: callers get `undefined` at once and use what this process knows.
 */
export class BoundedStore<S> {
  readonly #store: S;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #timeoutMs: number;
  readonly #pauseMs: number;
  readonly #onChange: (available: boolean) => void;
  #pausedUntilMs = -Infinity;
  #available = true;

  constructor(
    store: S,
    options: {
      clock: Clock;
      timers: Timers;
      timeoutMs: number;
      pauseMs: number;
      onChange: (available: boolean) => void;
    },
  ) {
    this.#store = store;
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#timeoutMs = options.timeoutMs;
    this.#pauseMs = options.pauseMs;
    this.#onChange = options.onChange;
  }

  async use<T>(action: (store: S) => Promise<T>): Promise<T | undefined> {
    if (this.#clock.monotonicMs() < this.#pausedUntilMs) return undefined;
    try {
      const result = await this.#within(action(this.#store));
      this.#report(true);
      return result;
    } catch {
      this.#pausedUntilMs = this.#clock.monotonicMs() + this.#pauseMs;
      this.#report(false);
      return undefined;
    }
  }

  #within<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new StoreLost(`no answer within ${this.#timeoutMs} ms`));
      const callOff = this.#timers.after(this.#timeoutMs, late);
      promise.then(resolve, reject).finally(callOff);
    });
  }

  #report(available: boolean): void {
    if (available === this.#available) return;
    this.#available = available;
    this.#onChange(available);
  }
}
