import { cancel, orderView } from './order-book.ts';
import { CODES, reject, worded } from './rejection.ts';
import { type Account, type ExchangeState, record } from './state.ts';
import type { OrderClass, OrderOutcome, OrderView, Outcome } from './types.ts';

/** Specification 4.6. The reading `cancelCoversStops` decides about stops that are not yet activated. */
export function cancelAllOrders(
  world: ExchangeState,
  account: Account,
  filter: { readonly market?: string; readonly types?: readonly OrderClass[] },
): Outcome<{ readonly cancelled: readonly OrderView[] }> {
  const { market, types } = filter;
  if (market !== undefined && (world.markets.get(market)?.status ?? 'delisted') === 'delisted')
    return worded(world.readings, reject(CODES.market, 'market', 'Market is not available'));
  const covered = [...account.openOrders.values()].filter(
    (order) =>
      (market === undefined || order.market.spec.name === market) &&
      (types === undefined || types.includes(order.orderClass)) &&
      (order.active || world.readings.cancelCoversStops === 'yes'),
  );
  if (covered.length === 0 && world.readings.cancelWithoutOrders === 'refused')
    return reject(CODES.nothingToCancel, 'orderId', 'Unexecuted order was not found.');
  for (const order of covered) cancel(world, order, 'cancelled by the customer');
  return { ok: true, cancelled: covered.map(orderView) };
}

export function cancelOne(world: ExchangeState, account: Account, orderId: number): OrderOutcome {
  const order = account.openOrders.get(orderId);
  if (order === undefined) return reject(CODES.validation, 'orderId', 'Order was not found');
  cancel(world, order, 'cancelled by the customer');
  return { ok: true, order: orderView(order) };
}

/** Specification 4.7; refused while collateral positions or orders are open. */
export function changeHedgeMode(
  world: ExchangeState,
  account: Account,
  hedgeMode: boolean,
): Outcome<{ readonly hedgeMode: boolean }> {
  const collateralOrders = [...account.openOrders.values()].some((order) => order.orderClass !== 'spot');
  if (hedgeMode !== account.hedgeMode && (collateralOrders || account.positions.size > 0))
    return reject(CODES.sideLocked, 'hedgeMode', 'Hedge mode cannot change with open positions or orders');
  account.hedgeMode = hedgeMode;
  record(world, 'hedge_mode', { accountId: account.id, details: { hedgeMode } });
  return { ok: true, hedgeMode };
}
