import { decimal, formatDecimal } from '../../src/core/quantities/decimal.ts';
import { PROTECTED, TWIN } from '../../src/demo/accounts.ts';
import type { DemoSide } from '../../src/demo/result.ts';

const text = (amount: string) => formatDecimal(decimal(amount));

/** A protected account after a crash. */
export const SAVED: DemoSide = {
  id: PROTECTED,
  amountBefore: text('0.5'),
  amount: text('0.205'),
  distance: 0.06,
  state: 'ok',
  wasLiquidated: false,
  takenByExchange: text('0'),
  closedByOrders: text('0.295'),
  ordersPlaced: 1,
  requests: 1,
  openOrders: ['sell 0.122 at 50802.8'],
  equityBefore: text('3000'),
  equity: text('1730.56'),
  change: text('-1269.44'),
};

export const LOST: DemoSide = {
  ...SAVED,
  id: TWIN,
  amount: text('0.015'),
  distance: 0.03,
  state: 'liquidation',
  wasLiquidated: true,
  takenByExchange: text('0.485'),
  closedByOrders: text('0'),
  ordersPlaced: 0,
  requests: 0,
  openOrders: [],
  equity: text('240.64'),
  change: text('-2759.36'),
};
