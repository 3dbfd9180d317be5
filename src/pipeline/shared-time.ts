import { CLOCK_TOLERANCE_MS, type ClockStep, type LaneMoment } from '../core/lanes/lane-clock.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Instant } from '../core/quantities/snapshot.ts';

/** The lanes' clock: Unix milliseconds of the store's clock, the same for all processes that share it. */
export interface LaneTime {
  nowMs(): number;
  moment(): LaneMoment;
  /** Takes a sample of the store's clock in passing; only a step of the clock matters. */
  notice(sample: ClockSample): void;
  /** Converts a monotonic reading of this process to this clock. */
  ofMonotonic(monotonicMs: number): number;
  /** Largest difference from the clock of another process. */
  readonly errorMs: number;
  instant(): Instant;
}

export interface ClockSample {
  /** Unix milliseconds of the store. */
  readonly storeMs: number;
  /** Monotonic readings of this process around it. */
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

/** Follows the store's clock; before the first sample, the wall clock of this process. */
export class SharedTime implements LaneTime {
  readonly #clock: Clock;
  readonly #clockId: string;
  #offsetMs: number;
  #errorMs = 0;
  #sampledAtMs: number | undefined;
  #step: ClockStep | null = null;
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
    // Only rounded up: a later reading never seems earlier.
    this.#lastMs = Math.max(this.#lastMs, Math.ceil(this.ofMonotonic(this.#clock.monotonicMs())));
    return this.#lastMs;
  }

  moment(): LaneMoment {
    return { nowMs: this.nowMs(), step: this.#step };
  }

  ofMonotonic(monotonicMs: number): number {
    return monotonicMs + this.#offsetMs;
  }

  instant(): Instant {
    const clock = this.#clock;
    return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), clockId: this.#clockId };
  }

  /** Takes over a sample, whose error is half the round trip. */
  adopt(sample: ClockSample): void {
    const { askedAtMs, answeredAtMs } = sample;
    const askedHalfwayMs = (askedAtMs + answeredAtMs) / 2;
    const byMs = this.#stepOf(sample);
    this.#offsetMs = sample.storeMs - askedHalfwayMs;
    this.#errorMs = errorOf(sample);
    if (byMs !== 0) this.#stepped(byMs);
    this.#sampledAtMs = askedHalfwayMs;
  }

  notice(sample: ClockSample): void {
    if (this.#stepOf(sample) !== 0) this.adopt(sample);
    else if (this.#sampledAtMs !== undefined) this.#sampledAtMs = sample.askedAtMs;
  }

  /** How far the store's clock was set since the last sample, measured against this process's monotonic clock. */
  #stepOf(sample: ClockSample): number {
    if (this.#sampledAtMs === undefined) return 0;
    const byMs = sample.storeMs - this.ofMonotonic((sample.askedAtMs + sample.answeredAtMs) / 2);
    return Math.abs(byMs) > CLOCK_TOLERANCE_MS + errorOf(sample) + this.#errorMs ? byMs : 0;
  }

  #stepped(byMs: number): void {
    this.#lastMs = Number.NEGATIVE_INFINITY;
    const lastSampleMs = this.ofMonotonic(this.#sampledAtMs ?? 0);
    // Other processes may have used the old time until now, and the new one since the last sample.
    const untilMs = Math.max(lastSampleMs, this.nowMs() - byMs);
    this.#step = byMs > 0 ? { byMs, untilMs } : null;
  }
}

function errorOf({ askedAtMs, answeredAtMs }: ClockSample): number {
  return (answeredAtMs - askedAtMs) / 2 + STORE_RESOLUTION_MS;
}

/** The store's clock may only be read in whole milliseconds. */
const STORE_RESOLUTION_MS = 1;
