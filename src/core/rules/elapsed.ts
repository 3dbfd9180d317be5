import type { Instant } from '../quantities/snapshot.ts';

/** Where the last evaluation stood in time; plain JSON, part of the account's state. */
export interface ElapsedState {
  readonly at: Instant;
  /** In how many milliseconds that evaluation asked to be followed by the next. */
  readonly plannedMs: number;
}

/** How much time passed since the last evaluation. */
export interface Elapsed {
  /** What timers may be credited with, milliseconds. */
  readonly timerMs: number;
  /** What most likely passed, for statistics; `undefined` when the clocks do not tell. */
  readonly measuredMs: number | undefined;
}

/** Across processes a gap beyond so many planned intervals may as well be a jump of the clock. */
const PLAUSIBLE_INTERVALS = 3;

/**
 * Time since the last evaluation, monotonic within one process. Between processes only the wall clock is left, which
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
