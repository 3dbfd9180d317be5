/** Time as an argument: what a part may know of it and how it waits. */
export interface Clock {
  /** Wall clock, Unix time in milliseconds; may step in either direction. */
  nowMs(): number;
  /** Milliseconds from an arbitrary origin; never steps back. Durations are measured with this. */
  monotonicMs(): number;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as it is aborted. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** A uniform random number in [0, 1), as `Math.random`; passed in so that runs replay from a seed. */
export type Random = () => number;
