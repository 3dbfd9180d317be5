import type { LaneState, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import type { OrderType } from '../ports/exchange.ts';
import {
  type Decimal,
  type DecimalString,
  divide,
  formatDecimal,
  maxDecimal,
  toDecimal,
  writtenDecimalPlaces,
  ZERO,
} from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { mayBeOthers, subsetOfSum } from './fill-match.ts';
import { activationGap, reducingSide } from './order-prices.ts';

/** Amount that orders may still take away, base currency. */
export function outstandingBase(
  orders: readonly OwnOrder[],
  matches: (order: OwnOrder) => boolean = () => true,
): Decimal {
  return orders.filter(matches).reduce((sum, order) => sum.plus(toDecimal(order.amount)), ZERO);
}

interface ReadScene {
  readonly settings: AccountSettings;
  readonly market: MarketSettings | undefined;
  readonly isAbsent: (positionId: string) => boolean;
  /** The read before it. */
  readonly before: MarketRead | null;
}

/**
 * Updates our orders from a read. A fall by exactly the amount of some orders counts these as filled. Any other fall
 * may be a partial fill or somebody else's: all orders stay in full and are marked ambiguous, to be replaced. A
 * position that is `isAbsent` is skipped.
 */
export function absorbRead(
  orders: readonly OwnOrder[],
  read: MarketRead,
  { settings, market, isAbsent, before }: ReadScene,
) {
  const filled = new Set<OwnOrder>();
  const moved = new Set<OwnOrder>();
  for (const positionId of new Set(orders.map((order) => order.positionId))) {
    if (isAbsent(positionId)) continue;
    const own = orders.filter((order) => order.positionId === positionId && !order.presumedFilled);
    const position = findPosition(read, positionId);
    const price = averageClosePrice(findPosition(before, positionId), position);
    const candidates = own.filter(
      (order) => mayHaveFilled(order, position, market) && isWithinLimit(order, price),
    );
    const passed = candidates.filter((order) => isPassed(order, position, market));
    const explained = explainFall({ own, candidates, passed }, sizeOf(position), settings);
    for (const order of explained.filled) filled.add(order);
    if (explained.unexplained) for (const order of own) if (!filled.has(order)) moved.add(order);
  }
  const remaining = orders
    .map((order) => ({
      ...order,
      placedSizeBase: sizeLeft(order, [...filled]),
      ambiguous: order.ambiguous || moved.has(order),
      presumedFilled: order.presumedFilled || filled.has(order),
    }))
    .map((order) => (isAbsent(order.positionId) ? order : witness(order, read, settings, market)))
    .filter((order) => !order.presumedFilled || isWithinReach(order, settings));
  return {
    orders: remaining,
    filled: [...filled],
    /** Orders newly marked ambiguous. */
    ambiguous: [...moved].filter((order) => !order.ambiguous),
  };
}

/** Subtracts the fills of other orders: a fall that they explain must not be explained again. */
function sizeLeft(order: OwnOrder, filled: readonly OwnOrder[]): DecimalString {
  const taken = outstandingBase(
    filled,
    (other) => other.positionId === order.positionId && other.request !== order.request,
  );
  return formatDecimal(maxDecimal(toDecimal(order.placedSizeBase).minus(taken), ZERO));
}

/** Subtracts a fill that the exchange has confirmed: our other orders need not explain that fall. */
export function afterFill(
  orders: readonly OwnOrder[],
  filled: OwnOrder,
  filledBase: Decimal,
): readonly OwnOrder[] {
  return orders.map((order) => {
    if (order.positionId !== filled.positionId) return order;
    const left = maxDecimal(toDecimal(order.baseSizeBase).minus(filledBase), ZERO);
    const amount = formatDecimal(filledBase);
    const placedSizeBase = sizeLeft(order, [{ ...filled, amount }]);
    return { ...order, placedSizeBase, baseSizeBase: formatDecimal(left) };
  });
}

/**
 * Whether a fall by the order's amount can pass for its fill: the mark must have been at the activation. Not if the
 * position is gone: it may have been closed otherwise. The order is cancelled then, as a stop left standing would hit
 * the next one.
 */
export function mayHaveFilled(
  order: OwnOrder,
  position: ReadPosition | undefined,
  market: MarketSettings | undefined,
): boolean {
  if (position === undefined || market === undefined || !isSentFor(order, position)) return false;
  if (order.activatedMs !== null) return true;
  const offset = offsetFromActivation(order, position);
  if (offset === undefined || position.markPrice === null) return false;
  // The exchange closes parts itself: only an order that the market has reached explains one.
  if (position.liquidationState === 'liquidation') return offset.lte(ZERO);
  const gap = activationGap({ markPrice: position.markPrice, markError: position.markError }, market);
  return offset.lt(gap);
}

/** A partial close realizes per unit the distance of its price from the entry price; undefined: not known. */
export function averageClosePrice(
  before: ReadPosition | undefined,
  now: ReadPosition | undefined,
): DecimalString | undefined {
  const { basePrice, realizedPnl: earlier, direction, sizeBase } = before ?? {};
  const { realizedPnl } = now ?? {};
  if (sizeBase === undefined || basePrice === undefined || earlier === undefined) return undefined;
  // Another entry price means another position.
  if (realizedPnl === undefined || now?.basePrice !== basePrice) return undefined;
  const fall = toDecimal(sizeBase).minus(toDecimal(now.sizeBase));
  if (fall.lte(ZERO)) return undefined;
  const places = Math.max(0, writtenDecimalPlaces(basePrice)) + PRICE_PLACES;
  const gained = divide(toDecimal(realizedPnl).minus(toDecimal(earlier)), fall, places, 'halfUp');
  const price = direction === 'long' ? toDecimal(basePrice).plus(gained) : toDecimal(basePrice).minus(gained);
  return price.gt(ZERO) ? formatDecimal(price) : undefined;
}

/** Digits of an average price beyond those of the base price. */
const PRICE_PLACES = 4;
/** The realized profit may contain fees: this fraction of the price. */
const FEES = 0.002;

/** False if a fall had a worse average price than the order allows: somebody else closed it, or a part of it. */
export function isWithinLimit({ request }: OwnOrder, price: DecimalString | undefined): boolean {
  if (price === undefined) return true;
  const worse = Number(request.price) - Number(price);
  return (request.side === 'sell' ? worse : -worse) <= FEES * Number(price);
}

function sizeOf(position: ReadPosition | undefined): Decimal {
  return position === undefined ? ZERO : toDecimal(position.sizeBase);
}

/** Our orders for one position. */
interface Explaining {
  readonly own: readonly OwnOrder[];
  readonly candidates: readonly OwnOrder[];
  /** Candidates whose activation the market has certainly passed. */
  readonly passed: readonly OwnOrder[];
}

function isPassed(
  order: OwnOrder,
  position: ReadPosition | undefined,
  market: MarketSettings | undefined,
): boolean {
  if (order.activatedMs !== null) return true;
  if (position === undefined || market === undefined) return false;
  const offset = offsetFromActivation(order, position);
  return offset !== undefined && isWellPast(offset, position, market);
}

function explainFall({ own, candidates, passed }: Explaining, size: Decimal, settings: AccountSettings) {
  const newest = own.at(-1);
  const base = newest === undefined ? size : toDecimal(newest.baseSizeBase);
  const fall = base.minus(size);
  if (fall.gt(ZERO)) {
    const subset = subsetOfSum(candidates, fall);
    const isCertain = subset !== undefined && !mayBeOthers(subset, passed, fall);
    if (isCertain && isConclusive(subset, own, settings)) {
      return { filled: subset, unexplained: false };
    }
  }
  if (settings.cancel === 'never') {
    return { filled: addedUp(own, candidates, size, settings), unexplained: false };
  }
  return { filled: [], unexplained: fall.gt(ZERO) };
}

/** Where nothing is cancelled, fills must add up to one order or to all; otherwise they may be another order's. */
function addedUp(
  own: readonly OwnOrder[],
  candidates: readonly OwnOrder[],
  size: Decimal,
  settings: AccountSettings,
): readonly OwnOrder[] {
  const fellBy = (order: OwnOrder, amount: Decimal): boolean =>
    toDecimal(order.placedSizeBase).minus(size).eq(amount);
  const whole = candidates.filter((order) => fellBy(order, toDecimal(order.amount)));
  if (whole.length === 1 && (settings.cancelCoversStops || own.length === 1)) return whole;
  const [first] = own;
  const isAll = first !== undefined && fellBy(first, outstandingBase(own));
  return isAll && candidates.length === own.length ? own : [];
}

/**
 * Whether a fall proves that orders filled: there is no other explanation among our own, or cancels reach all of them.
 * In that case they are cancelled before anything is placed on top.
 */
function isConclusive(
  subset: readonly OwnOrder[],
  own: readonly OwnOrder[],
  settings: AccountSettings,
): boolean {
  return subset.length === own.length || subset.every((order) => isWithinReach(order, settings));
}

/** Records on which sides of its activation the mark was certainly seen since the order arrived. */
function witness(
  order: OwnOrder,
  read: MarketRead,
  settings: AccountSettings,
  market: MarketSettings | undefined,
): OwnOrder {
  const position = findPosition(read, order.positionId);
  const baseSizeBase = formatDecimal(sizeOf(position));
  const offset = position === undefined ? undefined : offsetFromActivation(order, position);
  const isReached = offset !== undefined && offset.lte(ZERO);
  const reachedMs =
    offset === undefined ? order.reachedMs : isReached ? (order.reachedMs ?? read.sentAtMs) : null;
  const updated = { ...order, baseSizeBase, reachedMs };
  const isAfterArrival = read.sentAtMs - settings.readLagMs >= order.arrivedByMs;
  const mark = position?.markPrice ?? null;
  if (!isAfterArrival || mark === null || market === undefined) return updated;
  const gap = activationGap({ markPrice: mark, markError: position?.markError ?? 0 }, market);
  const distance = toDecimal(mark).minus(toDecimal(order.request.activationPrice));
  const seenAbove = order.seenAbove || distance.gte(gap);
  const seenBelow = order.seenBelow || distance.lte(gap.neg());
  const activatedMs = order.activatedMs ?? (seenAbove && seenBelow ? read.sentAtMs : null);
  return { ...updated, seenAbove, seenBelow, activatedMs };
}

/** Whether a cancel sent now would certainly remove the order, wherever it is. */
export function isRemovable(order: OwnOrder, settings: AccountSettings, nowMs: number): boolean {
  return isWithinReach(order, settings) && !mayArriveAfter(order, nowMs, settings);
}

/** Whether a cancel removes the order once it has arrived. */
function isWithinReach(order: OwnOrder, settings: AccountSettings): boolean {
  if (settings.cancel === 'never') return false;
  return settings.cancelCoversStops || activatedSince(order) !== null;
}

/** Since when an order was certainly activated; null for an inverted one, which waits for the market to come back. */
function activatedSince({ activatedMs, inverted }: OwnOrder): number | null {
  return inverted === true ? null : activatedMs;
}

interface SentCancelTypes {
  /** Absent: all. */
  readonly types: readonly OrderType[] | undefined;
  /** The types that our orders have at the exchange. */
  readonly ownTypes: readonly OrderType[];
  readonly cancelSentMs: number;
}

/** Returns our orders that may fill after a cancel of these types: not reached by it, or arriving later. */
export function afterCancel(
  orders: readonly OwnOrder[],
  { types, ownTypes, cancelSentMs }: SentCancelTypes,
  settings: AccountSettings,
): readonly OwnOrder[] {
  if (types !== undefined && !ownTypes.every((type) => types.includes(type))) return orders;
  return orders.flatMap((order) => {
    // An order that was sent twice may have stood, and may come again: a taken id then proves nothing.
    if (mayArriveAfter(order, cancelSentMs, settings))
      return [{ ...order, status: 'unsure', behindCancel: true }];
    if (settings.cancelCoversStops) return [];
    const activatedMs = activatedSince(order);
    return activatedMs === null || activatedMs > cancelSentMs ? [order] : [];
  });
}

/** Whether an order may arrive after a cancel. With increasing nonces it cannot: it is refused after the cancel. */
function mayArriveAfter(order: OwnOrder, cancelSentMs: number, settings: AccountSettings): boolean {
  return settings.nonceMode !== 'increasing' && order.arrivedByMs > cancelSentMs;
}

/** Whether an order was sent for this very position, not for an earlier one with the same id or the other side. */
export function isSentFor(order: OwnOrder, position: ReadPosition): boolean {
  const isSame =
    order.openDate === null || position.openDate === null || order.openDate === position.openDate;
  if (position.direction === null) return isSame;
  return isSame && order.request.side === reducingSide(position.direction);
}

/** Whether one of our stops, at least as large as this one, stands for the same position. */
export function standsAlready(state: LaneState, { positionId, amount }: OwnOrder): boolean {
  return state.orders.some(
    (other) =>
      other.role === 'cover' &&
      other.status === 'open' &&
      other.positionId === positionId &&
      toDecimal(other.amount).gte(toDecimal(amount)),
  );
}

/**
 * Whether orders that stand for certain are as large as the position. An exchange that refuses what does not fit has not
 * accepted another one then: neither before them, when it would have taken their room, nor after. Larger ones show that
 * it accepts what does not fit.
 */
export function leavesNoRoomFor({ positionId, placedSizeBase }: OwnOrder, state: LaneState): boolean {
  const position = findPosition(state.latestRead, positionId) ?? findPosition(state.read, positionId);
  if (position === undefined) return false;
  const isCertain = (other: OwnOrder): boolean =>
    standsUnreached(other) && !other.presumedFilled && isSentFor(other, position);
  const taken = outstandingBase(state.orders, (other) => other.positionId === positionId && isCertain(other));
  return taken.eq(maxDecimal(toDecimal(placedSizeBase), toDecimal(position.sizeBase)));
}

/** Whether nothing but a fill can have taken an order down. */
export function standsForCertain({ status, mayHaveVanished, ambiguous }: OwnOrder): boolean {
  return status === 'open' && mayHaveVanished !== true && !ambiguous;
}

/** Whether an order stands for certain, and the market has not been at its activation. */
export function standsUnreached(order: OwnOrder): boolean {
  return standsForCertain(order) && order.activatedMs === null && order.reachedMs === null;
}

export function coverOrders(state: LaneState, position: ReadPosition): readonly OwnOrder[] {
  return stopsOf(state, position.positionId).filter((order) => isSentFor(order, position));
}

/** Our stops under a position id, even if sent for an earlier position with that id. */
export function stopsOf({ orders }: LaneState, positionId: string): readonly OwnOrder[] {
  return orders.filter(
    (order) =>
      order.role === 'cover' &&
      order.trial !== true &&
      !order.presumedFilled &&
      order.positionId === positionId,
  );
}

/** Whether an order waits for the market to fall to its activation; otherwise it waits for a rise. */
export function waitsForFall({ side, inFavour }: Pick<OwnOrder['request'], 'side' | 'inFavour'>): boolean {
  return (side === 'sell') !== (inFavour === true);
}

/** How far the market is from an activation that it has not reached, in price; negative if it went past. */
export function offsetFromActivation(order: OwnOrder, position: ReadPosition): Decimal | undefined {
  if (position.markPrice === null) return undefined;
  const distance = toDecimal(position.markPrice).minus(toDecimal(order.request.activationPrice));
  return waitsForFall(order.request) ? distance : distance.neg();
}

/** Whether the market is certainly past an activation, even with the mark's error and the basis. */
export function isWellPast(offset: Decimal, position: ReadPosition, market: MarketSettings): boolean {
  if (position.markPrice === null) return false;
  return offset.lte(
    activationGap({ markPrice: position.markPrice, markError: position.markError }, market).neg(),
  );
}
