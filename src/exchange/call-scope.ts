export type CancelReason = 'timeout' | 'aborted';

/**
 * The life of one call: its deadline and the caller's abort signal. At any moment the call does one thing
 * (waits in the lane, sleeps, exchanges bytes), and that one thing is what a cancellation interrupts.
 */
export class CallScope {
  readonly deadlineMs: number;
  #cancelled: CancelReason | undefined;
  #interrupt: (() => void) | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: () => void;

  constructor(timeoutMs: number, nowMs: number, signal: AbortSignal | undefined) {
    this.deadlineMs = nowMs + timeoutMs;
    this.#timer = setTimeout(() => this.#cancel('timeout'), timeoutMs);
    this.#signal = signal;
    this.#onAbort = () => this.#cancel('aborted');
    if (signal?.aborted === true) this.#cancelled = 'aborted';
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get cancelled(): CancelReason | undefined {
    return this.#cancelled;
  }

  /** What to do on cancellation from now on; `undefined` when there is nothing to interrupt. */
  interruptWith(action: (() => void) | undefined): void {
    this.#interrupt = action;
  }

  /** Waits; returns early when cancelled. */
  sleep(delayMs: number): Promise<void> {
    if (this.#cancelled !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#interrupt = undefined;
        resolve();
      };
      const timer = setTimeout(done, delayMs);
      this.#interrupt = done;
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
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
