import { type Decimal, minDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { BOOKS, transfer } from './ledger.ts';
import { directionOf, positionOf } from './margin.ts';
import { type BookLevel, crosses, firstFreeLevel, scheduleRenewal, takeDepth } from './market.ts';
import { cancel, finishOrder, orderFields, shelve } from './order-book.ts';
import { applyFill, attachTpsl, type PositionFill } from './positions.ts';
import { type ExchangeState, isOpen, type Market, type Order, record } from './state.ts';

/** Trades an active order against the book; a taker gets each level's price. Reduce-only is checked at each fill. */
export function matchOrder(world: ExchangeState, order: Order, role: 'taker' | 'maker'): void {
  while (isOpen(order)) {
    const level = firstFreeLevel(world, order);
    if (level === undefined) break;
    const wanted = fillable(order);
    if (wanted === undefined) {
      cancel(world, order, 'nothing to reduce');
      return;
    }
    fill(world, order, level, { amount: minDecimal(wanted, level.free), role });
  }
  if (isOpen(order) && crosses(order, bestOpposite(order))) scheduleRenewal(world, order.market);
}

function bestOpposite(order: Order): Decimal {
  return order.side === 'sell' ? order.market.bestBid : order.market.bestAsk;
}

/** How much of an order may fill now; `undefined` if it is reduce-only and nothing is left to reduce. */
function fillable(order: Order): Decimal | undefined {
  if (!order.closesOnly) return order.left;
  const position = positionOf(order);
  if (position === undefined || position.direction === directionOf(order.side)) return undefined;
  return minDecimal(order.left, position.size);
}

function fill(
  world: ExchangeState,
  order: Order,
  level: BookLevel,
  { amount, role }: Pick<PositionFill, 'amount' | 'role'>,
): void {
  const { account, market, side, positionSide } = order;
  const price = role === 'taker' || order.price.eq(ZERO) ? level.price : order.price;
  const feeRate = role === 'taker' ? order.takerFee : order.makerFee;
  const money = amount.times(price);
  takeDepth(market, side, level, amount);
  order.left = order.left.minus(amount);
  order.dealStock = order.dealStock.plus(amount);
  order.dealMoney = order.dealMoney.plus(money);
  order.dealFee = order.dealFee.plus(money.times(feeRate));
  if (order.left.eq(ZERO)) finishOrder(world, order, 'FILLED');
  else order.status = 'PARTIALLY_FILLED';
  const trade = { amount, price, feeRate, role };
  if (order.orderClass === 'spot') return spotFill(world, order, trade);
  applyFill(world, { account, market, side, positionSide, ...trade, kind: 'fill', order });
  attachTpsl(world, order);
}

function spotFill(
  world: ExchangeState,
  order: Order,
  { amount, price, feeRate, role }: Pick<PositionFill, 'amount' | 'price' | 'feeRate' | 'role'>,
): void {
  const { base, quote } = order.market.spec;
  const wallet = `spot:${order.account.id}`;
  const money = amount.times(price);
  const fee = money.times(feeRate);
  const [giver, taker] = order.side === 'buy' ? [BOOKS.counterparty, wallet] : [wallet, BOOKS.counterparty];
  record(world, 'fill', { ...orderFields(order), amount, price, fee, details: { role } }, [
    ...transfer(giver, taker, base, amount),
    ...transfer(taker, giver, quote, money),
    ...transfer(wallet, BOOKS.fees, quote, fee),
  ]);
}

/** Activates the stops that the price has reached, then fills resting orders that cross the book. */
export function matchMarket(world: ExchangeState, market: Market): void {
  if (market.status !== 'open') return;
  triggerStops(world, market, 'fall');
  triggerStops(world, market, 'rise');
  matchResting(world, market, 'sell');
  matchResting(world, market, 'buy');
}

function triggerStops(world: ExchangeState, market: Market, direction: 'rise' | 'fall'): void {
  const heap = market.stops[direction];
  for (let order = heap.peek(); order !== undefined; order = heap.peek()) {
    if (isOpen(order) && !isReached(world, order, direction)) return;
    heap.pop();
    if (isOpen(order)) activate(world, order);
  }
}

export function triggerPrice(world: ExchangeState, market: Market): Decimal {
  return world.readings.stopTriggerSource === 'mark' ? market.mark : market.last;
}

function isReached(world: ExchangeState, order: Order, direction: 'rise' | 'fall'): boolean {
  const price = triggerPrice(world, order.market);
  const activation = order.activationPrice ?? ZERO;
  if (price.eq(activation)) return world.readings.stopTriggersAtEquality === 'yes';
  return direction === 'rise' ? price.gt(activation) : price.lt(activation);
}

/** Turns a stop into a limit order (take profit and stop loss into a market order). */
export function activate(world: ExchangeState, order: Order): void {
  order.trigger = null;
  order.active = true;
  if (order.ofPosition !== null) {
    order.amount = order.ofPosition.size;
    order.left = order.amount;
  }
  const { last, mark } = order.market;
  record(world, 'stop_triggered', {
    ...orderFields(order),
    price: triggerPrice(world, order.market),
    details: { last, mark, activationPrice: order.activationPrice },
  });
  enterMatching(world, order);
}

export function enterMatching(world: ExchangeState, order: Order): void {
  matchOrder(world, order, 'taker');
  if (isOpen(order)) shelve(order);
}

function matchResting(world: ExchangeState, market: Market, side: 'buy' | 'sell'): void {
  const heap = market.resting[side];
  for (let order = heap.peek(); order !== undefined; order = heap.peek()) {
    if (isOpen(order)) {
      if (!crosses(order, bestOpposite(order))) return;
      matchOrder(world, order, 'maker');
      if (isOpen(order)) return;
    }
    heap.pop();
  }
}
