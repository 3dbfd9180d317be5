/** Where virtual time comes from, in Unix milliseconds; never runs backwards. */
export interface SimulationClock {
  nowMs(): number;
}

/**
 * Virtual time that starts at `startMs` and runs `factor` times as fast as `wallMs`, the wall clock that is
 * passed in (monotonic if possible); factor 1 is real time, 0 stands still.
 */
export function runningClock(startMs: number, wallMs: () => number, factor = 1): SimulationClock {
  if (!Number.isFinite(factor) || factor < 0)
    throw new RangeError(`clock factor must be 0 or more, got ${factor}`);
  const origin = wallMs();
  let latest = startMs;
  return {
    nowMs: () => {
      latest = Math.max(latest, startMs + Math.floor((wallMs() - origin) * factor));
      return latest;
    },
  };
}
