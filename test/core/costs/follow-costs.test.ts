import { expect, test } from 'vitest';
import { type ActionCost, costFigures, type RecentCost } from '../../../src/core/costs/action-cost.ts';
import { costRows, costTotals, pricedActions } from '../../../src/core/costs/cost-report.ts';
import { type CostScene, followCosts } from '../../../src/core/costs/follow-costs.ts';
import { type LaneState, newLane } from '../../../src/core/lanes/lane-state.ts';
import type { SpotOrderRecord } from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { MS_PER_HOUR } from '../../../src/core/quantities/units.ts';

const text = (value: string): DecimalString => value as DecimalString;
const FILLED_MS = 1_000_000;

const COST: ActionCost = {
  id: 'bw.1@1000000',
  clientOrderId: 'bw.1',
  role: 'reduce',
  direction: 'long',
  amountBase: text('0.5'),
  money: 'USDT',
  filledMs: FILLED_MS,
  decidedPrice: text('60000'),
  limitPrice: text('59400'),
  fill: null,
  fee: { from: 'config', rate: 0.001 },
  liquidationPrice: text('58000'),
};

function laneWith(cost: Partial<ActionCost> = {}): LaneState {
  const recent: RecentCost = {
    cost: { ...COST, ...cost },
    positionId: '7',
    key: 'k',
    ruleId: 'near',
  };
  return { ...newLane('desk-1', 'BTC_PERP', 'e1', 0), costs: [recent] };
}

function scene(afterMs: number, orders: readonly SpotOrderRecord[] = []): CostScene {
  return { accountId: 'desk-1', nowMs: FILLED_MS + afterMs, orders };
}

const RECORD: SpotOrderRecord = {
  market: 'BTC_PERP',
  orderId: '1',
  clientOrderId: 'bw.1',
  side: { known: true, value: 'sell' },
  type: 'stop limit',
  status: { known: true, value: 'FILLED' },
  amount: text('0.5'),
  ctime: 1,
  dealStock: text('0.5'),
  dealMoney: text('29925'),
  dealFee: text('16.5'),
};

function told(lane: LaneState, at: CostScene) {
  const followed = followCosts(lane, at);
  return { ...followed, costs: followed?.events.map(({ reason, cost }) => ({ reason, cost })) ?? [] };
}

test('a short has the opposite signs', () => {
  const long = { ...COST, fill: { price: text('59900'), from: 'realizedPnl' as const } };
  expect(costFigures(long)).toEqual({ slippage: 50, slippageAtMost: 50, fee: 29.95 });
  const short = { ...long, direction: 'short' as const, limitPrice: text('60600') };
  expect(costFigures(short)).toMatchObject({ slippage: -50 });
  expect(costFigures({ ...short, fill: null })).toMatchObject({ slippage: null, slippageAtMost: 300 });
});

test('a fill is forgotten after an hour without another record, even one that an older version stored', () => {
  const lane = laneWith();
  const stored = lane.costs?.map((recent) => ({ ...recent, passedLiquidation: true })) ?? [];
  for (const before of [lane, { ...lane, costs: stored }]) {
    expect(followCosts(before, scene(MS_PER_HOUR - 1))).toBeUndefined();
    const followed = followCosts(before, scene(MS_PER_HOUR));
    expect(followed?.events).toEqual([]);
    expect(followed?.lane).not.toHaveProperty('costs');
  }
});

test('the exchange’s order history overrides the configured fee rate, and is reported once', () => {
  const { costs, lane } = told(laneWith(), scene(5_000, [RECORD]));
  expect(costs).toMatchObject([
    { reason: 'orderHistory', cost: { fill: { from: 'orderHistory' }, fee: { from: 'orderHistory' } } },
  ]);
  expect(costFigures(costs[0]?.cost ?? COST)).toMatchObject({ slippage: 75, slippageAtMost: 75, fee: 16.5 });
  expect(followCosts(lane ?? laneWith(), scene(6_000, [RECORD]))).toBeUndefined();
});

test('a fee in another asset is not counted as money, and an order without a deal is no fill', () => {
  const { costs } = told(laneWith(), scene(5_000, [{ ...RECORD, feeAsset: 'BNB' }]));
  expect(costs[0]?.cost?.fee).toEqual(COST.fee);
  const none = { ...RECORD, dealStock: text('0'), dealMoney: text('0') };
  expect(followCosts(laneWith(), scene(5_000, [none]))).toBeUndefined();
});

test('a report takes the last record of each fill in the period, and counts unknown figures', () => {
  const action = (cost: ActionCost) => ({
    content: {
      kind: 'action' as const,
      event: {
        kind: 'priced' as const,
        atMs: 0,
        accountId: 'desk-1',
        market: 'BTC_PERP',
        ruleId: 'near',
        reason: '',
        words: '',
        alarm: false,
        cost,
      },
    },
  });
  const later = { ...COST, fill: { price: text('59900'), from: 'orderHistory' as const } };
  const other = { ...COST, id: 'other', money: 'EUR', fee: null };
  const early = { ...COST, id: 'early', filledMs: 10 };
  const records = [action(early), action(COST), action(later), action(other)];
  const actions = pricedActions(records, { fromMs: 1_000, toMs: FILLED_MS + 1 });
  expect(actions.map(({ cost }) => cost.id)).toEqual([COST.id, 'other']);
  expect(costRows(actions)).toMatchObject([
    {
      ruleId: 'near',
      money: 'USDT',
      orders: 1,
      slippage: { known: 50, unknown: 0 },
    },
    { money: 'EUR', fees: { known: 0, unknown: 1 } },
  ]);
  expect(costTotals(actions).map(({ money }) => money)).toEqual(['USDT', 'EUR']);
});
