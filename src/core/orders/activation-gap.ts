import type { RejectionReason } from '../audit/audit-event.ts';
import type { LaneState, ReadPosition } from '../lanes/lane-state.ts';
import { roundTripOf } from '../lanes/market-read.ts';
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
import { LARGEST_BASIS, learn } from './market-steps.ts';
import { activationGap, CRASH_BASIS, opposite } from './order-prices.ts';
import { isWellPast, offsetFromActivation, standsForCertain, waitsForFall } from './outstanding.ts';
import type { SetScene } from './want.ts';
import {
  adverseSpeed,
  nearestDistance,
  nearestLiquidation,
  SHORT_HORIZON_MS,
  speedTowards,
} from './way-to-liquidation.ts';

/** A reply with last prices may be older than it looks by so much. */
const SHOWN_AGE_MS = 1_000;
/** Requests sent so closely show the market at the same time. */
const SAME_TIME_MS = 250;
/** Where replies are so slow that none is as close, marks of so much before and after are compared. */
const SOON_MS = 4_000;

type Taught = Pick<LaneState, 'learned' | 'marks' | 'lastPrice'>;

/** How far the last price lay below the mark, a share of the mark; negative: above it. 0 if none was shown. */
function shownBasis({ marks = [], lastPrice }: Taught, withinMs = SAME_TIME_MS): number {
  if (lastPrice === undefined) return 0;
  const { atMs, price } = lastPrice;
  const shares = marks
    .filter((mark) => mark.atMs >= atMs - SHOWN_AGE_MS - withinMs && mark.atMs <= atMs + withinMs)
    .map(({ mark }) => (mark - price) / mark);
  if (shares.length === 0) return 0;
  const [least, most] = [Math.min(...shares), Math.max(...shares)];
  // A distance that not every mark of that time shows may be a move of the market.
  const basis = least > 0 ? least : Math.min(0, most);
  // Farther away it is the price of something else.
  return Math.abs(basis) <= LARGEST_BASIS ? basis : 0;
}

/** Returns the market with the allowance between mark and last price that our orders, or what was shown, have taught. */
export function asLearned(market: MarketSettings, state: Taught): MarketSettings {
  return allowing(market, state.learned?.basis, Math.abs(shownBasis(state)));
}

/**
 * The same for the second stop of an urgent close. What the first stop taught does not apply to the other side: it
 * shows by how much the last price ran ahead of the mark, or how far the market moved between two reads.
 */
export function asLearnedInFavour(market: MarketSettings, state: Taught): MarketSettings {
  return allowing(market, state.learned?.basisInFavour, Math.abs(shownBasis(state)));
}

/** `beyond`: how far the last price lies beyond the mark, as was shown. */
function allowing(market: MarketSettings, learned = 0, beyond = 0): MarketSettings {
  const allowed = Math.max(learned, market.basisAllowance) + Math.max(0, beyond);
  return { ...market, basisAllowance: Math.max(market.basisAllowance, Math.min(allowed, LARGEST_BASIS)) };
}

/** Factor by which an allowance grows if an order placed with it was still inverted, up to `LARGEST_BASIS`. */
const BASIS_GROWTH = 4;

export function grownBasis(market: MarketSettings, { learned }: Taught): number {
  return grown(market, learned?.basis);
}

export function grownInFavour(market: MarketSettings, { learned }: Taught): number {
  return grown(market, learned?.basisInFavour);
}

function grown(market: MarketSettings, learned = 0): number {
  const basis = Math.max(market.basisAllowance, learned) * BASIS_GROWTH;
  return Math.min(learned === 0 ? Math.max(basis, CRASH_BASIS) : basis, LARGEST_BASIS);
}

/** The allowance that an order was placed with, as far as is known now. */
function allowedFor({ request }: OwnOrder, { market, state }: Pick<SetScene, 'market' | 'state'>) {
  if (request.inFavour === true) return asLearnedInFavour(market, state);
  return asLearned(market, state);
}

/**
 * Learns from a refused price. It may lie on the wrong side, so the gap widens, even if no coarser step is left to try.
 * If the gap has been widened twice without success, the price may lie too far away, and what was learned is forgotten.
 */
function afterPriceRefusal(state: LaneState, market: MarketSettings, isGivenUp: boolean): LaneState {
  const { basis: known = 0 } = state.learned ?? {};
  const isWide = known > Math.max(CRASH_BASIS, BASIS_GROWTH * market.basisAllowance);
  return learn(state, { basis: isGivenUp && isWide ? 0 : grownBasis(market, state) });
}

type Priced = ReadPosition & { readonly markPrice: NonNullable<ReadPosition['markPrice']> };

/** The same distance towards an activation. A price on the wrong side is worse than one a little farther away. */
function shownTowards(towards: Direction, state: Taught): number {
  const basis = shownBasis(state) || shownBasis(state, SOON_MS);
  return towards === 'long' ? basis : -basis;
}

/** The same, without the mark's error, which every gap covers. */
function shownBeyond({ markPrice, markError }: Priced, towards: Direction, state: Taught): number {
  return shownTowards(towards, state) - markError / Number(markPrice);
}

/** Part of the distance to liquidation that a gap may take; more where a wider basis is only suspected. */
const GAP_SHARE = 0.8;
const SUSPECTED_SHARE = 0.9;

/**
 * Returns how far from the mark a reduction activates: the allowance, plus how far the market may run until the order
 * arrives; at most a part of the distance to liquidation, and at least what a standing market needs. After an inversion it
 * may be farther: what stands already is nearer.
 */
export function placingGap(position: Priced, direction: Direction, scene: SetScene): Decimal {
  const { market, state } = scene;
  const { learned: { basis } = {} } = state;
  const run = runOf(position, travelMs(scene), speedTowards(direction, state));
  const standing = activationGap(position, allowing(market, basis, shownBeyond(position, direction, state)));
  const gap = standing.plus(run);
  const left = distanceOf(position, direction, state);
  if (left === undefined) return gap;
  const part = (share: number) => left.times(decimalFromNumber(share));
  const most = maxDecimal(
    minDecimal(standing, part(SUSPECTED_SHARE)),
    part(basis ? SUSPECTED_SHARE : GAP_SHARE),
  );
  return maxDecimal(minDecimal(gap, most), activationGap(position, market));
}

/** How far from the mark a standing stop activates at least, so that the market has not passed it when it arrives. */
export function stopGap(position: Priced, direction: Direction, scene: SetScene): Decimal {
  const standing = activationGap(position, scene.market);
  return standing.plus(runOnArrival(position, direction, scene));
}

/** Whether the market, at its speed, has passed an activation by the time an order sent now arrives. */
export function isPassedOnArrival(order: OwnOrder, position: ReadPosition, scene: SetScene): boolean {
  const { markPrice, direction } = position;
  const offset = offsetFromActivation(order, position);
  if (markPrice === null || direction === null || offset === undefined) return false;
  return offset.lt(runOnArrival({ ...position, markPrice }, runsTowards(order.request, direction), scene));
}

/** How far the mark, or the last price that was shown beyond it, will have run from the mark as read by then. */
function runOnArrival(position: Priced, towards: Direction, scene: SetScene): Decimal {
  const speed = speedTowards(towards, scene.state);
  const run = runOf(position, travelMs(scene), speed);
  const beyond = shownTowards(towards, scene.state);
  return speed > 0 && beyond > 0 ? run.plus(runOf(position, 1, beyond)) : run;
}

/** The same on the other side of the market, where no liquidation bounds the gap: a single one. */
export function gapInFavour(position: Priced, direction: Direction, scene: SetScene): Decimal {
  const speed = speedTowards(opposite(direction), scene.state);
  const beyond = shownBeyond(position, opposite(direction), scene.state);
  const allowed = allowing(scene.market, scene.state.learned?.basisInFavour, beyond);
  const standing = activationGap(position, allowed);
  return standing.plus(runOf(position, travelMs(scene), speed));
}

/** The direction of a position against which a market moves on its way to an activation. */
function runsTowards({ inFavour }: OwnOrder['request'], direction: Direction): Direction {
  return inFavour === true ? opposite(direction) : direction;
}

/** The allowance between mark and last price takes at most this share of the distance to liquidation. */
const RANGE_SHARE = 0.25;

/** Returns the market with an allowance that leaves room before liquidation: half the width of the trigger's range. */
export function inRange({ distance }: ReadPosition, market: MarketSettings): MarketSettings {
  if (typeof distance !== 'number') return market;
  const basisAllowance = Math.min(market.basisAllowance, RANGE_SHARE * Math.max(0, distance));
  return { ...market, basisAllowance };
}

function distanceOf(position: Priced, direction: Direction, state: LaneState): Decimal | undefined {
  const nearest = nearestLiquidation(position, state);
  if (nearest === null || nearest === 'none') return undefined;
  const left = toDecimal(position.markPrice).minus(toDecimal(nearest));
  return direction === 'long' ? left : left.neg();
}

/** Age of the market data when an order sent now arrives; a read may be stale by up to `readLagMs`. */
function travelMs({ state, read, settings, nowMs }: SetScene): number {
  return Math.max(0, nowMs - read.sentAtMs) + settings.readLagMs + roundTripOf(state, read);
}

function runOf({ markPrice }: Priced, forMs: number, speed: number): Decimal {
  const share = Number((speed * forMs).toFixed(6));
  return share === 0 ? ZERO : toDecimal(markPrice).times(decimalFromNumber(share));
}

/** The market has moved away from an activation beyond this many times the gap at its current speed. */
const AWAY_GAPS = 4;

/** Whether the market is so far from an activation that the order should be moved nearer. */
export function hasMovedAway(order: OwnOrder, position: ReadPosition, scene: SetScene): boolean {
  const { direction, markPrice } = position;
  const offset = offsetFromActivation(order, position);
  if (markPrice === null || direction === null || offset === undefined) return false;
  const priced = { ...position, markPrice };
  // An activation that the market will soon reach, at its speed of the last seconds, is not too far away.
  const towards = runsTowards(order.request, direction);
  const speed = adverseSpeed(scene.state.marks ?? [], towards, SHORT_HORIZON_MS);
  const run = runOf(priced, travelMs(scene) + scene.settings.fillWithinMs, speed);
  const gap = activationGap(priced, allowedFor(order, scene));
  const next = order.request.inFavour
    ? gapInFavour(priced, direction, scene)
    : placingGap(priced, direction, scene);
  // After a fast move the next order would lie where this one is: it is not taken down for that.
  return offset.gt(maxDecimal(gap.plus(run).times(decimalFromNumber(AWAY_GAPS)), next.plus(gap)));
}

/** A reduction that the mark has passed by more than this part of the distance may not wait for the last price. */
const AWAITED_SHARE = 0.5;

/**
 * Whether an order that the mark has passed still waits for the last price. Had it triggered it would have filled, as
 * the market is within its limit. No order placed now would be reached sooner.
 */
export function awaitsLastPrice(order: OwnOrder, position: ReadPosition, scene: SetScene): boolean {
  const { role, request, seenAbove, seenBelow } = order;
  const isRightSide = role === 'cover' || (waitsForFall(request) ? seenAbove : seenBelow);
  if (!standsForCertain(order) || order.presumedFilled || !isRightSide) return false;
  const offset = offsetFromActivation(order, position);
  if (offset === undefined || offset.gt(ZERO) || isPastLimit(order, position)) return false;
  if (role === 'cover') return true;
  // A last price that ran ahead of the mark may have inverted it. The longer it waits, the more likely that is.
  const left = nearestDistance(position, scene.state) ?? Number.POSITIVE_INFINITY;
  const basisAllowance = Math.min(CRASH_BASIS, AWAITED_SHARE * Math.max(0, left));
  return !isWellPast(offset, position, { ...scene.market, basisAllowance });
}

/**
 * Whether an order came too late: a read after its acceptance shows the market past its activation by more than mark
 * and last price differ. An activated order with the market past its limit was jumped over instead.
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

/** Whether the market is past the limit price of an order: if activated, the order may have been jumped over. */
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
  if (role !== 'reduce' || market === undefined) return state;
  if (reason === 'activationPassed') return learn(state, { basis: grownBasis(market, state) });
  const isFirst = state.learned?.priceStep === undefined && !isGivenUp;
  if (reason !== 'priceStep' || isFirst) return state;
  return afterPriceRefusal(state, market, isGivenUp);
}

/** A wait that would cost this share of the remaining distance is too expensive. */
const DEAR_SHARE = 0.1;

/** Whether the market runs so fast that waiting for the fence, and once more after a lost reply, costs too much. */
export function isRacing(position: ReadPosition, state: LaneState, settings: AccountSettings): boolean {
  const { direction } = position;
  const distance = nearestDistance(position, state);
  if (direction === null || distance === undefined) return false;
  const lost = speedTowards(direction, state) * fenceDurationMs(settings);
  return lost > 0 && lost >= DEAR_SHARE * distance;
}
