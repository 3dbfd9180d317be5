import type { Clock } from '../../../src/core/ports/clock.ts';

export interface ManualClock extends Clock {
  /** Advances both clocks. */
  advance(byMs: number): void;
  /** Steps the wall clock alone, as when someone sets it. */
  stepWall(byMs: number): void;
}

export function manualClock(startMs = 1_760_000_000_000): ManualClock {
  let wall = startMs;
  let monotonic = 1000;
  return {
    nowMs: () => wall,
    monotonicMs: () => monotonic,
    async sleep(delayMs) {
      monotonic += delayMs;
      wall += delayMs;
    },
    advance(byMs) {
      monotonic += byMs;
      wall += byMs;
    },
    stepWall(byMs) {
      wall += byMs;
    },
  };
}
