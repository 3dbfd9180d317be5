/** Time as an argument: how code reads the time and waits. */
export interface Clock {
  /** Wall clock, Unix time in milliseconds; may step in either direction. */
  nowMs(): number;
  /** Milliseconds from an arbitrary origin; never steps back. Durations are measured with this. */
  monotonicMs(): number;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as it is aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** One-shot timers, optimised for calls that are usually cancelled. */
export interface Timers {
  /** Calls back once after a delay; returns a function that cancels it. */
  after(delayMs: number, call: () => void): () => void;
  /** Calls back once everything that has arrived by now was handled; returns a function that cancels it. */
  afterTurn(call: () => void): () => void;
}

/** A uniform random number in [0, 1), as `Math.random`; passed in so that runs replay from a seed. */
export type Random = () => number;
