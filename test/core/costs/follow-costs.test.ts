import { expect, test } from 'vitest';
import { type ActionCost, costFigures, type PendingCost } from '../../../src/core/costs/action-cost.ts';
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
  const pending: PendingCost = {
    cost: { ...COST, ...cost },
    positionId: '7',
    key: 'k',
    ruleId: 'near',
    passedLiquidation: false,
  };
  return { ...newLane('desk-1', 'BTC_PERP', 'e1', 0), costs: [pending] };
}

function scene(
  afterMs: number,
  mark: string | undefined,
  orders: readonly SpotOrderRecord[] = [],
): CostScene {
  const markOf = () => (mark === undefined ? undefined : text(mark));
  return { accountId: 'desk-1', nowMs: FILLED_MS + afterMs, markOf, orders };
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

test('the mark one hour after a fill decides what was kept; nothing is reported earlier', () => {
  expect(followCosts(laneWith(), scene(MS_PER_HOUR - 1, '59000'))).toBeUndefined();
  const { costs, lane } = told(laneWith(), scene(MS_PER_HOUR, '59000'));
  expect(costs).toMatchObject([
    { reason: 'hourLater', cost: { nextHour: { markPrice: '59000', passedLiquidation: false } } },
  ]);
  expect(costFigures(costs[0]?.cost ?? COST)).toEqual({
    slippage: null,
    slippageAtMost: 300,
    fee: 30,
    kept: 500,
  });
  expect(lane?.costs).toBeUndefined();
});

test('a short has the opposite signs', () => {
  const short = laneWith({ direction: 'short', limitPrice: text('60600'), liquidationPrice: text('62000') });
  const { costs } = told(short, scene(MS_PER_HOUR, '59000'));
  expect(costFigures(costs[0]?.cost ?? COST)).toMatchObject({ slippageAtMost: 300, kept: -500 });
});

test('without a mark it waits two minutes, then reports the result as unknown', () => {
  expect(followCosts(laneWith(), scene(MS_PER_HOUR + 120_000, undefined))).toBeUndefined();
  for (const mark of [undefined, '59000']) {
    const { costs } = told(laneWith(), scene(MS_PER_HOUR + 120_001, mark));
    expect(costs).toMatchObject([{ cost: { nextHour: { markPrice: null, passedLiquidation: null } } }]);
    expect(costFigures(costs[0]?.cost ?? COST).kept).toBeNull();
  }
});

test('a mark past the old liquidation price is remembered until the end', () => {
  const before = laneWith();
  const passed = followCosts(before, scene(60_000, '57999'))?.lane;
  expect(passed?.costs?.[0]?.passedLiquidation).toBe(true);
  expect(followCosts(passed ?? before, scene(120_000, '60000'))).toBeUndefined();
  const { costs } = told(passed ?? before, scene(MS_PER_HOUR, '60500'));
  expect(costs).toMatchObject([{ cost: { nextHour: { markPrice: '60500', passedLiquidation: true } } }]);
});

test('the exchange’s order history overrides the configured fee rate, and is reported once', () => {
  const { costs, lane } = told(laneWith(), scene(5_000, '59900', [RECORD]));
  expect(costs).toMatchObject([
    { reason: 'orderHistory', cost: { fill: { from: 'orderHistory' }, fee: { from: 'orderHistory' } } },
  ]);
  expect(costFigures(costs[0]?.cost ?? COST)).toMatchObject({ slippage: 75, slippageAtMost: 75, fee: 16.5 });
  expect(followCosts(lane ?? laneWith(), scene(6_000, '59900', [RECORD]))).toBeUndefined();
});

test('a fee in another asset is not counted as money, and an order without a deal is no fill', () => {
  const { costs } = told(laneWith(), scene(5_000, '59900', [{ ...RECORD, feeAsset: 'BNB' }]));
  expect(costs[0]?.cost?.fee).toEqual(COST.fee);
  const none = { ...RECORD, dealStock: text('0'), dealMoney: text('0') };
  expect(followCosts(laneWith(), scene(5_000, '59900', [none]))).toBeUndefined();
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
  const later = { ...COST, nextHour: { markPrice: text('59000'), passedLiquidation: true } };
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
      slippage: { known: 0, unknown: 1 },
      kept: { known: 500, unknown: 0 },
      averted: 1,
    },
    { money: 'EUR', fees: { known: 0, unknown: 1 }, averted: 0 },
  ]);
  expect(costTotals(actions).map(({ money }) => money)).toEqual(['USDT', 'EUR']);
});
