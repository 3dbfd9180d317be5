import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Decimal, decimal, formatDecimal, toNumber } from '../../../src/core/quantities/decimal.ts';
import { collateralOf, poolEquity, type ReportedPosition } from '../../../src/replay/positions/reading.ts';
import { defaultConfig } from '../../../src/simulator/defaults.ts';
import { createExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { SeedPosition } from '../../../src/simulator/model/types.ts';
import { runsOf } from '../../support/slice.ts';

const START_MS = 1_700_000_000_000;

const book = fc.record({
  collateral: fc.integer({ min: 5_000, max: 100_000 }),
  btc: fc.integer({ min: -500, max: 500 }).filter((size) => size !== 0),
  eth: fc.integer({ min: -900, max: 900 }).filter((size) => size !== 0),
  otherLeg: fc.integer({ min: 0, max: 200 }),
  move: fc.integer({ min: -40, max: 40 }),
});

function held(market: string, thousandths: number): SeedPosition {
  return {
    market,
    direction: thousandths > 0 ? 'long' : 'short',
    amount: decimal((Math.abs(thousandths) / 1000).toFixed(3)),
  };
}

describe('equity derived from liquidation prices', () => {
  test("equals the exchange's figure, and its collateral equals the deposits", () => {
    fc.assert(
      fc.property(book, ({ collateral, btc, eth, otherLeg, move }) => {
        const model = createExchangeModel(defaultConfig(1, START_MS));
        const legs = [held('BTC_PERP', btc), held('ETH_PERP', eth * 10)];
        if (otherLeg > 0) legs.push(held('BTC_PERP', -Math.sign(btc) * otherLeg));
        const paidIn: Decimal = decimal(String(collateral));
        model.createAccount({
          id: 'a',
          hedgeMode: true,
          leverage: 10,
          collateral: { USDT: paidIn },
          positions: legs,
        });
        model.setPrice('BTC_USDT', decimal(String(60_000 + move * 10)));
        const reported = model.openPositions('a').map(
          (view): ReportedPosition => ({
            market: view.market,
            side: view.direction,
            amount: formatDecimal(view.amount),
            entry: formatDecimal(view.basePrice),
            mark: toNumber(view.markPrice),
            liquidation: view.liquidationPrice === null ? 'none' : toNumber(view.liquidationPrice),
            maintenanceMargin: 0.03,
          }),
        );
        const { equity, liquidationState } = model.account('a') ?? fail();
        fc.pre(liquidationState === null && model.ledger({ kinds: ['liquidation'] }).length === 0);
        const found = poolEquity(reported);
        if (typeof found !== 'number') {
          expect(reported.every(({ liquidation }) => liquidation === 'none')).toBe(true);
          return;
        }
        // Liquidation prices are rounded to the price step.
        const size = reported.reduce((sum, { amount }) => sum + toNumber(amount), 0);
        expect(Math.abs(found - toNumber(equity))).toBeLessThan(0.1 * size + 0.01);
        expect(Math.abs(Number(collateralOf(found, reported)) - collateral)).toBeLessThan(0.1 * size + 0.01);
      }),
      { numRuns: runsOf(60) },
    );
  });
});

function fail(): never {
  throw new Error('no such account');
}
