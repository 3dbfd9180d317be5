import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import { noteFills } from '../../../src/core/costs/note-fills.ts';
import { type LaneState, newLane, type ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';

const text = (value: string): DecimalString => value as DecimalString;
const SETTINGS = {
  marketSettings: () => ({
    amountStep: '0.001',
    priceStep: '0.1',
    minAmount: '0.001',
    maintenanceMargin: 0.03,
    basisAllowance: 0.001,
  }),
} as unknown as AccountSettings;

function position(size: string, mark: string, pnl = '0'): ReadPosition {
  return {
    positionId: '7',
    positionSide: 'LONG',
    openDate: 1,
    direction: 'long',
    sizeBase: text(size),
    markPrice: text(mark),
    markError: 0,
    liquidationPrice: text('54000'),
    distance: 0.1,
    liquidationState: 'none',
    disagreement: false,
    basePrice: text('60000'),
    realizedPnl: text(pnl),
    fenceRisk: null,
  };
}

const STOP = {
  role: 'cover',
  key: 'k',
  ruleId: 'stop',
  positionId: '7',
  openDate: 1,
  request: { clientOrderId: 'bw.1', side: 'sell', activationPrice: '55000', price: '53000' },
  amount: '1',
  presumedFilled: false,
  activatedMs: null,
} as unknown as OwnOrder;

const read = (sentAtMs: number, ...positions: readonly ReadPosition[]) => ({
  sentAtMs,
  receivedAtMs: sentAtMs + 10,
  positions,
});
const lane = (more: Partial<LaneState>): LaneState => ({ ...newLane('desk-1', 'BTC_PERP', 'e', 0), ...more });

function priced(before: ReadPosition, after: ReadPosition | undefined, order: OwnOrder) {
  const audit = recorder('desk-1', 'BTC_PERP', 2_000);
  const earlier = lane({ orders: [order], read: read(1_000, before) });
  const later = lane({ orders: [order], read: read(2_000, ...(after === undefined ? [] : [after])) });
  const noted = noteFills(earlier, later, { settings: SETTINGS, nowMs: 2_000, audit });
  return { noted, costs: audit.events.flatMap(({ cost }) => cost ?? []) };
}

test("an owner's sale is not taken for a fill of a stop that is far away", () => {
  for (const after of [position('0.4', '59900', '-60'), undefined]) {
    const { noted, costs } = priced(position('1', '60000'), after, STOP);
    expect(costs).toEqual([]);
    expect(noted.costs).toBeUndefined();
  }
});

test('a stop that the market reached is priced by its activation and its realized PnL', () => {
  const { noted, costs } = priced(position('1', '55020'), position('0.4', '54900', '-3012'), STOP);
  expect(costs).toMatchObject([
    {
      role: 'cover',
      amountBase: '0.6',
      decidedPrice: '55000',
      limitPrice: '53000',
      fill: { price: '54980', from: 'realizedPnl' },
      fee: null,
      liquidationPrice: '54000',
    },
  ]);
  expect(noted.costs).toHaveLength(1);
});

test('an order for a position that was rebuilt under the same id closes nothing of the new one', () => {
  const older = { ...STOP, openDate: 0.5 };
  expect(priced(position('1', '55020'), position('0.4', '54900', '-3012'), older).costs).toEqual([]);
});

test('the fill price is unknown if the exchange liquidates, or if more is gone than our order could take', () => {
  const liquidating = { ...position('0.4', '54000', '-3012'), liquidationState: 'liquidation' as const };
  expect(priced(position('1', '55020'), liquidating, STOP).costs).toMatchObject([{ fill: null }]);
  const small = { ...STOP, amount: text('0.2') };
  expect(priced(position('1', '55020'), position('0.4', '54900', '-3012'), small).costs).toMatchObject([
    { amountBase: '0.2', fill: null },
  ]);
});
