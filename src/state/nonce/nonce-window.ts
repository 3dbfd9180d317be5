import { MOST_AHEAD_MS, type WindowReservation } from '../../core/ports/nonce-store.ts';

/** A run of reserved milliseconds, both ends inclusive. */
export interface ReservedRun {
  from: number;
  to: number;
}

/** Only a clock that steps back and forth makes more; the run used longest ago is forgotten. */
export const MAX_RUNS = 8;
/** A smaller gap above a run is given up, so that normal use stays one run. */
export const MAX_GAP_MS = 10_000;

/**
 * Reserves the lowest unused milliseconds and records them in `runs`, the newest last. A single maximum would instead
 * block the key for an hour once a clock that was an hour ahead is corrected.
 */
export function reserveFromRuns(
  runs: ReservedRun[],
  fromMs: number,
  toMs: number,
  count: number,
): WindowReservation {
  let first = fromMs;
  let ceiling = toMs;
  for (const run of runs.toSorted((a, b) => a.from - b.from)) {
    if (run.from <= first && first <= run.to) {
      // No process reserves so far beyond the clock: the run was written by others, and would block all requests.
      if (run.to <= toMs + MOST_AHEAD_MS) first = run.to + 1;
    } else if (run.from > first) {
      ceiling = Math.min(ceiling, run.from - 1);
      break;
    }
  }
  if (first > toMs) return { kind: 'exhausted', waitMs: first - toMs };
  const last = Math.min(first + count - 1, ceiling);
  const below = runs.filter((run) => run.to < first).sort((a, b) => b.to - a.to)[0];
  const isNear = below !== undefined && first - below.to <= MAX_GAP_MS;
  if (isNear) runs.splice(runs.indexOf(below), 1);
  runs.push({ from: isNear ? below.from : first, to: last });
  if (runs.length > MAX_RUNS) runs.shift();
  return { kind: 'reserved', first, count: last - first + 1 };
}
