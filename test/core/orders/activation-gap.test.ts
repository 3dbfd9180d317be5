import { expect, test } from 'vitest';
import { type LaneState, newLane } from '../../../src/core/lanes/lane-state.ts';
import { marketRead } from '../../../src/core/lanes/market-read.ts';
import { placingGap } from '../../../src/core/orders/activation-gap.ts';
import { type DecimalString, decimal } from '../../../src/core/quantities/decimal.ts';
import { MARKET, market, readAt, readPositionOf, settings } from '../lanes/fixtures.ts';

const NOW_MS = 100_000;
const STILL = [
  { atMs: NOW_MS - 1_000, mark: 1_000 },
  { atMs: NOW_MS, mark: 1_000 },
];

/** For a long of 1 at 1000, the gap of an order for `amount`. */
function gapOf(
  amount: string,
  { liquidation = '950', marks = STILL, ...changed }: Partial<LaneState> & { liquidation?: string } = {},
): string {
  const position = readPositionOf({ liquidationPrice: liquidation as DecimalString });
  const read = marketRead(readAt(NOW_MS, position), MARKET);
  const scene = {
    state: { ...newLane('desk', MARKET, 'epoch', 0), marks, ...changed },
    read,
    admitted: { intents: [], covers: [] },
    market: { ...market, priceStep: '0.1' as DecimalString, basisAllowance: 0.001 },
    settings: { ...settings, readLagMs: 0 },
    nowMs: NOW_MS,
    mayCancel: true,
  };
  const priced = { ...position, markPrice: '1000' as DecimalString };
  return placingGap(priced, 'long', scene, decimal(amount)).toString();
}

test('in a still market most of a position goes as far out as a first inversion would teach, a part of it does not', () => {
  expect(gapOf('0.6')).toBe('12.1');
  expect(gapOf('0.5')).toBe('1.1');
});

test('it takes at most a third of the distance to liquidation', () => {
  expect(gapOf('1', { liquidation: '985' })).toMatch(/^(4.99999|5$)/u);
  expect(gapOf('1', { liquidation: '999' })).toBe('1.1');
});

test('the nearer joint liquidation bounds it too', () => {
  const jointLimits = [{ positionId: '42', liquidationPrice: '985' as DecimalString, atMs: NOW_MS }];
  expect(gapOf('1', { jointLimits })).toMatch(/^(4.99999|5$)/u);
});

test('a market that moves, or of which one mark is known, has the usual gap', () => {
  expect(gapOf('1', { marks: [{ atMs: NOW_MS - 1_000, mark: 999 }, ...STILL.slice(1)] })).toBe('1.1');
  expect(gapOf('1', { marks: STILL.slice(1) })).toBe('1.1');
});
