import {
  type Decimal,
  decimal,
  decimalFromNumber,
  divide,
  formatDecimal,
  maxDecimal,
  minDecimal,
  ONE,
  roundToStep,
  ZERO,
} from '../../core/quantities/decimal.ts';
import { Heap } from './heap.ts';
import type { ExchangeState, Market, Order } from './state.ts';
import type { MarketSpec, Side } from './types.ts';

const HALF = decimal('0.5');

/** Order: market orders, then best price, then oldest first. */
function restingBefore(side: Side): (a: Order, b: Order) => boolean {
  return (a, b) => {
    if (a.price.eq(b.price)) return a.orderId < b.orderId;
    if (a.price.eq(ZERO) || b.price.eq(ZERO)) return a.price.eq(ZERO);
    return side === 'sell' ? a.price.lt(b.price) : a.price.gt(b.price);
  };
}

function stopBefore(trigger: 'rise' | 'fall'): (a: Order, b: Order) => boolean {
  return (a, b) => {
    const first = a.activationPrice ?? ZERO;
    const second = b.activationPrice ?? ZERO;
    if (first.eq(second)) return a.orderId < b.orderId;
    return trigger === 'rise' ? first.lt(second) : first.gt(second);
  };
}

export const NORMAL_BOOK: Market['thinness'] = { factor: ONE, spread: ZERO };
export const NO_SKEW: Market['skew'] = { from: ZERO, to: ZERO, startMs: 0, endMs: 0 };

export function createMarket(spec: MarketSpec): Market {
  const market: Market = {
    spec,
    status: 'open',
    haltEndMs: 0,
    thinness: NORMAL_BOOK,
    skew: NO_SKEW,
    orderClass: spec.kind === 'perpetual' ? 'futures' : 'margin',
    last: spec.price,
    mark: spec.price.plus(spec.basis),
    basis: spec.basis,
    fundingRate: spec.fundingRate,
    bestBid: ZERO,
    bestAsk: ZERO,
    source: null,
    followers: [],
    taken: { buy: new Map(), sell: new Map() },
    depthPeriod: 0,
    renewalScheduled: false,
    resting: { buy: new Heap(restingBefore('buy')), sell: new Heap(restingBefore('sell')) },
    stops: { rise: new Heap(stopBefore('rise')), fall: new Heap(stopBefore('fall')) },
    positions: new Set(),
    lowEdges: new Heap((a, b) => a.price > b.price),
    highEdges: new Heap((a, b) => a.price < b.price),
  };
  placeBook(market);
  return market;
}

/** Levels lie on a fixed price grid, so that taken depth stays taken if the price returns. */
function placeBook(market: Market): void {
  const { last, thinness } = market;
  const { levelStep, halfSpread: least } = market.spec.depth;
  const halfSpread = maxDecimal(least, last.times(thinness.spread).times(HALF));
  const below = last.minus(halfSpread);
  market.bestBid = below.gt(ZERO) ? roundToStep(below, levelStep, 'down') : ZERO;
  market.bestAsk = roundToStep(last.plus(halfSpread), levelStep, 'up');
}

/** Sets the price of the market and of its followers. Matching and risk checks follow in `settle`. */
export function movePrice(world: ExchangeState, market: Market, last: Decimal): void {
  market.last = last;
  remark(world, market);
  for (const follower of market.followers) {
    if (follower.source === null) movePrice(world, follower, last);
  }
}

/** Derives mark price and book from the last price and the conditions; does not affect followers. */
export function remark(world: ExchangeState, market: Market): void {
  market.mark = markOf(market, world.nowMs);
  if (market.mark.lte(ZERO)) market.mark = market.spec.priceStep;
  placeBook(market);
  world.dirtyMarkets.add(market);
}

function markOf({ last, basis, skew, spec }: Market, nowMs: number): Decimal {
  const mark = last.plus(basis);
  if (skew === NO_SKEW) return mark;
  return mark.plus(roundToStep(last.times(skewAt(skew, nowMs)), spec.priceStep, 'halfUp'));
}

const RATIO_PLACES = 12;

export function skewAt({ from, to, startMs, endMs }: Market['skew'], nowMs: number): Decimal {
  if (nowMs >= endMs) return to;
  const passed = to.minus(from).times(decimalFromNumber(nowMs - startMs));
  return from.plus(divide(passed, decimalFromNumber(endMs - startMs), RATIO_PLACES, 'halfUp'));
}

/** Replaces the spec and forgets taken depth, because its levels may have moved. */
export function changeSpec(market: Market, spec: MarketSpec): void {
  market.spec = spec;
  forgetTaken(market);
}

function forgetTaken({ taken }: Market): void {
  taken.buy.clear();
  taken.sell.clear();
}

export type MarketSheet = ReturnType<typeof marketView>;

export function marketView({ spec, status, last, mark, bestBid, bestAsk }: Market) {
  return { spec, status, last, mark, bid: bestBid, ask: bestAsk };
}

/** Whether the order may trade at the level; a market order always may. */
export function crosses(order: Order, level: Decimal): boolean {
  if (order.price.eq(ZERO)) return true;
  return order.side === 'sell' ? level.gte(order.price) : level.lte(order.price);
}

export interface BookLevel {
  readonly price: Decimal;
  readonly free: Decimal;
}

function renewDepth(world: ExchangeState, market: Market): void {
  const period = Math.floor(world.nowMs / market.spec.depth.renewMs);
  if (period === market.depthPeriod) return;
  market.depthPeriod = period;
  forgetTaken(market);
}

/** The first level with free depth that the order can trade with. */
export function firstFreeLevel(world: ExchangeState, order: Order): BookLevel | undefined {
  const { market, side } = order;
  renewDepth(world, market);
  const { levelStep, levels, amountPerLevel } = market.spec.depth;
  const { factor } = market.thinness;
  let price = side === 'sell' ? market.bestBid : market.bestAsk;
  for (let index = 0; index < levels && price.gt(ZERO) && crosses(order, price); index += 1) {
    const free = amountPerLevel.times(factor).minus(market.taken[side].get(formatDecimal(price)) ?? ZERO);
    if (free.gt(ZERO)) return { price, free };
    price = side === 'sell' ? price.minus(levelStep) : price.plus(levelStep);
  }
  return undefined;
}

export function takeDepth(market: Market, side: Side, level: BookLevel, amount: Decimal): void {
  const key = formatDecimal(level.price);
  market.taken[side].set(key, (market.taken[side].get(key) ?? ZERO).plus(minDecimal(amount, level.free)));
}

/** The price at the far end of the book: the worst that a market order can get. */
export function worstPrice(market: Market, side: Side): Decimal {
  const span = market.spec.depth.levelStep.times(decimalFromNumber(market.spec.depth.levels - 1));
  return side === 'buy' ? market.bestAsk.plus(span) : market.bestBid.minus(span);
}

/** Matches the market again when its depth is renewed, for orders that found too little of it. */
export function scheduleRenewal(world: ExchangeState, market: Market): void {
  if (market.renewalScheduled) return;
  market.renewalScheduled = true;
  const { renewMs } = market.spec.depth;
  world.agenda.schedule((Math.floor(world.nowMs / renewMs) + 1) * renewMs, () => {
    market.renewalScheduled = false;
    world.dirtyMarkets.add(market);
  });
}

const SCALE_PLACES = 18;

/** Returns the market at another price. Spread and depth in money stay the same relative to the price. */
export function atPrice(spec: MarketSpec, price: Decimal): MarketSpec {
  const { depth, priceStep, amountStep } = spec;
  if (price.eq(spec.price)) return spec;
  const ratio = divide(price, spec.price, SCALE_PLACES, 'halfUp');
  const scaled = (distance: Decimal): Decimal =>
    maxDecimal(priceStep, roundToStep(distance.times(ratio), priceStep, 'halfUp'));
  const levelStep = scaled(depth.levelStep);
  const widened = divide(levelStep, depth.levelStep, SCALE_PLACES, 'halfUp');
  const amount = divide(depth.amountPerLevel.times(widened), ratio.times(ratio), SCALE_PLACES, 'halfUp');
  const amountPerLevel = maxDecimal(amountStep, roundToStep(amount, amountStep, 'halfUp'));
  return {
    ...spec,
    price,
    depth: { ...depth, halfSpread: scaled(depth.halfSpread), levelStep, amountPerLevel },
  };
}
