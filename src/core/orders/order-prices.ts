import type { BlockReason } from '../audit/audit-event.ts';
import type { OrderSide, ReduceOnlyStopRequest } from '../ports/exchange.ts';
import {
  type Decimal,
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  maxDecimal,
  minDecimal,
  ONE,
  roundToStep,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import type { Direction } from '../rules/subject.ts';

export type OrderPrices = Pick<ReduceOnlyStopRequest, 'side' | 'activationPrice' | 'price' | 'inFavour'>;

export type Shape =
  | { readonly ok: true; readonly prices: OrderPrices }
  | { readonly ok: false; readonly why: BlockReason };

export interface MarketView {
  readonly direction: Direction;
  readonly markPrice: DecimalString;
  /** Bound on the error of the mark price, same unit. */
  readonly markError: number;
}

export function reducingSide(direction: Direction): OrderSide {
  return direction === 'long' ? 'sell' : 'buy';
}

/** In a crash mark and last price differ by about this fraction of the price. */
export const CRASH_BASIS = 0.012;
/** The largest part of the way to liquidation that is spent on keeping clear of an end of it. */
const MOST_CLEARANCE = 0.4;

/** The part of a way between mark and liquidation price that a crash may make mark and last price differ by. */
export function crashShare(price: DecimalString | number, way: number): number {
  return Math.min(MOST_CLEARANCE, (CRASH_BASIS * Number(price)) / way);
}

/** How far from the mark an activation is certainly on the right side: price step, mark error and allowance. */
export function activationGap(view: Omit<MarketView, 'direction'>, market: MarketSettings): Decimal {
  const basis = toDecimal(view.markPrice).times(decimalFromNumber(market.basisAllowance));
  return toDecimal(market.priceStep).plus(decimalFromNumber(view.markError)).plus(basis);
}

/**
 * Shapes a stop next to the market: it activates once the market moves against the position by `gap`, with its limit
 * `slippage` further. The exchange infers the trigger from the side of the market: strictly below for a sell, above for
 * a buy.
 */
export function shapeReduce(
  view: MarketView,
  slippage: number,
  market: MarketSettings,
  gap: Decimal = activationGap(view, market),
): Shape {
  return shapeTowards({ ...view, towards: view.direction, gap }, slippage, market);
}

/** Shapes the same stop on the other side of the market, so that one of the two activates whichever way it moves. */
export function shapeInFavour(
  view: MarketView,
  slippage: number,
  market: MarketSettings,
  gap: Decimal,
): Shape {
  const shape = shapeTowards({ ...view, towards: opposite(view.direction), gap }, slippage, market);
  return shape.ok ? { ok: true, prices: { ...shape.prices, inFavour: true } } : shape;
}

/** `towards`: the direction of a position that the move to the activation would hurt. */
function shapeTowards(
  view: MarketView & { readonly towards: Direction; readonly gap: Decimal },
  slippage: number,
  market: MarketSettings,
): Shape {
  const { markPrice, markError, towards, gap } = view;
  if (markError > (slippage / 2) * Number(markPrice)) return { ok: false, why: 'markTooCoarse' };
  const wished = stepAway(away(towards, toDecimal(markPrice), gap), towards, market);
  const activation = inBand(wished, view, market);
  const left = away(opposite(towards), activation, toDecimal(market.priceStep)).minus(toDecimal(markPrice));
  if (towards === 'long' ? left.gt(ZERO) : left.lt(ZERO)) return { ok: false, why: 'priceBand' };
  const most = market.bounds?.mostSlippage ?? slippage;
  return withLimit(view, activation, Math.min(slippage, most), market);
}

/**
 * Shapes a stop by the liquidation price alone, for a margin call whose mark is unknown: the market has not passed that
 * price, so the activation just before it is on the right side.
 */
export function shapeBeforeLiquidation(
  { direction, liquidationPrice }: Pick<MarketView, 'direction'> & Pick<ProtectInputs, 'liquidationPrice'>,
  slippage: number,
  market: MarketSettings,
): Shape {
  const gap = activationGap({ markPrice: liquidationPrice, markError: 0 }, market);
  const clear = gap.plus(toDecimal(market.priceStep));
  const activation = away(opposite(direction), toDecimal(liquidationPrice), clear);
  return withLimit({ direction }, stepAway(activation, direction, market), slippage, market);
}

export function opposite(direction: Direction): Direction {
  return direction === 'long' ? 'short' : 'long';
}

export interface ProtectInputs {
  readonly liquidationPrice: DecimalString;
  /** Mark price when the stop was first placed; the stop stays in place while only the mark moves. */
  readonly anchor: DecimalString;
  /** Where between the anchor (0) and the liquidation price (1) it activates. */
  readonly at: number;
  readonly slippage: number;
  /** What a price band must leave of it, a share; absent: half. */
  readonly leastShare?: number;
}

/** Shapes a standing stop at `at` of the way from the anchor, strictly between mark and liquidation price. */
export function shapeProtect(
  view: MarketView,
  inputs: ProtectInputs,
  market: MarketSettings,
  gap: Decimal = activationGap(view, market),
): Shape {
  const mark = toDecimal(view.markPrice);
  const liquidation = toDecimal(inputs.liquidationPrice);
  const step = toDecimal(market.priceStep);
  const isLong = view.direction === 'long';
  const given = toDecimal(inputs.anchor);
  const anchor = (isLong ? given.gt(liquidation) : given.lt(liquidation)) ? given : mark;
  const wished = anchor.plus(liquidation.minus(anchor).times(decimalFromNumber(inputs.at)));
  const nearest = away(view.direction, mark, gap);
  const farEnough = isLong ? minDecimal(wished, nearest) : maxDecimal(wished, nearest);
  const activation = stepAway(farEnough, view.direction, market);
  const isInside = isLong ? activation.gte(liquidation.plus(step)) : activation.lte(liquidation.minus(step));
  if (!isInside) return { ok: false, why: 'noRoomForStop' };
  const shape = withLimit(view, activation, inputs.slippage, market);
  if (!shape.ok) return shape;
  // With next to no slippage within the band it would be jumped over: it waits until the market is nearer.
  return isTight(shape.prices, inputs.slippage, inputs.leastShare) ? { ok: false, why: 'priceBand' } : shape;
}

/** Whether a price band has left an order less than this share of its slippage. */
export function isTight(
  { price, activationPrice }: Pick<OrderPrices, 'price' | 'activationPrice'>,
  slippage: number,
  leastShare = WIDE_SHARE,
): boolean {
  const activation = toDecimal(activationPrice);
  const left = toDecimal(price).minus(activation).abs();
  return left.lt(activation.times(decimalFromNumber(slippage * leastShare)));
}

/** Positive: the prices activate nearer to the market than those of an order that stands. */
export function compareTightness(
  { side, activationPrice }: OrderPrices,
  standing: Pick<OrderPrices, 'activationPrice'>,
): number {
  const compared = toDecimal(activationPrice).cmp(toDecimal(standing.activationPrice));
  return side === 'sell' ? compared : -compared;
}

/** Whether prices only give the stop that stands more slippage. */
export function isWidening(
  prices: OrderPrices,
  standing: { readonly request: OrderPrices; readonly slippage: number } | undefined,
): boolean {
  if (standing === undefined || !isTight(standing.request, standing.slippage)) return false;
  return compareTightness(prices, standing.request) <= 0;
}

/** What a band must leave of a standing stop's slippage. */
const WIDE_SHARE = 0.5;
/**
 * The same where the only other choice is no stop. Of 5 % it is a little more than mark and last price differ by in a
 * crash: with less, a stop that the mark triggers may not fill.
 */
export const TIGHT_SHARE = 0.25;

function away(direction: Direction, price: Decimal, by: Decimal): Decimal {
  return direction === 'long' ? price.minus(by) : price.plus(by);
}

/** Rounds to the price step, away from the market. */
function stepAway(price: Decimal, direction: Direction, market: MarketSettings): Decimal {
  if (price.lte(ZERO)) return ZERO;
  return roundToStep(price, toDecimal(market.priceStep), direction === 'long' ? 'down' : 'up');
}

/** The price itself, or the nearest that the exchange takes at this mark. */
function inBand(
  price: Decimal,
  { markPrice }: Pick<MarketView, 'markPrice'>,
  market: MarketSettings,
): Decimal {
  const { lowestPart, highestPart } = market.bounds ?? {};
  const edge = (part: number, rounding: 'up' | 'down'): Decimal =>
    roundToStep(toDecimal(markPrice).times(decimalFromNumber(part)), toDecimal(market.priceStep), rounding);
  const raised = lowestPart === undefined ? price : maxDecimal(price, edge(lowestPart * (1 - NOISE), 'up'));
  return highestPart === undefined ? raised : minDecimal(raised, edge(highestPart * (1 + NOISE), 'down'));
}

/** A part is a double: times the mark it may miss the very price that it came from, which costs a whole step. */
const NOISE = 1e-12;

function withLimit(
  view: Pick<MarketView, 'direction'> & Partial<MarketView>,
  activation: Decimal,
  slippage: number,
  market: MarketSettings,
): Shape {
  const { direction, markPrice } = view;
  const factor = away(direction, ONE, decimalFromNumber(slippage));
  const wished = stepAway(activation.times(factor), direction, market);
  const price = markPrice === undefined ? wished : inBand(wished, { markPrice }, market);
  // Past its activation the market would have to come back to such a limit.
  if (direction === 'long' ? price.gt(activation) : price.lt(activation))
    return { ok: false, why: 'priceBand' };
  if (activation.lte(ZERO) || price.lte(ZERO)) return { ok: false, why: 'priceNotPositive' };
  return {
    ok: true,
    prices: {
      side: reducingSide(direction),
      activationPrice: formatDecimal(activation),
      price: formatDecimal(price),
    },
  };
}
