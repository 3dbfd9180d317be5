import type { Snapshot } from '../quantities/snapshot.ts';
import type { AccountState } from './account-state.ts';

interface JudgedAt {
  /** The clock shared by all processes, Unix milliseconds. */
  readonly laneNowMs: number;
  /** Whether this process has not evaluated its positions yet. */
  readonly isNew: boolean;
}

/**
 * Removes positions older than those already evaluated: another process has read them since, and this read would
 * contradict it.
 */
export function withoutOvertaken(
  snapshot: Snapshot,
  state: AccountState,
  { laneNowMs, isNew }: JudgedAt,
): Snapshot {
  const { positions } = snapshot.sources;
  if (positions?.kind !== 'read' || state.positionsReadMs === undefined) return snapshot;
  const judgedAgeMs = laneNowMs - state.positionsReadMs;
  // A read from the future was stamped before the shared clock stepped back: then the order of the two reads is
  // unknown.
  const isOvertaken = judgedAgeMs < 0 ? !isNew : judgedAgeMs + AGE_ROUNDING_MS < positions.ageMs;
  if (!isOvertaken) return snapshot;
  const ageMs = judgedAgeMs < 0 ? positions.ageMs : judgedAgeMs;
  return { ...snapshot, sources: { ...snapshot.sources, positions: { kind: 'notRead', ageMs } } };
}

/** When the newest evaluated read of the positions was sent, by the shared clock. */
export function positionsReadMs(
  { sources: { positions } }: Snapshot,
  state: AccountState,
  laneNowMs: number,
): number | undefined {
  return positions?.kind === 'read' ? Math.floor(laneNowMs - positions.ageMs) : state.positionsReadMs;
}

/** Tolerance for rounding the age of one read. */
const AGE_ROUNDING_MS = 2;
