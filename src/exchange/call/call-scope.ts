import type { Clock, Timers } from '../../core/ports/clock.ts';

export type CancelReason = 'timeout' | 'aborted';

export interface ScopeTime {
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface ScopeBounds {
  /** Monotonic. */
  readonly startedMs: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The lifetime of one call: its deadline and the caller's abort signal. The call does one thing at a time (waits for a
 * nonce, sleeps, exchanges bytes), and a cancellation interrupts it.
 */
export class CallScope {
  readonly deadlineMs: number;
  readonly #time: ScopeTime;
  readonly #signal: AbortSignal | undefined;
  #cancelled: CancelReason | undefined;
  #interrupt: (() => void) | undefined;
  #callOff: (() => void) | undefined;
  #onAbort: (() => void) | undefined;

  constructor(time: ScopeTime, { startedMs, timeoutMs, signal }: ScopeBounds) {
    this.#time = time;
    this.deadlineMs = startedMs + timeoutMs;
    this.#signal = signal;
    if (signal === undefined) return;
    if (signal.aborted) this.#cancelled = 'aborted';
    else {
      this.#onAbort = () => this.#cancel('aborted');
      signal.addEventListener('abort', this.#onAbort, { once: true });
    }
  }

  get cancelled(): CancelReason | undefined {
    return this.#cancelled;
  }

  remainingMs(): number {
    return Math.max(0, this.deadlineMs - this.#time.clock.monotonicMs());
  }

  /** Whether the call is over, by signal or by time. */
  isOver(): boolean {
    if (this.#cancelled === undefined && this.remainingMs() === 0) this.#cancelled = 'timeout';
    return this.#cancelled !== undefined;
  }

  /** Sets what an abort interrupts, for a wait that has its own timeout. */
  onAbort(action: (() => void) | undefined): void {
    this.#interrupt = action;
  }

  /** Sets what an abort or the deadline interrupts; `undefined` for nothing. */
  onCancel(action: (() => void) | undefined): void {
    this.#interrupt = action;
    if (action !== undefined) {
      this.#callOff ??= this.#time.timers.after(this.remainingMs(), () => this.#cancel('timeout'));
    }
  }

  /** Waits; returns early when cancelled. */
  sleep(delayMs: number): Promise<void> {
    if (this.#cancelled !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        callOff();
        this.#interrupt = undefined;
        resolve();
      };
      const callOff = this.#time.timers.after(Math.min(delayMs, this.remainingMs()), done);
      this.#interrupt = done;
    });
  }

  /** Settles like `promise`, or resolves to `undefined` as soon as the call is over. */
  within<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.onCancel(() => resolve(undefined));
      promise.finally(() => this.onCancel(undefined)).then(resolve, reject);
    });
  }

  end(): void {
    this.#callOff?.();
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#interrupt = undefined;
  }

  #cancel(reason: CancelReason): void {
    if (this.#cancelled !== undefined) return;
    this.#cancelled = reason;
    const interrupt = this.#interrupt;
    this.#interrupt = undefined;
    interrupt?.();
  }
}
