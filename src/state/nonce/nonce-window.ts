import { MOST_AHEAD_MS, type WindowReservation } from '../../core/ports/nonce-store.ts';

/** A run of reserved milliseconds, both ends inclusive. */
export interface ReservedRun {
  from: number;
  to: number;
}

/** More runs than this only come from a clock that steps to and fro; the one used longest ago is forgotten. */
export const MAX_RUNS = 8;
/** A gap up to this size above a run is given up, so that calm use stays one run. */
export const MAX_GAP_MS = 10_000;

/**
 * Reserves the lowest unused milliseconds of `fromMs`..`toMs` and records them in `runs` (most recently
 * used last). Runs rather than one maximum: after a clock that was an hour ahead is put right, the
 * maximum would block the key for an hour.
 */
export function reserveFromRuns(
  runs: ReservedRun[],
  fromMs: number,
  toMs: number,
  count: number,
): WindowReservation {
  const sorted = runs.toSorted((a, b) => a.from - b.from);
  let first = fromMs;
  let ceiling = toMs;
  for (const run of sorted) {
    if (run.from <= first && first <= run.to) {
      // Nobody goes on for so long beyond the clock: written by somebody else, it would end all requests.
      if (run.to <= toMs + MOST_AHEAD_MS) first = run.to + 1;
    } else if (run.from > first) {
      ceiling = Math.min(ceiling, run.from - 1);
      break;
    }
  }
  if (first > toMs) return { kind: 'exhausted', waitMs: first - toMs };
  const last = Math.min(first + count - 1, ceiling);
  record(runs, first, last);
  return { kind: 'reserved', first, count: last - first + 1 };
}

function record(runs: ReservedRun[], first: number, last: number): void {
  const below = runs.filter((run) => run.to < first).sort((a, b) => b.to - a.to)[0];
  if (below !== undefined && first - below.to <= MAX_GAP_MS) {
    runs.splice(runs.indexOf(below), 1);
    runs.push({ from: below.from, to: last });
  } else {
    runs.push({ from: first, to: last });
  }
  if (runs.length > MAX_RUNS) runs.shift();
}
