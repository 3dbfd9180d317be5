import type { Snapshot } from '../quantities/snapshot.ts';
import type { AccountState } from './account-state.ts';

interface JudgedAt {
  /** The clock that processes share, Unix milliseconds. */
  readonly laneNowMs: number;
  /** Whether this process has not judged its positions yet. */
  readonly isNew: boolean;
}

/**
 * The snapshot without positions that are older than those already judged: another process has read them since, and
 * would be contradicted by what it has overtaken.
 */
export function withoutOvertaken(
  snapshot: Snapshot,
  state: AccountState,
  { laneNowMs, isNew }: JudgedAt,
): Snapshot {
  const { positions } = snapshot.sources;
  if (positions?.kind !== 'read' || state.positionsReadMs === undefined) return snapshot;
  const judgedAgeMs = laneNowMs - state.positionsReadMs;
  // A read of the future was stamped before the shared clock stepped back: of two nobody knows the order then.
  const isOvertaken = judgedAgeMs < 0 ? !isNew : judgedAgeMs + SAME_READ_MS < positions.ageMs;
  if (!isOvertaken) return snapshot;
  const ageMs = judgedAgeMs < 0 ? positions.ageMs : judgedAgeMs;
  return { ...snapshot, sources: { ...snapshot.sources, positions: { kind: 'notRead', ageMs } } };
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
