import type { RejectionReason } from '../audit/audit-event.ts';
import type { LaneState, MarketRead, MarkSample, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition, roundTripOf } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type Decimal,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import type { Direction } from '../rules/subject.ts';
import { fenceDurationMs } from './fence.ts';
import { activationGap, opposite } from './order-prices.ts';
import { isWellPast, offsetFromActivation, waitsForFall } from './outstanding.ts';
import type { SetScene } from './want.ts';

/** Time over which the speed of a market is taken: what it does now, and what it has been doing. */
const HORIZONS_MS = [3_000, 20_000];
const SHORT_HORIZON_MS = [3_000];
export const MARKS_KEPT_MS = 20_000;
/** Two marks nearer in time than this say more of a single step than of a speed. */
const LEAST_SPAN_MS = 1_000;

/** Adverse move per millisecond, a fraction of the mark; the larger over the horizons, 0 where nothing is known. */
function adverseSpeed(
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
    return Math.max(0, adverse) / Math.max(newest.atMs - since.atMs, LEAST_SPAN_MS);
  });
  return Math.max(...speeds);
}

/** How fast the market moves against a position, a fraction of the mark per millisecond. */
export function speedTowards(direction: Direction, { marks = [] }: LaneState): number {
  return adverseSpeed(marks, direction, HORIZONS_MS);
}

/** The market with the allowance for the gap between mark and last price that orders of ours have taught. */
export function asLearned(
  market: MarketSettings,
  { learnedBasis = 0, measuredBasis }: LaneState,
): MarketSettings {
  const { low, high } = measuredBasis ?? { low: -learnedBasis, high: learnedBasis };
  // The width of what was measured is how far the market moved between two reads: it proves no more than its near end.
  const proven = Math.max(learnedBasis, low, -high);
  return withAllowance(market, Math.min(Math.max(high, -low), proven, LARGEST_BASIS));
}

/**
 * The same for the second stop of an urgent close. What the first one has taught tells nothing of the other side: it
 * says by how much the last price ran ahead of the mark, or how far the market moved between two reads.
 */
export function asLearnedInFavour(
  market: MarketSettings,
  { learnedInFavour = 0 }: Pick<LaneState, 'learnedInFavour'>,
): MarketSettings {
  return withAllowance(market, Math.min(learnedInFavour, LARGEST_BASIS));
}

/** An allowance that an order with it was inverted all the same becomes so many times itself, up to a bound. */
const BASIS_GROWTH = 4;
const LARGEST_BASIS = 0.1;
/** What the first inversion makes of it, where less is configured: it covers what is usual in a crash. */
const FIRST_LEARNED = 0.012;

export function grownBasis(market: MarketSettings, state: LaneState): number {
  return grown(asLearned(market, state), state.learnedBasis);
}

export function grownInFavour(market: MarketSettings, state: LaneState): number {
  return grown(asLearnedInFavour(market, state), state.learnedInFavour);
}

function grown({ basisAllowance }: MarketSettings, learned: number | undefined): number {
  const isFirst = learned === undefined || learned === 0;
  const basis = basisAllowance * BASIS_GROWTH;
  return Math.min(isFirst ? Math.max(basis, FIRST_LEARNED) : basis, LARGEST_BASIS);
}

/** The allowance that an order was placed with, as far as is known now. */
function allowedFor({ part, request }: OwnOrder, { market, state }: Pick<SetScene, 'market' | 'state'>) {
  if (request.inFavour === true) return asLearnedInFavour(market, state);
  return part === 'near' ? market : asLearned(market, state);
}

/**
 * A refused price may lie on the wrong side: mark and last price are then taken to be further apart, twice. Where that
 * does not help it may lie too far away: all is forgotten. Where no coarser step is left the gap widens all the same.
 */
function afterPriceRefusal(state: LaneState, market: MarketSettings, isGivenUp: boolean): LaneState {
  const { measuredBasis: _, ...unmeasured } = state;
  const isWide = (state.learnedBasis ?? 0) > Math.max(FIRST_LEARNED, BASIS_GROWTH * market.basisAllowance);
  if (isGivenUp && isWide) return { ...unmeasured, learnedBasis: 0 };
  const learnedBasis = grownBasis(market, state);
  return { ...state, learnedBasis, measuredBasis: { low: 0, high: learnedBasis } };
}

/** A fill says that the last price was at the activation between two reads: below for a sell, above for a buy. */
export function measuredBy(
  filled: readonly OwnOrder[],
  before: MarketRead | null,
  read: MarketRead,
): LaneState['measuredBasis'] {
  const order = filled.find(({ role, request }) => role === 'reduce' && request.inFavour !== true);
  const marks = [before, read].map((one) => order && findPosition(one, order.positionId)?.markPrice);
  const known = marks.filter((mark) => mark !== null && mark !== undefined);
  if (order === undefined || known.length < marks.length) return undefined;
  const sign = order.request.side === 'sell' ? 1 : -1;
  const activation = Number(order.request.activationPrice);
  const apart = known.map((mark) => (sign * (Number(mark) - activation)) / Number(mark));
  return { low: Math.min(...apart), high: Math.max(...apart) };
}

type Priced = ReadPosition & { readonly markPrice: NonNullable<ReadPosition['markPrice']> };

interface PlacingGaps {
  readonly near: Decimal;
  /** Absent: one order will do. */
  readonly far?: Decimal;
}

/** Of the distance to liquidation: what the nearer of two orders may take, and what the farther may. */
const NEAR_SHARE = 0.5;
const FAR_SHARE = 0.9;
/** Two gaps that are less apart than this are one. */
const APART = 1.5;

/**
 * How far from the mark a reduction activates: the allowance, and as far as the market may run until the order arrives;
 * at most half of the distance to liquidation, never less than a standing market needs. Two gaps where that is not
 * enough or an inversion has shown a wider basis: nobody knows which price is ahead until one order fills.
 */
export function placingGaps(position: Priced, direction: Direction, scene: SetScene): PlacingGaps {
  const { market, state } = scene;
  const { marks = [], measuredBasis, learnedBasis = 0 } = state;
  const { low, high } = measuredBasis ?? { low: 0, high: learnedBasis };
  const run = runOf(position, travelMs(scene), adverseSpeed(marks, direction, HORIZONS_MS));
  const standing = activationGap(position, market);
  const wide = activationGap(
    position,
    withAllowance(market, Math.min(high, Math.max(learnedBasis, low))),
  ).plus(run);
  const small = measuredBasis === undefined ? standing.plus(run) : wide;
  const left = distanceOf(position, direction);
  const upTo = (gap: Decimal, share: number): Decimal =>
    left === undefined ? gap : maxDecimal(minDecimal(gap, left.times(decimalFromNumber(share))), standing);
  const near = upTo(small, NEAR_SHARE);
  const far = upTo(wide, FAR_SHARE);
  return far.lt(near.times(decimalFromNumber(APART))) ? { near } : { near, far };
}

/** The same on the other side of the market, where no liquidation bounds it: one gap. */
export function gapInFavour(position: Priced, direction: Direction, scene: SetScene): Decimal {
  const { marks = [] } = scene.state;
  const speed = adverseSpeed(marks, opposite(direction), HORIZONS_MS);
  const standing = activationGap(position, asLearnedInFavour(scene.market, scene.state));
  return standing.plus(runOf(position, travelMs(scene), speed));
}

/** The direction of a position that a market on its way to an activation moves against. */
function runsTowards({ inFavour }: OwnOrder['request'], direction: Direction): Direction {
  return inFavour === true ? opposite(direction) : direction;
}

function withAllowance(market: MarketSettings, basisAllowance: number): MarketSettings {
  return basisAllowance > market.basisAllowance ? { ...market, basisAllowance } : market;
}

function distanceOf({ liquidationPrice, markPrice }: Priced, direction: Direction): Decimal | undefined {
  if (liquidationPrice === null || liquidationPrice === 'none') return undefined;
  const left = toDecimal(markPrice).minus(toDecimal(liquidationPrice));
  return direction === 'long' ? left : left.neg();
}

/** Age of what is known of the market when an order sent now arrives; a read may be as stale as the bound says. */
function travelMs({ state, read, settings, nowMs }: SetScene): number {
  return Math.max(0, nowMs - read.sentAtMs) + settings.readLagMs + roundTripOf(state, read);
}

function runOf({ markPrice }: Priced, forMs: number, speed: number): Decimal {
  const share = Number((speed * forMs).toFixed(6));
  return share === 0 ? ZERO : toDecimal(markPrice).times(decimalFromNumber(share));
}

/** Times the gap of a market as fast as it is now at which it counts as moved away from an activation. */
const AWAY_GAPS = 4;

/** Whether the market is so far from an activation that it should be drawn nearer. */
export function hasMovedAway(
  order: OwnOrder,
  offset: Decimal,
  position: ReadPosition,
  scene: SetScene,
): boolean {
  const { direction, markPrice } = position;
  if (markPrice === null) return false;
  const priced = { ...position, markPrice };
  // What the market will soon reach at its pace of the last seconds is not too far away.
  const towards = direction === null ? null : runsTowards(order.request, direction);
  const speed = towards === null ? 0 : adverseSpeed(scene.state.marks ?? [], towards, SHORT_HORIZON_MS);
  const run = runOf(priced, travelMs(scene) + scene.settings.fillWithinMs, speed);
  return offset.gt(
    activationGap(priced, allowedFor(order, scene)).plus(run).times(decimalFromNumber(AWAY_GAPS)),
  );
}

/** A cancel, a read, and an order as far from the market as it may run until it arrives. */
const REPLACE_ROUND_TRIPS = 4;

/** Whether the market, at its pace of the last seconds, is at an activation before another order could take its place. */
export function isNearlyReached(order: OwnOrder, position: ReadPosition, scene: SetScene): boolean {
  const { state, read, market } = scene;
  const { direction, markPrice } = position;
  const offset = offsetFromActivation(order, position);
  if (order.status !== 'open' || order.inverted === true || order.activatedMs !== null) return false;
  if (direction === null || markPrice === null || offset === undefined) return false;
  const towards = runsTowards(order.request, direction);
  const speed = adverseSpeed(state.marks ?? [], towards, SHORT_HORIZON_MS);
  if (speed === 0) return false;
  const priced = { ...position, markPrice };
  const passed = activationGap(priced, asLearned(market, state)).neg();
  const run = runOf(priced, REPLACE_ROUND_TRIPS * roundTripOf(state, read), speed);
  return offset.gt(passed) && offset.lte(run);
}

/**
 * Whether an order that the mark has passed waits for the last price: triggered it would have filled, as the market is
 * within its limit. None placed now would be reached sooner.
 */
export function awaitsLastPrice(order: OwnOrder, position: ReadPosition): boolean {
  const { role, request, status, mayHaveVanished, ambiguous, seenAbove, seenBelow } = order;
  const isRightSide = role === 'cover' || (waitsForFall(request) ? seenAbove : seenBelow);
  if (status !== 'open' || mayHaveVanished === true || ambiguous || !isRightSide) return false;
  const offset = offsetFromActivation(order, position);
  return offset !== undefined && offset.lte(ZERO) && !isPastLimit(order, position);
}

/**
 * Whether an order came too late: a read from after its acceptance shows the market past its activation by more than
 * mark and last price differ. One that was activated has been jumped over where the market is past its limit.
 */
export function isInverted(
  order: OwnOrder,
  position: ReadPosition | undefined,
  market: MarketSettings,
): boolean {
  if (order.role !== 'reduce' || order.status !== 'open') return false;
  const offset = position && offsetFromActivation(order, position);
  if (position === undefined || offset === undefined) return false;
  if (order.activatedMs !== null && isPastLimit(order, position)) return false;
  return isWellPast(offset, position, market);
}

/** Whether an order that was activated may have been jumped over: the market is past its limit price. */
export function isPastLimit(order: OwnOrder, { markPrice }: ReadPosition): boolean {
  if (markPrice === null) return false;
  const left = toDecimal(markPrice).minus(toDecimal(order.request.price));
  return (order.request.side === 'sell' ? left : left.neg()).lt(ZERO);
}

export function taughtByPrice(
  state: LaneState,
  { role }: OwnOrder,
  { reason, isGivenUp }: { readonly reason: RejectionReason; readonly isGivenUp: boolean },
  settings: AccountSettings,
): LaneState {
  const market = settings.marketSettings(state.market);
  const isFirst = state.learnedSteps?.priceStep === undefined && !isGivenUp;
  if (role !== 'reduce' || reason !== 'priceStep' || market === undefined || isFirst) return state;
  return afterPriceRefusal(state, market, isGivenUp);
}

/** Waiting that would cost this share of the distance that is left is not waited. */
const DEAR_SHARE = 0.1;

/** Whether the market runs so fast that waiting for the fence, and once more after a lost reply, costs too much. */
export function isRacing(position: ReadPosition, state: LaneState, settings: AccountSettings): boolean {
  const { direction, distance } = position;
  if (direction === null || typeof distance !== 'number') return false;
  const lost = speedTowards(direction, state) * fenceDurationMs(settings);
  return lost > 0 && lost >= DEAR_SHARE * distance;
}
