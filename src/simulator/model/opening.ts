import { canOpen, freeMargin, marginSums, positionKey } from './margin.ts';
import type { Account, ExchangeState, Order } from './state.ts';

/** Reserves ids for positions that open orders are about to open, if the readings list them. */
export function reserveIds(world: ExchangeState, account: Account): void {
  if (world.readings.openingPositions !== 'listed') return;
  for (const [key] of openers(account)) {
    if (account.openingIds.has(key)) continue;
    const known = world.readings.positionIds === 'reused' ? account.positionIds.get(key) : undefined;
    account.openingIds.set(key, known ?? world.nextPositionId);
    if (known === undefined) world.nextPositionId += 1;
  }
}

export type OpeningSheet = ReturnType<typeof openingViews>[number];

/** Positions that open orders are about to open: only id, market and side are known yet. */
export function openingViews(world: ExchangeState, account: Account, market?: string) {
  if (world.readings.openingPositions !== 'listed') return [];
  const first = [...openers(account)].filter(
    ([, order]) => market === undefined || order.market.spec.name === market,
  );
  if (first.length === 0) return [];
  const free = freeMargin(world, account, marginSums(world, account.unit).equity);
  return first.flatMap(([key, order]) => {
    const positionId = account.openingIds.get(key);
    if (positionId === undefined) return [];
    const { positionSide, createdMs } = order;
    return [
      { positionId, market: order.market.spec.name, positionSide, openMs: createdMs, freeMargin: free },
    ];
  });
}

/** The first open order of each position that does not exist yet. */
function openers(account: Account): ReadonlyMap<string, Order> {
  const first = new Map<string, Order>();
  for (const order of account.openOrders.values()) {
    if (!canOpen(order)) continue;
    const key = positionKey(order.market, order.positionSide);
    if (!account.positions.has(key) && !first.has(key)) first.set(key, order);
  }
  return first;
}
