import type { BlockReason, Recorder } from '../audit/audit-event.ts';
import { episodeOf } from '../intents/gate.ts';
import { outstandingBase } from '../orders/outstanding.ts';
import { decimal, formatDecimal, toDecimal } from '../quantities/decimal.ts';
import type { Contest, LaneState, MarketRead, ReadPosition } from './lane-state.ts';
import { findPosition, isEndangered, isSameHolding } from './market-read.ts';

/** Somebody who adds this often within `WITHIN_MS`, each time after our reduction, means to hold the position. */
const MOST_ADDS = 3;
/** After unexplained falls in this many episodes within `WITHIN_MS`, somebody else reduces when our rules do. */
const MOST_FALLS = 3;
const WITHIN_MS = 3_600_000;
/** A fraction of the position's size; a smaller unexplained fall is ignored. */
const LEAST_EXCESS = decimal('0.01');

/** Returns, after a new read, the positions that we reduce and somebody else trades. */
export function noteContests(state: LaneState, read: MarketRead, audit: Recorder): readonly Contest[] {
  const before = state.contests ?? [];
  const contests = before.filter(({ positionId }) => findPosition(read, positionId) === undefined);
  for (const position of read.positions) {
    const contest = stepContest(state, position, read, audit);
    if (contest !== undefined) contests.push(contest);
  }
  return contests.filter(
    ({ isReduced, addsMs, falls = [] }) => isReduced || addsMs.length > 0 || falls.length > 0,
  );
}

function stepContest(
  state: LaneState,
  position: ReadPosition,
  read: MarketRead,
  audit: Recorder,
): Contest | undefined {
  const { positionId } = position;
  const known = state.contests?.find((contest) => contest.positionId === positionId);
  const last = findPosition(state.read, positionId);
  if (last === undefined) return known;
  if (!isSameHolding(last, position)) return undefined;
  const isRecent = (atMs: number): boolean => read.sentAtMs - atMs < WITHIN_MS;
  const recentFalls = (known?.falls ?? []).filter(({ atMs }) => isRecent(atMs));
  const falls = [...recentFalls, ...newFall(state, { last, position, read }, recentFalls, audit)];
  const moved = toDecimal(position.sizeBase).cmp(toDecimal(last.sizeBase));
  const addsMs = (known?.addsMs ?? []).filter(isRecent);
  const isReduced = known?.isReduced === true;
  const rest = { positionId, ...(falls.length === 0 ? {} : { falls }) };
  if (moved > 0 && isReduced) return { ...rest, isReduced: false, addsMs: [...addsMs, read.sentAtMs] };
  const isOurs = oursOn(state, positionId).length > 0;
  return { ...rest, isReduced: isReduced || (moved < 0 && isOurs), addsMs };
}

/** Our orders on a position that may have filled since the last read. */
function oursOn({ orders, ended = [] }: LaneState, positionId: string): LaneState['orders'] {
  return [...orders, ...ended].filter((order) => order.positionId === positionId);
}

/** Returns a fall that our orders do not explain, of a position that one of them reduces; each episode counts once. */
function newFall(
  state: LaneState,
  { last, position, read }: Record<'last' | 'position', ReadPosition> & { readonly read: MarketRead },
  falls: NonNullable<Contest['falls']>,
  audit: Recorder,
): NonNullable<Contest['falls']> {
  const { positionId, sizeBase } = position;
  if (isEndangered(last) || isEndangered(position)) return [];
  const own = oursOn(state, positionId);
  const reducing = own.findLast(({ role, trial }) => role === 'reduce' && trial !== true);
  const fall = toDecimal(last.sizeBase).minus(toDecimal(sizeBase));
  const excess = fall.minus(outstandingBase(own, ({ presumedFilled }) => !presumedFilled));
  if (reducing === undefined || excess.lt(toDecimal(last.sizeBase).times(LEAST_EXCESS))) return [];
  const { key, ruleId } = reducing;
  const episodeKey = episodeOf(key);
  if (falls.some((known) => known.episodeKey === episodeKey)) return [];
  audit.emit({
    kind: 'reducedByOthers',
    positionId,
    key,
    ruleId,
    reason: 'unexplainedFall',
    words: `the position fell by ${formatDecimal(excess)} more than all known orders of this daemon, which reduces it as well: its owner did, the exchange (auto-deleveraging), or a second daemon that does not share this one's Redis`,
    alarm: true,
    sizeBase,
  });
  return [{ episodeKey, atMs: read.sentAtMs }];
}

/** Why a rule must stop reducing: somebody adds again, or reduces already. From a margin call on it acts even so. */
export function contestOf(
  state: LaneState,
  position: ReadPosition,
  nowMs: number,
): Extract<BlockReason, 'contested' | 'reducedByOthers'> | undefined {
  if (isEndangered(position)) return undefined;
  const contest = state.contests?.find(({ positionId }) => positionId === position.positionId);
  const isRecent = (atMs: number): boolean => nowMs - atMs < WITHIN_MS;
  if ((contest?.addsMs.filter(isRecent).length ?? 0) >= MOST_ADDS) return 'contested';
  const falls = contest?.falls?.filter(({ atMs }) => isRecent(atMs)) ?? [];
  return falls.length >= MOST_FALLS ? 'reducedByOthers' : undefined;
}
