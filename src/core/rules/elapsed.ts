import type { Instant } from '../quantities/snapshot.ts';

/** Clocks of the last evaluation; plain JSON, part of the account's state. */
export interface ElapsedState {
  readonly at: Instant;
  /** Interval to the next evaluation that it planned, milliseconds. */
  readonly plannedMs: number;
}

export interface Elapsed {
  /** Time that timers may be credited with, milliseconds. */
  readonly timerMs: number;
  /** Most likely elapsed time, for statistics; `undefined` if the clocks do not show it. */
  readonly measuredMs: number | undefined;
}

/** Between processes, a gap of more planned intervals than this may be a clock jump. */
const PLAUSIBLE_INTERVALS = 3;

/**
 * Time since the last evaluation, monotonic within one process. Between processes only the wall clock remains, which
 * may have jumped: timers are credited with at most the planned interval, and never with more than `maxStepMs`.
 */
export function elapsedSince(last: ElapsedState | undefined, now: Instant, maxStepMs: number): Elapsed {
  if (last === undefined) return { timerMs: 0, measuredMs: undefined };
  if (last.at.clockId === now.clockId) {
    const measuredMs = Math.max(0, now.monotonicMs - last.at.monotonicMs);
    return { timerMs: Math.min(measuredMs, maxStepMs), measuredMs };
  }
  const measuredMs = now.wallMs - last.at.wallMs;
  const isPlausible = measuredMs >= 0 && measuredMs <= PLAUSIBLE_INTERVALS * last.plannedMs;
  return {
    timerMs: Math.min(Math.max(0, measuredMs), last.plannedMs, maxStepMs),
    measuredMs: isPlausible ? measuredMs : undefined,
  };
}
