import type { BlockReason, RemovalReason } from '../audit/audit-event.ts';
import { asOneOrder, leastAmount } from '../intents/targets.ts';
import type { Cover, CoverAnchor, LaneState, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type Decimal,
  type DecimalString,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  roundToStep,
  toDecimal,
  toNumber,
  ZERO,
} from '../quantities/decimal.ts';
import type { OwnStop } from '../quantities/snapshot.ts';
import { isPassedOnArrival, stopGap } from './activation-gap.ts';
import { isOutOfBand } from './beside.ts';
import { isKnownById, PROOF_MS, REPLACED_WITHIN_MS } from './cancel-policy.ts';
import {
  activationGap,
  compareTightness,
  crashShare,
  isTight,
  type MarketView,
  shapeProtect,
  TIGHT_SHARE,
} from './order-prices.ts';
import { coverOrders, offsetFromActivation, outstandingBase, standsUnreached } from './outstanding.ts';
import type { Removal, SetScene, Want } from './want.ts';
import { nearestDistance, nearestLiquidation, speedTowards } from './way-to-liquidation.ts';

/** The one standing stop that a position should have, all its `protect` actions taken together. */
export interface DesiredStop extends Pick<Want, 'position' | 'amount' | 'prices' | 'slippage' | 'isTrimmed'> {
  readonly cover: Cover;
  /** The most that may stand; undefined: no bound. */
  readonly mostStanding: Decimal | undefined;
  readonly basis: NonNullable<OwnOrder['coverBasis']>;
  readonly anchor: CoverAnchor;
}

/** With both sides of a market open: what stops of a position may take away. */
export interface StopRoom {
  /** For a new stop. */
  readonly left: Decimal;
  /** For all standing stops; undefined: they cannot take too much. */
  readonly standing: Decimal | undefined;
}

export interface BlockedStop {
  readonly key: string;
  readonly blocked: BlockReason;
}

/** Returns our protective stops in a market. `confirmed`: of this epoch, certainly standing, and never reached. */
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

/** Returns our protective stops in all markets of an account, as far as its lanes know. */
export function ownStopsOf({
  lanes,
  epoch,
}: {
  readonly lanes: ReadonlyMap<string, LaneState>;
  readonly epoch: { readonly id: string };
}): readonly OwnStop[] {
  return [...lanes.values()].flatMap((lane) => standingStops(lane, epoch.id));
}

/** Returns the requested stop nearest to the market, for the whole position. `room`: left by the net exposure. */
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
  const isNew = coverOrders(scene.state, position).every(
    (order) => order.status === 'unsure' && isPassedOnArrival(order, position, scene),
  );
  const gap = isNew ? arrivalGap(position, view, liquidationPrice, scene) : undefined;
  let shape = shapeProtect(view, inputs, scene.market, gap);
  if (!shape.ok) shape = shapeProtect(view, inputs, scene.market);
  // A fast market may jump over it, which is still better than no stop.
  if (!shape.ok) shape = shapeProtect(view, { ...inputs, leastShare: TIGHT_SHARE }, scene.market);
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

/** How far from the mark a stop activates at least, so that it is not passed on arrival; clear of the liquidation. */
function arrivalGap(
  position: ReadPosition,
  view: MarketView,
  liquidationPrice: DecimalString,
  scene: SetScene,
): Decimal {
  const { direction, markPrice } = view;
  const left = toDecimal(markPrice).minus(toDecimal(liquidationPrice)).abs();
  const most = left.times(decimalFromNumber(clearShare(markPrice, liquidationPrice, 1)));
  const gap = minDecimal(stopGap({ ...position, markPrice }, direction, scene), most);
  return maxDecimal(gap, activationGap(view, scene.market));
}

/**
 * Returns the anchor of the first placement, so that the stop does not run away from the market. Returns a new anchor
 * if liquidation has come so near that the stop would lie at or past the market for that reason alone.
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

/** Returns `at`, clear of liquidation by what mark and last price differ: one triggers, the other liquidates. */
function clearShare(markPrice: DecimalString, liquidationPrice: DecimalString, at: number): number {
  const way = Math.abs(Number(markPrice) - Number(liquidationPrice));
  return Math.min(at, 1 - crashShare(liquidationPrice, way));
}

/** The price at this share of the way from the mark to the liquidation price. */
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

/** Returns the whole position, rounded up (the exchange trims it), or what the net exposure allows, rounded down. */
function stopAmount(
  position: ReadPosition,
  budget: Decimal | undefined,
  scene: SetScene,
): Decimal | undefined {
  const { market } = scene;
  const size = toDecimal(position.sizeBase);
  const step = toDecimal(market.amountStep);
  const least = leastAmount(market);
  if (budget === undefined) return asOneOrder(roundToStep(maxDecimal(size, least), step, 'up'), market);
  const allowed = asOneOrder(roundToStep(minDecimal(size, maxDecimal(budget, ZERO)), step, 'down'), market);
  return allowed.gte(least) ? allowed : undefined;
}

/** A stop stays where it is if liquidation has moved by at most this share of the room it had. */
const MOVED_SHARE = 0.05;
/** The same if there are more stops than are wanted and no cancel may be sent: few more are added. */
const CROWDED_MOVED_SHARE = 0.2;
/** Tightened stops are placed beside the old ones; if there are more than this, all are cancelled. */
const MAX_STANDING_STOPS = 3;

export interface JudgedCovers {
  readonly place: readonly Want[];
  readonly remove: readonly Removal[];
}

export const NOTHING: JudgedCovers = { place: [], remove: [] };

/** Whether no rule reduces a position, and none has since it began to fire. */
export function isAtRest({ positionId }: ReadPosition, { state }: SetScene): boolean {
  return !state.intents.some((intent) => intent.positionId === positionId);
}

/** Why a cancel re-sizes standing stops, and serves nothing else. */
export const RESIZES: ReadonlySet<string> = new Set<RemovalReason>([
  'stopLoosened',
  'tooManyStops',
  'noRoom',
]);
const RESIZED_EVERY_MS = 600_000;
/**
 * The same for a stop that lies beyond liquidation without room for another, and for one that a reduction has left
 * nearer to the market than this share of the way to liquidation.
 */
const NEAR_RESIZED_EVERY_MS = 60_000;
const NEAR_SHARE = 0.25;

/**
 * Why an order that should go is left until a cancel is needed anyway. `ownOrders`: nothing reduces its position, and
 * the cancel may take down orders of the owner. `resized`: the stops were re-sized a moment ago.
 */
export function whyLeft(
  { order, why }: Removal,
  { state, read, settings, nowMs }: Pick<SetScene, 'state' | 'read' | 'settings' | 'nowMs'>,
): 'ownOrders' | 'resized' | undefined {
  const position = findPosition(read, order.positionId);
  const intents = state.intents.filter(({ positionId }) => !position || positionId === order.positionId);
  const isIdle =
    why === 'positionGone'
      ? read.positions.length === 0 && hasProbablyFilled(order, state)
      : order.role === 'cover' || why === 'fillUnproven';
  const share = shareOfWay(order, position, state);
  if (!isIdle || why === 'exceedsNetExposure') return undefined;
  // What was to go while the position was reduced still goes.
  const isCalm = intents.length === 0 && order.unwantedSinceMs === undefined;
  const isBeyond = why === 'noRoom' && share >= 1;
  if (isCalm && settings.ownOrders === 'possible' && !isBeyond) return 'ownOrders';
  if (!RESIZES.has(why) || intents.some(({ source }) => source === 'operator')) return undefined;
  if (why === 'noRoom' && !isCalm) return undefined;
  const isSoon = isBeyond || (!isCalm && share < NEAR_SHARE);
  const everyMs = isSoon ? NEAR_RESIZED_EVERY_MS : RESIZED_EVERY_MS;
  return Math.abs(nowMs - (state.cancelledMs?.resize ?? Infinity)) < everyMs ? 'resized' : undefined;
}

/** How far a price may jump between two reads, a fraction. */
const JUMP = 0.05;

/** Whether a position that is gone had one order, for all of it, and a jump of the price may have reached that. */
function hasProbablyFilled(
  { positionId, amount, request }: OwnOrder,
  { absent = [], orders }: LaneState,
): boolean {
  const { markPrice, sizeBase } = absent.find((one) => one.positionId === positionId)?.last ?? {};
  const isAlone = orders.filter((other) => other.positionId === positionId).length === 1;
  if (!isAlone || markPrice === undefined || sizeBase === undefined) return false;
  const isNear = Math.abs(Number(request.activationPrice) / Number(markPrice) - 1) <= JUMP;
  return isNear && toDecimal(amount).gte(toDecimal(sizeBase));
}

/** Where an order activates between the mark (0) and liquidation (1); NaN if unknown. */
function shareOfWay(order: OwnOrder, position: ReadPosition | undefined, state: LaneState): number {
  const offset = position && offsetFromActivation(order, position);
  if (position === undefined || offset === undefined) return Number.NaN;
  const limit = nearestLiquidation(position, state) ?? Number.NaN;
  return toNumber(offset) / Math.abs(Number(position.markPrice) - Number(limit));
}

/**
 * Compares the desired stop with the standing ones. A stop changes only with size or liquidation price. A tighter one
 * is placed first, beside the old; for a looser one the old has to go first.
 */
export function judgeCovers(stop: DesiredStop, own: readonly OwnOrder[], scene: SetScene): JudgedCovers {
  const latest = own.at(-1);
  if (latest === undefined) return placed(stop);
  const all = (why: Removal['why']): JudgedCovers => ({
    place: [],
    remove: own.map((order) => ({ order, why })),
  });
  const isCrowded = own.length > MAX_STANDING_STOPS;
  if (isCrowded && whyLeft({ order: latest, why: 'tooManyStops' }, scene) === undefined)
    return all('tooManyStops');
  const standing = outstandingBase(own);
  if (stop.mostStanding !== undefined && standing.gt(stop.mostStanding)) return all('exceedsNetExposure');
  const isUnsure = latest.status === 'unsure';
  const isKnown = isKnownById(latest, scene.state);
  const isOut = isOutOfBand(latest, stop.position, scene.nowMs);
  const isMute = !isKnown || isOut;
  const mayHaveVanished = latest.mayHaveVanished === true || (isUnsure && isMute);
  if (isUnsure && !isMute && (stop.isTrimmed || !mayHaveVanished)) return resend(stop, latest, scene);
  // After an outage the stop was sent again and refused because its id is used, or it cannot be asked about: another
  // one goes beside it. Not if stops cover only a part, as two of them could take too much.
  if (mayHaveVanished && stop.isTrimmed) return isCrowded && isOut ? NOTHING : placed(stop);
  // Nothing can be placed beside a stop that covers only a part: it is replaced when the position is at rest.
  const { liquidationPrice } = stop.basis;
  if (!stop.isTrimmed && !isAtRest(stop.position, scene) && isInside(latest, liquidationPrice))
    return NOTHING;
  if (liquidationMoved(stop, latest, isCrowded ? CROWDED_MOVED_SHARE : MOVED_SHARE)) {
    const compared = compareTightness(stop.prices, latest.request);
    if (compared < 0) return isHeldTight(stop.position, scene) ? NOTHING : all('stopLoosened');
    if (compared === 0) return NOTHING;
    // If the standing stop leaves no room for another, it has to go first.
    if (leavesNoRoom(scene)) return all('noRoom');
    return stop.isTrimmed ? placed(stop) : all('noRoom');
  }
  // The exchange may have trimmed a rounded-up amount to the size.
  const needed = minDecimal(stop.amount, toDecimal(stop.position.sizeBase));
  if (toDecimal(latest.amount).lt(needed)) {
    return stop.isTrimmed ? placed(stop) : all('noRoom');
  }
  // A market that falls fast may jump over a stop that a price band left next to no slippage.
  const isWider = isTight(latest.request, latest.slippage) && !isTight(stop.prices, stop.slippage);
  return isWider && stop.isTrimmed && !isRefusedSince(latest, scene) ? placed(stop) : NOTHING;
}

/** A stop is in place: one with more slippage, refused since, is tried so rarely that reductions keep their sets. */
const WIDENED_EVERY_MS = 60_000;

function isRefusedSince({ sentMs }: OwnOrder, { state, nowMs }: SetScene): boolean {
  const refusedMs = Math.max(state.orderRefusedMs ?? 0, state.coverRoomTakenMs ?? 0);
  return refusedMs > sentMs && nowMs - refusedMs <= WIDENED_EVERY_MS;
}

/**
 * Whether a stop stays although it should stand farther away. While rules reduce in a fast market, the cancel would
 * leave the position bare. In a slower fall it is moved: it would close what the reduction has saved.
 */
function isHeldTight(position: ReadPosition, scene: SetScene): boolean {
  const { direction } = position;
  const distance = nearestDistance(position, scene.state);
  if (direction === null || distance === undefined || isAtRest(position, scene)) return false;
  return speedTowards(direction, scene.state) * REPLACED_WITHIN_MS > distance;
}

function liquidationMoved({ basis }: DesiredStop, latest: OwnOrder, share: number): boolean {
  const { coverBasis } = latest;
  if (coverBasis === null) return true;
  const moved = Math.abs(Number(basis.liquidationPrice) - Number(coverBasis.liquidationPrice));
  return !isInside(latest, basis.liquidationPrice) || moved > share * coverBasis.roomBase;
}

/** Whether the activation of a standing stop still lies before the liquidation price. */
function isInside(order: OwnOrder, liquidationPrice: DecimalString): boolean {
  const activation = toDecimal(order.request.activationPrice);
  const liquidation = toDecimal(liquidationPrice);
  return order.request.side === 'sell' ? activation.gt(liquidation) : activation.lt(liquidation);
}

/** Sends a stop in doubt again under its own id while its activation is on the right side: it has not filled then. */
function resend(stop: DesiredStop, latest: OwnOrder, scene: SetScene): JudgedCovers {
  const offset = offsetFromActivation(latest, stop.position);
  const step = toDecimal(scene.market.priceStep);
  const hasArrived = latest.arrivedByMs <= scene.nowMs;
  if (!hasArrived || offset === undefined || offset.lt(step)) return NOTHING;
  // Accepted on the wrong side it would take the room of what can still be reached.
  if (isPassedOnArrival(latest, stop.position, scene))
    return stop.isTrimmed && isAtRest(stop.position, scene) ? placed(stop) : NOTHING;
  return placed(stop, latest);
}

/** Whether a stop to be placed beside the standing one was refused for lack of room a moment ago. */
export function leavesNoRoom({ state: { coverRoomTakenMs }, nowMs }: SetScene): boolean {
  return coverRoomTakenMs !== undefined && nowMs - coverRoomTakenMs <= PROOF_MS;
}

/** `resent`: the order to send again under its own id; it keeps what it was placed for. */
function placed(stop: DesiredStop, resent: OwnOrder | null = null): JudgedCovers {
  const coverBasis = resent === null ? stop.basis : resent.coverBasis;
  const anchor = resent === null ? stop.anchor : null;
  return { place: [stopWant({ ...stop, coverBasis, anchor }, resent)], remove: [] };
}

type StopParts = Pick<
  Want,
  'position' | 'amount' | 'prices' | 'slippage' | 'isTrimmed' | 'coverBasis' | 'anchor'
> & { readonly cover: Cover };

/** A stop for a cover. */
export function stopWant(parts: StopParts, resend: OwnOrder | null = null): Want {
  const { cover, position, amount, prices, slippage, isTrimmed, coverBasis, anchor } = parts;
  const { key, ruleId, episode, stage } = cover;
  const asked = { role: 'cover', key, ruleId, episode, stage, targetBase: ZERO } as const;
  return { ...asked, position, amount, prices, slippage, isTrimmed, coverBasis, anchor, resend };
}
