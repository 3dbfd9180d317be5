import type { BlockReason } from '../audit/audit-event.ts';
import type { Cover, CoverAnchor, LaneState, ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type Decimal,
  type DecimalString,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  roundToStep,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { OwnStop } from '../quantities/snapshot.ts';
import { speedTowards } from './activation-gap.ts';
import { PROOF_MS, REPLACED_WITHIN_MS } from './cancel-policy.ts';
import { leastAmount } from './net-exposure.ts';
import { type OrderPrices, shapeProtect } from './order-prices.ts';
import { offsetFromActivation, outstandingBase, standsUnreached } from './outstanding.ts';
import type { Removal, SetScene, Want } from './want.ts';

/** The one standing stop that a position should have, all its `protect` actions taken together. */
export interface DesiredStop {
  readonly cover: Cover;
  readonly position: ReadPosition;
  readonly amount: Decimal;
  readonly prices: OrderPrices;
  readonly slippage: number;
  readonly isTrimmed: boolean;
  /** More than this may not stand; undefined: anything may. */
  readonly mostStanding: Decimal | undefined;
  readonly basis: NonNullable<OwnOrder['coverBasis']>;
  readonly anchor: CoverAnchor;
}

/** With both sides of a market open: what stops of a position may take away. */
export interface StopRoom {
  /** Of a new one. */
  readonly left: Decimal;
  /** Of all that stand; undefined: they cannot take too much. */
  readonly standing: Decimal | undefined;
}

export interface BlockedStop {
  readonly key: string;
  readonly blocked: BlockReason;
}

/** Our protective stops in a market. Confirmed is what certainly stands: of this epoch, not filled, never reached. */
export function standingStops(state: LaneState, epochId: string): readonly OwnStop[] {
  const isCertain = state.epoch === epochId && state.doubt === null;
  return state.orders
    .filter((order) => order.role === 'cover' && order.trial !== true && !order.presumedFilled)
    .map((order) => ({
      positionId: order.positionId,
      activationPrice: order.request.activationPrice,
      amount: order.amount,
      confirmed: isCertain && standsUnreached(order),
    }));
}

/** The same in all markets of an account, as far as its lanes know. */
export function ownStopsOf({
  lanes,
  epoch,
}: {
  readonly lanes: ReadonlyMap<string, LaneState>;
  readonly epoch: { readonly id: string };
}): readonly OwnStop[] {
  return [...lanes.values()].flatMap((lane) => standingStops(lane, epoch.id));
}

/**
 * The stop nearest to the market of those asked for, for the whole position. `room`: what net exposure leaves for it.
 */
export function desiredStop(
  position: ReadPosition,
  room: StopRoom | undefined,
  scene: SetScene,
): DesiredStop | BlockedStop | undefined {
  const asked = scene.admitted.covers.filter((cover) => cover.positionId === position.positionId);
  const [first, ...others] = asked;
  const liquidationPrice = nearestLiquidation(position, scene.state);
  if (first === undefined || liquidationPrice === 'none') return undefined;
  const cover = others.reduce((nearest, other) => (other.at < nearest.at ? other : nearest), first);
  const slippage = Math.max(...asked.map((other) => other.slippage));
  const why = stopBlock(position);
  if (why !== undefined) return { key: cover.key, blocked: why };
  const { direction, markPrice, markError } = position;
  if (direction === null || markPrice === null || liquidationPrice === null) return undefined;
  const amount = stopAmount(position, room?.left, scene);
  if (amount === undefined) return { key: cover.key, blocked: 'netExposure' };
  const view = { direction, markPrice, markError };
  const anchor = anchorOf(cover, position, markPrice, liquidationPrice);
  const at = clearShare(anchor.markPrice, liquidationPrice, cover.at);
  const inputs = { liquidationPrice, anchor: anchor.markPrice, at, slippage };
  const shape = shapeProtect(view, inputs, scene.market);
  if (!shape.ok) return { key: cover.key, blocked: shape.why };
  const roomBase = Math.abs(Number(markPrice) - Number(liquidationPrice));
  return {
    cover,
    position,
    amount,
    prices: shape.prices,
    slippage,
    isTrimmed: room === undefined,
    mostStanding: room?.standing,
    basis: { liquidationPrice, roomBase },
    anchor,
  };
}

/** A position's own liquidation price holds other prices still: where markets fall together its stop never triggers. */
export function nearestLiquidation(
  { positionId, liquidationPrice, direction }: ReadPosition,
  { jointLimits = [] }: LaneState,
): ReadPosition['liquidationPrice'] {
  const joint = jointLimits.find((limit) => limit.positionId === positionId)?.liquidationPrice;
  if (joint === undefined || liquidationPrice === null) return liquidationPrice;
  if (liquidationPrice === 'none') return joint;
  const isNearer = Number(joint) > Number(liquidationPrice) === (direction === 'long');
  return isNearer ? joint : liquidationPrice;
}

/**
 * The mark when it was first placed, so that the stop does not run before the market. Not where liquidation has come so
 * near that it would lie at or past the market for that alone.
 */
export function anchorOf(
  cover: Cover,
  position: ReadPosition,
  markPrice: DecimalString,
  liquidationPrice: DecimalString,
): CoverAnchor {
  const { openDate, direction } = position;
  const now: CoverAnchor = { markPrice, liquidationPrice, openDate, direction };
  const before = cover.anchor;
  if (before === null) return now;
  const wished = stopAt(before.markPrice, liquidationPrice, cover.at);
  const then = stopAt(before.markPrice, before.liquidationPrice, cover.at);
  const isPast = (price: Decimal): boolean =>
    direction === 'short' ? price.lte(toDecimal(markPrice)) : price.gte(toDecimal(markPrice));
  return isPast(wished) && !isPast(then) ? now : before;
}

/** Mark and last price come to differ by about so much of the price in a crash. */
export const CRASH_BASIS = 0.012;
/** Keeping clear of liquidation takes no more of the way to it than this. */
export const MOST_CLEARANCE = 0.4;

/**
 * As asked for, but clear of liquidation by what mark and last price may differ: one triggers, the other liquidates.
 */
function clearShare(markPrice: DecimalString, liquidationPrice: DecimalString, at: number): number {
  const way = Math.abs(Number(markPrice) - Number(liquidationPrice));
  const clearance = (CRASH_BASIS * Number(liquidationPrice)) / way;
  return Math.min(at, 1 - Math.min(MOST_CLEARANCE, clearance));
}

/** At this share of the way from the mark to the liquidation price. */
function stopAt(markPrice: DecimalString, liquidationPrice: DecimalString, at: number): Decimal {
  const mark = toDecimal(markPrice);
  const share = decimalFromNumber(clearShare(markPrice, liquidationPrice, at));
  return mark.plus(toDecimal(liquidationPrice).minus(mark).times(share));
}

export function stopBlock(position: ReadPosition): BlockReason | undefined {
  if (position.disagreement) return 'disagreement';
  if (position.direction === null) return 'directionUnknown';
  if (position.markPrice === null) return 'markUnknown';
  return position.liquidationPrice === null ? 'liquidationPriceUnknown' : undefined;
}

/** The whole position, rounded up (the exchange trims it), or what the net exposure allows, rounded down. */
function stopAmount(
  position: ReadPosition,
  budget: Decimal | undefined,
  scene: SetScene,
): Decimal | undefined {
  const { market } = scene;
  const size = toDecimal(position.sizeBase);
  const step = toDecimal(market.amountStep);
  const least = leastAmount(market);
  if (budget === undefined) return roundToStep(maxDecimal(size, least), step, 'up');
  const allowed = roundToStep(minDecimal(size, maxDecimal(budget, ZERO)), step, 'down');
  return allowed.gte(least) ? allowed : undefined;
}

/** A liquidation price that moved by less than this share of the room it had leaves the stop where it is. */
const MOVED_SHARE = 0.05;
/** Tightened stops are placed beside the old ones; from this many on the market is cleaned up. */
const MAX_STANDING_STOPS = 3;

export interface JudgedCovers {
  readonly place: readonly Want[];
  readonly remove: readonly Removal[];
}

export const NOTHING: JudgedCovers = { place: [], remove: [] };

/** Whether no rule asks for less of a position, and none has since it began to fire. */
export function isAtRest({ positionId }: ReadPosition, { state }: SetScene): boolean {
  return !state.intents.some((intent) => intent.positionId === positionId);
}

/**
 * A stop is fixed when placed and changes only with size or liquidation price. Tighter: the new one first, beside the
 * old. Looser: the old one has to go.
 */
export function judgeCovers(stop: DesiredStop, own: readonly OwnOrder[], scene: SetScene): JudgedCovers {
  const latest = own.at(-1);
  if (latest === undefined) return placed(stop);
  const all = (why: Removal['why']): JudgedCovers => ({
    place: [],
    remove: own.map((order) => ({ order, why })),
  });
  if (own.length > MAX_STANDING_STOPS) return all('tooManyStops');
  const standing = outstandingBase(own);
  if (stop.mostStanding !== undefined && standing.gt(stop.mostStanding)) return all('exceedsNetExposure');
  const mayHaveVanished = latest.mayHaveVanished === true;
  if (latest.status === 'unsure' && (stop.isTrimmed || !mayHaveVanished)) return resend(stop, latest, scene);
  // After an outage, sent again and refused as used before, which its id was: another one goes beside it. Not where
  // stops cover a part only, as two of them could take too much.
  if (mayHaveVanished && stop.isTrimmed) return placed(stop);
  // Of what covers a part only, nothing can be placed beside it: it is replaced when the position is at rest.
  if (!stop.isTrimmed && !isAtRest(stop.position, scene) && isInside(latest, stop)) return NOTHING;
  if (liquidationMoved(stop, latest)) {
    const compared = compareTightness(stop.prices, latest);
    if (compared < 0) return isHeldTight(stop.position, scene) ? NOTHING : all('stopLoosened');
    if (compared === 0) return NOTHING;
    // Where the one that stands leaves no room for another, it has to go first.
    if (leavesNoRoom(scene)) return all('noRoom');
    return stop.isTrimmed ? placed(stop) : all('stopLoosened');
  }
  // A rounded-up amount may have been accepted as trimmed to the size.
  const needed = minDecimal(stop.amount, toDecimal(stop.position.sizeBase));
  if (toDecimal(latest.amount).lt(needed)) {
    return stop.isTrimmed ? placed(stop) : all('exceedsNetExposure');
  }
  return NOTHING;
}

/**
 * While rules reduce in a fast market no stop is taken down to stand farther away: the cancel leaves the position bare.
 * In a slower fall it is: where it was it would close what the reduction has saved.
 */
function isHeldTight(position: ReadPosition, scene: SetScene): boolean {
  const { direction, distance } = position;
  if (direction === null || typeof distance !== 'number' || isAtRest(position, scene)) return false;
  return speedTowards(direction, scene.state) * REPLACED_WITHIN_MS > distance;
}

function liquidationMoved(stop: DesiredStop, latest: OwnOrder): boolean {
  const { coverBasis } = latest;
  if (coverBasis === null) return true;
  const moved = Math.abs(Number(stop.basis.liquidationPrice) - Number(coverBasis.liquidationPrice));
  const isBeyond = !isInside(latest, stop);
  return isBeyond || moved > MOVED_SHARE * coverBasis.roomBase;
}

/** Whether the standing activation still lies before the liquidation price. */
function isInside(order: OwnOrder, stop: DesiredStop): boolean {
  const activation = toDecimal(order.request.activationPrice);
  const liquidation = toDecimal(stop.basis.liquidationPrice);
  return order.request.side === 'sell' ? activation.gt(liquidation) : activation.lt(liquidation);
}

/** Positive: the new prices activate nearer to the market than the order that stands. */
function compareTightness(prices: OrderPrices, latest: OwnOrder): number {
  const compared = toDecimal(prices.activationPrice).cmp(toDecimal(latest.request.activationPrice));
  return prices.side === 'sell' ? compared : -compared;
}

/** A stop in doubt is sent again under its own id while its activation is on the right side: it has not filled then. */
function resend(stop: DesiredStop, latest: OwnOrder, scene: SetScene): JudgedCovers {
  const offset = offsetFromActivation(latest, stop.position);
  const step = toDecimal(scene.market.priceStep);
  const hasArrived = latest.arrivedByMs <= scene.nowMs;
  if (!hasArrived || offset === undefined || offset.lt(step)) return NOTHING;
  return placed(stop, latest);
}

/** A stop that was to be placed beside the one that stands was refused for that a moment ago. */
export function leavesNoRoom({ state: { coverRoomTakenMs }, nowMs }: SetScene): boolean {
  return coverRoomTakenMs !== undefined && nowMs - coverRoomTakenMs <= PROOF_MS;
}

/** `resent`: the order that is sent again under its own id. It is what it was, placed for what it was placed for. */
function placed(stop: DesiredStop, resent: OwnOrder | null = null): JudgedCovers {
  const { cover } = stop;
  const want: Want = {
    role: 'cover',
    position: stop.position,
    amount: stop.amount,
    prices: stop.prices,
    slippage: stop.slippage,
    key: cover.key,
    ruleId: cover.ruleId,
    episode: cover.episode,
    stage: cover.stage,
    targetBase: ZERO,
    isTrimmed: stop.isTrimmed,
    coverBasis: resent === null ? stop.basis : resent.coverBasis,
    anchor: resent === null ? stop.anchor : null,
    resend: resent,
  };
  return { place: [want], remove: [] };
}
