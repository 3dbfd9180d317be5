import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  boundedTarget,
  clampTarget,
  type DistanceInputs,
  distanceTarget,
  type FixedTarget,
  fixedTarget,
  reachedBy,
  reductionAmount,
} from '../../../src/core/intents/targets.ts';
import {
  type Decimal,
  type DecimalString,
  decimal,
  formatDecimal,
  toNumber,
  ZERO,
} from '../../../src/core/quantities/decimal.ts';
import type { MarketSettings } from '../../../src/core/quantities/settings.ts';
import { market } from '../lanes/fixtures.ts';

function basis(sizeBase: string, markPrice: string | null = '100') {
  return {
    sizeBase: sizeBase as DecimalString,
    markPrice: markPrice as DecimalString | null,
    distance: null,
  };
}

function target(of: FixedTarget, sizeBase: string, mark: string | null = '100'): string | undefined {
  const found = fixedTarget(of, basis(sizeBase, mark));
  return found === undefined ? undefined : formatDecimal(clampTarget(found, decimal(sizeBase), market));
}

describe('fixed targets', () => {
  test.for<[FixedTarget, string, string]>([
    [{ kind: 'by', fraction: 0.5 }, '1', '0.5'],
    [{ kind: 'by', fraction: 1 }, '1', '0'],
    [{ kind: 'to', fraction: 0 }, '1', '0'],
    [{ kind: 'to', fraction: 0.3 }, '1', '0.3'],
    [{ kind: 'toNotional', notional: '30' }, '1', '0.3'],
    // Rounded up to the step: never a step more is taken away than asked for.
    [{ kind: 'by', fraction: 0.5 }, '0.005', '0.003'],
    [{ kind: 'to', fraction: 0.3333 }, '1', '0.334'],
    [{ kind: 'toNotional', notional: '33.31' }, '1', '0.334'],
    // Never above the size at firing.
    [{ kind: 'toNotional', notional: '500' }, '1', '1'],
    [{ kind: 'to', fraction: 1 }, '0.0005', '0.0005'],
  ])('%j of %s is %s', ([of, size, expected]) => {
    expect(target(of, size)).toBe(expected);
  });

  test('a notional has no size without a mark price', () => {
    expect(target({ kind: 'toNotional', notional: '30' }, '1', null)).toBeUndefined();
    expect(target({ kind: 'by', fraction: 0.5 }, '1', null)).toBe('0.5');
  });

  test('the largest single reduction bounds a target', () => {
    const bounded = boundedTarget(decimal('0'), basis('1'), 0.4, market);
    expect(formatDecimal(bounded)).toBe('0.6');
    expect(formatDecimal(boundedTarget(decimal('0.7'), basis('1'), 0.4, market))).toBe('0.7');
    expect(formatDecimal(boundedTarget(decimal('0'), basis('1'), 1, market))).toBe('0');
  });
});

/** Distance after a reduction, from first principles: equity is unchanged and equals maintenance at liquidation. */
function distanceAfter(
  size: number,
  other: number,
  distance: number,
  left: number,
  sign: 1 | -1,
  rate: number,
) {
  const price = 100;
  const liquidation = price * (1 - sign * distance);
  const equity = rate * (size + other) * liquidation - sign * (size - other) * (liquidation - price);
  // equity + sign * (left - other) * (p - price) = rate * (left + other) * p
  const after = (equity - sign * (left - other) * price) / (rate * (left + other) - sign * (left - other));
  return (sign * (price - after)) / price;
}

/** The wanted size; throws if there is none. */
function sizeFor(inputs: DistanceInputs, of: MarketSettings): Decimal {
  const found = distanceTarget(inputs, of);
  if (found === undefined) throw new Error('no size is far enough');
  return found;
}

describe('untilDistance', () => {
  const fine: MarketSettings = { ...market, amountStep: '0.000000000001' as DecimalString };

  test("follows the design's formula for one side", () => {
    const long = sizeFor(
      { sizeBase: decimal('1'), otherSideBase: ZERO, direction: 'long', distance: 0.05, wanted: 0.1 },
      fine,
    );
    const rate = 0.03 / 0.97;
    expect(toNumber(long)).toBeCloseTo((0.05 + rate) / (0.1 + rate), 9);
    const short = sizeFor(
      { sizeBase: decimal('1'), otherSideBase: ZERO, direction: 'short', distance: 0.05, wanted: 0.1 },
      fine,
    );
    const shortRate = 0.03 / 1.03;
    expect(toNumber(short)).toBeCloseTo((0.05 + shortRate) / (0.1 + shortRate), 9);
  });

  test('moves the liquidation price exactly that far away, with one side open or both', () => {
    const inputs = fc.record({
      sign: fc.constantFrom<1 | -1>(1, -1),
      other: fc.double({ min: 0, max: 0.5, noNaN: true }),
      distance: fc.double({ min: 0, max: 0.3, noNaN: true }),
      more: fc.double({ min: 0.001, max: 0.3, noNaN: true }),
    });
    fc.assert(
      fc.property(inputs, ({ sign, other, distance, more }) => {
        const wanted = distance + more;
        const left = sizeFor(
          {
            sizeBase: decimal('1'),
            otherSideBase: decimal(other.toFixed(12)),
            direction: sign === 1 ? 'long' : 'short',
            distance,
            wanted,
          },
          fine,
        );
        const size = toNumber(left);
        fc.pre(size > other + 1e-6);
        const otherSize = Number(other.toFixed(12));
        expect(distanceAfter(1, otherSize, distance, size, sign, 0.03)).toBeCloseTo(wanted, 5);
      }),
    );
  });

  test.for<['long' | 'short', number, number, string]>([
    ['long', 0.1, 0.1, '1'],
    ['long', 0.2, 0.1, '1'],
    ['short', 0.2, 0.1, '1'],
    // So far beyond liquidation that nothing may be left.
    ['long', -0.5, 0.1, '0'],
  ])('%s at %d, wanted %d: at most %s, within [0, size]', ([direction, distance, wanted, expected]) => {
    const found = sizeFor(
      { sizeBase: decimal('1'), otherSideBase: ZERO, direction, distance, wanted },
      market,
    );
    expect(formatDecimal(found)).toBe(expected);
  });

  test('has no target if the other side is as large: reducing this side brings liquidation nearer', () => {
    for (const [direction, other] of [
      ['long', '1'],
      ['long', '0.95'],
      ['long', '2'],
      ['short', '1.1'],
    ] as const) {
      const inputs = {
        sizeBase: decimal('1'),
        otherSideBase: decimal(other),
        direction,
        distance: 0.05,
        wanted: 0.1,
      };
      expect(distanceTarget(inputs, market)).toBeUndefined();
    }
  });

  test('the nearer liquidation is, the smaller the target', () => {
    const at = fc.double({ min: 0, max: 0.2, noNaN: true });
    fc.assert(
      fc.property(at, at, (a, b) => {
        const of = (distance: number) =>
          sizeFor(
            { sizeBase: decimal('1'), otherSideBase: ZERO, direction: 'long', distance, wanted: 0.2 },
            market,
          );
        expect(of(Math.min(a, b)).lte(of(Math.max(a, b)))).toBe(true);
      }),
    );
  });
});

describe('reaching a target, and the amount sent', () => {
  const coarse: MarketSettings = { ...market, minAmount: '0.005' as DecimalString };
  test.for<[string, string, string | undefined, string]>([
    ['1', '0.5', undefined, '0.5'],
    ['0.5', '0.5', 'target', '0'],
    ['0.4', '0.5', 'target', '0'],
    // Below one step, below the minimum amount.
    ['0.5004', '0.5', 'dust', '0'],
    ['0.504', '0.5', 'dust', '0'],
    ['0.505', '0.5', undefined, '0.005'],
    // Whole steps that never cross the target.
    ['0.5159', '0.5', undefined, '0.015'],
    // A target of zero is reached only when the position is gone, and may send the minimum amount.
    ['0.0004', '0', undefined, '0.005'],
    ['0.0121', '0', undefined, '0.013'],
    ['0', '0', 'target', '0'],
  ])('size %s, target %s: %s, %s', ([size, aim, reached, amount]) => {
    expect(reachedBy(decimal(size), decimal(aim), coarse)).toBe(reached);
    expect(formatDecimal(reductionAmount(decimal(size), decimal(aim), coarse))).toBe(amount);
  });

  test('the amount sent never crosses a target above zero', () => {
    const lots = fc.integer({ min: 1, max: 1_000_000 }).map((n) => decimal((n / 10_000).toFixed(4)));
    fc.assert(
      fc.property(lots, lots, (size, aim) => {
        const amount = reductionAmount(size, aim, coarse);
        expect(amount.eq(ZERO) || size.minus(amount).gte(aim)).toBe(true);
      }),
    );
  });
});
