export interface SteppedClock {
  nowMs(): number;
  advance(ms: number): void;
}

/** Virtual time that advances only on request. */
export function steppedClock(startMs: number): SteppedClock {
  let now = startMs;
  return {
    nowMs: () => now,
    advance: (ms) => {
      if (!Number.isInteger(ms) || ms < 0)
        throw new RangeError(`a step is a whole number of ms >= 0, got ${ms}`);
      now += ms;
    },
  };
}
