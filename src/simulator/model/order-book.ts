import { formatDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { type Account, type ExchangeState, isOpen, type Order, record } from './state.ts';
import type { OrderView } from './types.ts';

export function orderView(order: Order): OrderView {
  const { trigger: _trigger, closesOnly: _closesOnly, ofPosition: _ofPosition, market, ...rest } = order;
  return { ...rest, market: market.spec.name };
}

/** What the ledger says of every entry about an order. */
export function orderFields(order: Order): {
  accountId: string;
  market: string;
  orderId: number;
  clientOrderId: string;
  side: Order['side'];
} {
  return {
    accountId: order.accountId,
    market: order.market.spec.name,
    orderId: order.orderId,
    clientOrderId: order.clientOrderId,
    side: order.side,
  };
}

/** FieldCache an order as open and writes it down. */
export function enterOrder(world: ExchangeState, order: Order, reason?: string): void {
  const account = accountOf(world, order);
  world.orders.set(order.orderId, order);
  account.openOrders.set(order.orderId, order);
  if (order.clientOrderId !== '') account.usedClientOrderIds.add(order.clientOrderId);
  record(world, 'order_placed', {
    ...orderFields(order),
    amount: formatDecimal(order.amount),
    price: formatDecimal(order.price),
    ...(reason === undefined ? {} : { reason }),
    details: {
      type: order.type,
      orderClass: order.orderClass,
      positionSide: order.positionSide,
      reduceOnly: order.reduceOnly,
      activationPrice: order.activationPrice === null ? null : formatDecimal(order.activationPrice),
      trigger: order.trigger,
    },
  });
}

/** Puts an open order where matching finds it: among the stops, or resting at its price. */
export function shelve(order: Order): void {
  if (order.trigger !== null) order.market.stops[order.trigger].push(order);
  else order.market.resting[order.side].push(order);
}

export function finishOrder(world: ExchangeState, order: Order, status: 'FILLED' | 'CANCELLED'): void {
  const account = accountOf(world, order);
  order.status = status;
  order.finishedMs = orderTime(world);
  account.openOrders.delete(order.orderId);
  if (order.orderClass === 'spot') account.spotHistory.push(order);
  detachTpsl(order);
}

function detachTpsl(order: Order): void {
  const position = order.ofPosition;
  if (position === null) return;
  if (position.takeProfit === order) position.takeProfit = null;
  if (position.stopLoss === order) position.stopLoss = null;
}

export function cancel(world: ExchangeState, order: Order, reason: string): void {
  if (!isOpen(order)) return;
  finishOrder(world, order, 'CANCELLED');
  record(world, 'order_cancelled', { ...orderFields(order), amount: formatDecimal(order.left), reason });
}

function accountOf(world: ExchangeState, order: Order): Account {
  const account = world.accounts.get(order.accountId);
  if (account === undefined) throw new Error(`order ${order.orderId} of an unknown account`);
  return account;
}

/** The present with microseconds, which orders have in replies (specification 2.2). */
function orderTime(world: ExchangeState): number {
  const { nowMs, lastOrderMs } = world;
  const hasMovedOn = nowMs > lastOrderMs;
  // Within one millisecond the exchange takes a few microseconds for each order.
  const passedUs = hasMovedOn ? world.micros.below(500) : Math.round((lastOrderMs - nowMs) * 1_000);
  const us = Math.min(999, passedUs + 1 + (hasMovedOn ? 0 : world.micros.below(5)));
  world.lastOrderMs = nowMs + us / 1_000;
  return world.lastOrderMs;
}

export type NewOrder = Omit<
  Order,
  | 'orderId'
  | 'left'
  | 'status'
  | 'dealStock'
  | 'dealMoney'
  | 'dealFee'
  | 'takerFee'
  | 'makerFee'
  | 'feeAsset'
  | 'createdMs'
  | 'finishedMs'
  | 'active'
>;

export function createOrder(world: ExchangeState, fields: NewOrder): Order {
  const { spec } = fields.market;
  const orderId = world.nextOrderId;
  world.nextOrderId += 1;
  return {
    ...fields,
    orderId,
    left: fields.amount,
    active: fields.trigger === null,
    status: 'NEW',
    dealStock: ZERO,
    dealMoney: ZERO,
    dealFee: ZERO,
    takerFee: spec.takerFee,
    makerFee: spec.makerFee,
    feeAsset: spec.quote,
    createdMs: orderTime(world),
    finishedMs: null,
  };
}
