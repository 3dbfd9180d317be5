import type { Snapshot } from '../quantities/snapshot.ts';
import type { AccountState } from './account-state.ts';

/**
 * The snapshot without positions that are older than those already judged: another process has read them since, and
 * would be contradicted by what it has overtaken. `laneNowMs`: the clock that processes share, Unix milliseconds.
 */
export function withoutOvertaken(snapshot: Snapshot, state: AccountState, laneNowMs: number): Snapshot {
  const { positions } = snapshot.sources;
  if (positions?.kind !== 'read' || state.positionsReadMs === undefined) return snapshot;
  const judgedAgeMs = laneNowMs - state.positionsReadMs;
  // A read of the future was stamped before the shared clock stepped back.
  if (judgedAgeMs < 0 || judgedAgeMs + SAME_READ_MS >= positions.ageMs) return snapshot;
  return {
    ...snapshot,
    sources: { ...snapshot.sources, positions: { kind: 'notRead', ageMs: judgedAgeMs } },
  };
}

/** When the newest read of the positions that was judged was sent, by the clock that processes share. */
export function positionsReadMs(
  { sources: { positions } }: Snapshot,
  state: AccountState,
  laneNowMs: number,
): number | undefined {
  return positions?.kind === 'read' ? Math.floor(laneNowMs - positions.ageMs) : state.positionsReadMs;
}

/** Rounding of the same read's age. */
const SAME_READ_MS = 2;
