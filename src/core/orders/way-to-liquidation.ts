import type { LaneState, MarketRead, MarkSample, ReadPosition } from '../lanes/lane-state.ts';
import type { ReadObservation } from '../lanes/market-read.ts';
import type { Direction } from '../rules/subject.ts';

/** Times over which the speed of a market is measured: its current move, and its recent one. */
const HORIZONS_MS = [3_000, 20_000];
export const SHORT_HORIZON_MS = [3_000];
const MARKS_KEPT_MS = 20_000;
/** After a time without reads, the last mark before it is kept for this long. */
const LAST_MARK_KEPT_MS = 120_000;
/** Marks closer in time than this show a single step rather than a speed. */
const LEAST_SPAN_MS = 1_000;
/** A move that nobody saw may have begun late: it counts as having taken no longer than this. */
const MOST_SPAN_MS = MARKS_KEPT_MS;

/** Adverse move per millisecond, a fraction of the mark: the largest over the horizons, 0 if unknown. */
export function adverseSpeed(
  marks: readonly MarkSample[],
  direction: Direction,
  horizonsMs: readonly number[],
): number {
  const newest = marks.at(-1);
  if (newest === undefined) return 0;
  const speeds = horizonsMs.map((horizonMs) => {
    const earlier = marks.slice(0, -1);
    const since = earlier.find(({ atMs }) => newest.atMs - atMs <= horizonMs) ?? earlier.at(-1);
    if (since === undefined) return 0;
    const change = (newest.mark - since.mark) / newest.mark;
    const adverse = direction === 'long' ? -change : change;
    const spanMs = Math.min(Math.max(newest.atMs - since.atMs, LEAST_SPAN_MS), MOST_SPAN_MS);
    return Math.max(0, adverse) / spanMs;
  });
  return Math.max(...speeds);
}

/** How fast the market moves against a position, a fraction of the mark per millisecond. */
export function speedTowards(direction: Direction, { marks = [] }: LaneState): number {
  return adverseSpeed(marks, direction, HORIZONS_MS);
}

/** Adds the mark of a read, and the marks of earlier reads that the lane missed while it had nothing to do. */
export function withMarks(state: LaneState, read: MarketRead, { earlierMarks }: ReadObservation): LaneState {
  const mark = read.positions.find(({ markPrice }) => markPrice !== null)?.markPrice;
  if (mark === undefined || mark === null) return state;
  const isRecent = (atMs: number): boolean => atMs < read.sentAtMs && read.sentAtMs - atMs <= MARKS_KEPT_MS;
  const known = state.marks ?? [];
  const own = known.filter(({ atMs }) => isRecent(atMs));
  const [firstMs, lastMs] = [own[0]?.atMs ?? Number.POSITIVE_INFINITY, own.at(-1)?.atMs ?? 0];
  const missed =
    earlierMarks?.(state.market, (atMs) => isRecent(atMs) && (atMs < firstMs || atMs > lastMs)) ?? [];
  const earlier = missed.filter(({ atMs }) => atMs < firstMs);
  const later = missed.filter(({ atMs }) => atMs > firstMs);
  const recent = [...earlier, ...own, ...later];
  const isBeforeGap = ({ atMs }: MarkSample): boolean =>
    atMs < read.sentAtMs && read.sentAtMs - atMs <= LAST_MARK_KEPT_MS;
  const before = recent.length > 0 ? recent : known.slice(-1).filter(isBeforeGap);
  return { ...state, marks: [...before, { atMs: read.sentAtMs, mark: Number(mark) }] };
}

/**
 * Returns the nearer of a position's own and its joint liquidation price. The own price assumes that other markets do
 * not move: if markets fall together, an order placed by it never triggers.
 */
export function nearestLiquidation(
  { positionId, liquidationPrice, direction, markPrice }: ReadPosition,
  { jointLimits = [] }: Pick<LaneState, 'jointLimits'>,
): ReadPosition['liquidationPrice'] {
  const joint = jointLimits.find((limit) => limit.positionId === positionId)?.liquidationPrice;
  if (joint === undefined || liquidationPrice === null) return liquidationPrice;
  // One that the mark has passed is out of date: the account would be gone.
  if (markPrice !== null && Number(joint) > Number(markPrice) === (direction === 'long'))
    return liquidationPrice;
  if (liquidationPrice === 'none') return joint;
  const isNearer = Number(joint) > Number(liquidationPrice) === (direction === 'long');
  return isNearer ? joint : liquidationPrice;
}

/** Returns how far away that is, a fraction of the mark; undefined: not known, or never reached. */
export function nearestDistance(
  position: ReadPosition,
  state: Pick<LaneState, 'jointLimits'>,
): number | undefined {
  const { markPrice, direction, distance, liquidationPrice } = position;
  const nearest = nearestLiquidation(position, state);
  const own = typeof distance === 'number' ? distance : undefined;
  if (nearest === liquidationPrice || nearest === null || nearest === 'none' || markPrice === null)
    return own;
  const left = 1 - Number(nearest) / Number(markPrice);
  return direction === 'short' ? -left : left;
}
