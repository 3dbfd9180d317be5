/** Time as an argument: what a part may know of it and how it waits. */
export interface Clock {
  /** Wall clock, Unix time in milliseconds; may step in either direction. */
  nowMs(): number;
  /** Milliseconds from an arbitrary origin; never steps back. Durations are measured with this. */
  monotonicMs(): number;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as it is aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Calls back later. For what nearly always is called off. */
export interface Timers {
  /** Calls back once after a time; returns how to call it off. */
  after(delayMs: number, call: () => void): () => void;
  /** Calls back once everything else that has arrived by now was handled; returns how to call it off. */
  afterTurn(call: () => void): () => void;
}

/** A uniform random number in [0, 1), as `Math.random`; passed in so that runs replay from a seed. */
export type Random = () => number;
