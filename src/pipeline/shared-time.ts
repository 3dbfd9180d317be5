import type { Clock } from '../core/ports/clock.ts';
import type { Instant } from '../core/quantities/snapshot.ts';

/**
 * The clock of the lanes: the same for all processes that share a store, as near as it can be known, and never
 * stepping back within a process. Unix milliseconds of the store's clock.
 */
export interface LaneTime {
  nowMs(): number;
  /** What a monotonic reading of this process was on that clock. */
  ofMonotonic(monotonicMs: number): number;
  /** How far it may be from the clock of another process. */
  readonly errorMs: number;
  /** This process's own idea of now. */
  instant(): Instant;
}

/** A measurement of the store's clock. */
export interface ClockSample {
  /** Unix milliseconds of the store. */
  readonly storeMs: number;
  /** Monotonic readings of this process around it. */
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

/** Follows the store's clock; until the first sample, the wall clock of this process. */
export class SharedTime implements LaneTime {
  readonly #clock: Clock;
  readonly #clockId: string;
  #offsetMs: number;
  #errorMs = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, clockId: string) {
    this.#clock = clock;
    this.#clockId = clockId;
    this.#offsetMs = clock.nowMs() - clock.monotonicMs();
  }

  get errorMs(): number {
    return this.#errorMs;
  }

  nowMs(): number {
    // Rounded up only: what is read later never seems earlier.
    this.#lastMs = Math.max(this.#lastMs, Math.ceil(this.ofMonotonic(this.#clock.monotonicMs())));
    return this.#lastMs;
  }

  ofMonotonic(monotonicMs: number): number {
    return monotonicMs + this.#offsetMs;
  }

  instant(): Instant {
    return {
      wallMs: this.#clock.nowMs(),
      monotonicMs: this.#clock.monotonicMs(),
      clockId: this.#clockId,
    };
  }

  /** Half the round trip is how wrong the sample can be. */
  adopt({ storeMs, askedAtMs, answeredAtMs }: ClockSample): void {
    this.#offsetMs = storeMs - (askedAtMs + answeredAtMs) / 2;
    this.#errorMs = (answeredAtMs - askedAtMs) / 2 + STORE_RESOLUTION_MS;
  }
}

/** The store's clock may be read in whole milliseconds. */
const STORE_RESOLUTION_MS = 1;
