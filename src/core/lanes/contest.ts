import { toDecimal } from '../quantities/decimal.ts';
import type { ReadPosition } from './lane-state.ts';
import { type Contest, type LaneState, type MarketRead } from './lane-state.ts';
import { findPosition, isSameHolding } from './market-read.ts';

/** Somebody who adds so often within the time, each time after a reduction of ours, means to hold the position. */
const MOST_ADDS = 3;
const WITHIN_MS = 3_600_000;

/** What a new read says of who adds to positions that orders of ours reduced. */
export function noteContests(state: LaneState, read: MarketRead): readonly Contest[] {
  const before = state.contests ?? [];
  const contests = before.filter(({ positionId }) => findPosition(read, positionId) === undefined);
  for (const position of read.positions) {
    const contest = stepContest(state, position, read);
    if (contest !== undefined) contests.push(contest);
  }
  return contests.filter(({ isReduced, addsMs }) => isReduced || addsMs.length > 0);
}

function stepContest(state: LaneState, position: ReadPosition, read: MarketRead): Contest | undefined {
  const { positionId } = position;
  const known = state.contests?.find((contest) => contest.positionId === positionId);
  const last = findPosition(state.read, positionId);
  if (last === undefined) return known;
  if (!isSameHolding(last, position)) return undefined;
  const moved = toDecimal(position.sizeBase).cmp(toDecimal(last.sizeBase));
  const addsMs = (known?.addsMs ?? []).filter((atMs) => read.sentAtMs - atMs < WITHIN_MS);
  const isReduced = known?.isReduced === true;
  if (moved > 0 && isReduced) return { positionId, isReduced: false, addsMs: [...addsMs, read.sentAtMs] };
  const isOurs = [...state.orders, ...(state.ended ?? [])].some((order) => order.positionId === positionId);
  return { positionId, isReduced: isReduced || (moved < 0 && isOurs), addsMs };
}

/**
 * Whether reducing a position further only feeds somebody who adds as much again: fees without end, and no distance
 * won. From the exchange's margin call on it is fought for all the same.
 */
export function isContested(state: LaneState, position: ReadPosition, nowMs: number): boolean {
  const { positionId, liquidationState } = position;
  if (liquidationState !== null && liquidationState !== 'none') return false;
  const contest = state.contests?.find((one) => one.positionId === positionId);
  const adds = contest?.addsMs.filter((atMs) => nowMs - atMs < WITHIN_MS) ?? [];
  return adds.length >= MOST_ADDS;
}
