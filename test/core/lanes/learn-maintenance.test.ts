import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { marketOf } from '../../../src/core/orders/market-steps.ts';
import { at, Driver } from './driver.ts';

const EQUITY = 60;
const MARK = 1_000;

/** A long whose liquidation price follows from a maintenance rate, with this equity at this mark. */
function long(size: number, rate: number, mark = MARK, equity = EQUITY) {
  // size * (mark - L) + rate * size * L = equity
  const liquidation = (mark - equity / size) / (1 - rate);
  return at({ size: size.toFixed(3), mark: String(mark), liquidation: liquidation.toFixed(2) });
}

function learned(...reads: ReturnType<typeof at>[]): Driver {
  const driver = new Driver();
  for (const read of reads) driver.later(1_000).read(read);
  return driver;
}

const rateIn = (driver: Driver): number | undefined =>
  marketOf(driver.state, driver.context.settings)?.maintenanceMargin;

const told = (driver: Driver): string[] => driver.reasons('maintenanceDiffers');

describe('a maintenance rate or leverage tier that differs from the config', () => {
  test('a higher rate is inferred from successive liquidation prices, alarmed once, and used', () => {
    const driver = learned(long(1, 0.06), long(0.8, 0.06), long(0.6, 0.06), long(0.4, 0.06));
    expect(told(driver)).toEqual(['higher']);
    expect(driver.events.find(({ kind }) => kind === 'maintenanceDiffers')?.alarm).toBe(true);
    expect(rateIn(driver)).toBeGreaterThan(0.055);
    expect(rateIn(driver)).toBeLessThan(0.065);
  });

  test('a lower rate is reported, but the worse one of the config stays in use', () => {
    const driver = learned(long(1, 0.01), long(0.7, 0.01), long(0.4, 0.01));
    expect(told(driver)).toEqual(['lower']);
    expect(rateIn(driver)).toBe(0.03);
  });

  test('the same rate is not reported, however the market moves between the reads', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -4, max: 4 }), fc.double({ min: 0.3, max: 0.8, noNaN: true })), {
          minLength: 2,
          maxLength: 4,
        }),
        (trades) => {
          let size = 2;
          let mark = MARK;
          let equity = 120;
          const reads = [long(size, 0.03, mark, equity)];
          for (const [move, share] of trades) {
            // Half of the move before the trade, half after it, and a fee.
            const traded = size * (1 - share);
            equity += (move / 2) * size + (move / 2) * (size - traded) - traded * mark * 0.001;
            size = Number((size - traded).toFixed(3));
            mark += move;
            reads.push(long(size, 0.03, mark, equity));
          }
          const driver = learned(...reads);
          expect(told(driver)).toEqual([]);
          expect(rateIn(driver)).toBeLessThan(0.0345);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('one pair of prices with a deposit between them proves nothing', () => {
    const driver = learned(
      long(1, 0.03),
      long(0.6, 0.03, MARK, EQUITY - 30),
      long(0.3, 0.03, MARK, EQUITY - 30),
    );
    expect(told(driver)).toEqual([]);
    expect(rateIn(driver)).toBe(0.03);
  });
});
