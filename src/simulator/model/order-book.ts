import { ZERO } from '../../core/quantities/decimal.ts';
import { type ExchangeState, isOpen, type Order, record } from './state.ts';
import type { OrderView } from './types.ts';

export function orderView(order: Order): OrderView {
  const {
    account,
    market,
    trigger: _trigger,
    closesOnly: _closesOnly,
    ofPosition: _ofPosition,
    ...rest
  } = order;
  return { accountId: account.id, ...rest, market: market.spec.name };
}

export function orderFields({ account, market, orderId, clientOrderId, side }: Order) {
  return { accountId: account.id, market: market.spec.name, orderId, clientOrderId, side };
}

type Ended = Exclude<Order['status'], 'NEW' | 'PARTIALLY_FILLED'>;

export function enterOrder(world: ExchangeState, order: Order, reason?: string): void {
  const { account } = order;
  world.orders.set(order.orderId, order);
  account.openOrders.set(order.orderId, order);
  if (order.clientOrderId !== '') account.usedClientOrderIds.add(order.clientOrderId);
  const { amount, price, type, orderClass, positionSide, reduceOnly, activationPrice, trigger } = order;
  const details = { type, orderClass, positionSide, reduceOnly, activationPrice, trigger };
  record(world, 'order_placed', { ...orderFields(order), amount, price, reason, details });
}

/** Queues an open order for matching: among the stops, or resting at its price. */
export function shelve(order: Order): void {
  if (order.trigger !== null) order.market.stops[order.trigger].push(order);
  else order.market.resting[order.side].push(order);
}

export function finishOrder(world: ExchangeState, order: Order, status: Ended): void {
  const { account } = order;
  order.status = status;
  order.finishedMs = orderTime(world);
  account.openOrders.delete(order.orderId);
  if (order.orderClass === 'spot' || world.readings.historyOrders === 'all') account.history.push(order);
  const position = order.ofPosition;
  if (position?.takeProfit === order) position.takeProfit = null;
  if (position?.stopLoss === order) position.stopLoss = null;
}

/** Reason of the exchange for cancelling orders that would grow what it liquidates. */
export const LIQUIDATION = 'liquidation';

export function cancel(world: ExchangeState, order: Order, reason: string): void {
  if (!isOpen(order)) return;
  const isLiquidation = reason === LIQUIDATION && world.readings.historyOrders === 'all';
  finishOrder(world, order, isLiquidation ? 'AUTO_CANCELED_LIQUIDATION' : 'CANCELLED');
  record(world, 'order_cancelled', { ...orderFields(order), amount: order.left, reason });
}

/** The current time with microseconds, as orders have in replies (specification 2.2). */
function orderTime(world: ExchangeState): number {
  const { nowMs, lastOrderMs } = world;
  const hasMovedOn = nowMs > lastOrderMs;
  // Orders of the same millisecond are a few microseconds apart.
  const passedUs = hasMovedOn ? world.micros.below(500) : Math.round((lastOrderMs - nowMs) * 1_000);
  const us = Math.min(999, passedUs + 1 + (hasMovedOn ? 0 : world.micros.below(5)));
  world.lastOrderMs = nowMs + us / 1_000;
  return world.lastOrderMs;
}

/** Missing fields default to a plain market order; the caller cannot set id, state, deals and fees. */
export type NewOrder = Partial<Order> &
  Pick<Order, 'account' | 'market' | 'orderClass' | 'type' | 'side' | 'amount'>;

export function createOrder(world: ExchangeState, fields: NewOrder): Order {
  const { account, market, orderClass, type, side, amount, ...options } = fields;
  const orderId = world.nextOrderId;
  world.nextOrderId += 1;
  return {
    account,
    clientOrderId: '',
    market,
    orderClass,
    type,
    side,
    positionSide: 'BOTH',
    reduceOnly: false,
    closesOnly: false,
    amount,
    price: ZERO,
    activationPrice: null,
    trigger: null,
    ofPosition: null,
    postOnly: false,
    ioc: false,
    oto: null,
    ...options,
    orderId,
    left: amount,
    active: (options.trigger ?? null) === null,
    status: 'NEW',
    dealStock: ZERO,
    dealMoney: ZERO,
    dealFee: ZERO,
    takerFee: market.spec.takerFee,
    makerFee: market.spec.makerFee,
    feeAsset: market.spec.quote,
    createdMs: orderTime(world),
    finishedMs: null,
  };
}
