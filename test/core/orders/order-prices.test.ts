import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shapeProtect, shapeReduce, TIGHT_SHARE } from '../../../src/core/orders/order-prices.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { TaughtBounds } from '../../../src/core/quantities/settings.ts';
import type { Direction } from '../../../src/core/rules/subject.ts';
import { market } from '../lanes/fixtures.ts';

const price = fc.integer({ min: 500, max: 500_000 }).map((ticks) => (ticks / 7).toFixed(4) as DecimalString);
const direction = fc.constantFrom<Direction>('long', 'short');
const slippage = fc.constantFrom(0.001, 0.005, 0.02, 0.1);

function isOnStep(text: string): boolean {
  return Math.abs(Number(text) * 10 - Math.round(Number(text) * 10)) < 1e-6;
}

describe('a reducing stop', () => {
  test('activates on the right side of the market by at least step, error and basis; its limit is further', () => {
    fc.assert(
      fc.property(
        direction,
        price,
        slippage,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (side, mark, slip, share) => {
          const markError = (share * slip * Number(mark)) / 2;
          const shape = shapeReduce({ direction: side, markPrice: mark, markError }, slip, market);
          if (!shape.ok) {
            expect(shape.why).toBe('priceNotPositive');
            return;
          }
          const { activationPrice, price: limit } = shape.prices;
          const sign = side === 'long' ? 1 : -1;
          const gap = 0.1 + markError + Number(mark) * 0.001;
          expect(shape.prices.side).toBe(side === 'long' ? 'sell' : 'buy');
          expect(sign * (Number(mark) - Number(activationPrice))).toBeGreaterThanOrEqual(gap - 1e-9);
          expect(sign * (Number(mark) - Number(activationPrice))).toBeLessThan(gap + 0.1 + 1e-9);
          const slipped = Number(activationPrice) * (1 - sign * slip);
          expect(sign * (slipped - Number(limit))).toBeGreaterThanOrEqual(-1e-9);
          expect(isOnStep(activationPrice) && isOnStep(limit)).toBe(true);
        },
      ),
    );
  });

  test('is not shaped when the mark is less exact than half the slippage', () => {
    const view = { direction: 'long', markPrice: '1000' as DecimalString, markError: 2.6 } as const;
    expect(shapeReduce(view, 0.005, market)).toEqual({ ok: false, why: 'markTooCoarse' });
    expect(shapeReduce({ ...view, markError: 2.5 }, 0.005, market).ok).toBe(true);
  });

  test('is not shaped at a price of zero or less', () => {
    const view = { direction: 'long', markPrice: '0.15' as DecimalString, markError: 0 } as const;
    expect(shapeReduce(view, 0.5, market)).toEqual({ ok: false, why: 'priceNotPositive' });
  });

  test('may have a limit beyond the liquidation price', () => {
    const view = { direction: 'long', markPrice: '1000' as DecimalString, markError: 0 } as const;
    const shape = shapeReduce(view, 0.1, market);
    expect(shape.ok && Number(shape.prices.price)).toBeCloseTo(899, 0);
  });
});

describe('a protective stop', () => {
  const inputs = fc.record({
    side: direction,
    mark: price,
    room: fc.double({ min: 0.0001, max: 0.5, noNaN: true }),
    at: fc.double({ min: 0.01, max: 0.99, noNaN: true }),
    drift: fc.double({ min: -0.2, max: 0.2, noNaN: true }),
  });

  test('lies strictly between mark and liquidation, on the right side of the market, or is not shaped', () => {
    fc.assert(
      fc.property(inputs, ({ side, mark, room, at, drift }) => {
        const sign = side === 'long' ? 1 : -1;
        const liquidation = (Number(mark) * (1 - sign * room)).toFixed(4) as DecimalString;
        const anchor = (Number(mark) * (1 + drift)).toFixed(4) as DecimalString;
        const view = { direction: side, markPrice: mark, markError: 0 };
        const shape = shapeProtect(
          view,
          { liquidationPrice: liquidation, anchor, at, slippage: 0.01 },
          market,
        );
        if (!shape.ok) {
          expect(['noRoomForStop', 'priceNotPositive']).toContain(shape.why);
          return;
        }
        const activation = Number(shape.prices.activationPrice);
        expect(sign * (Number(mark) - activation)).toBeGreaterThanOrEqual(0.1);
        expect(sign * (activation - Number(liquidation))).toBeGreaterThanOrEqual(0.1 - 1e-9);
      }),
    );
  });

  test('is 60 % of the way with at: 0.6, and stays there while only the mark moves', () => {
    const protect = (mark: string) =>
      shapeProtect(
        { direction: 'long', markPrice: mark as DecimalString, markError: 0 },
        {
          liquidationPrice: '900' as DecimalString,
          anchor: '1000' as DecimalString,
          at: 0.6,
          slippage: 0.01,
        },
        market,
      );
    for (const mark of ['1000', '960', '1100']) {
      const shape = protect(mark);
      expect(shape.ok && shape.prices.activationPrice).toBe('940');
    }
    expect(protect('900.5')).toEqual({ ok: false, why: 'noRoomForStop' });
  });
});

test('a standing stop that the band leaves next to no slippage waits for a nearer market, as it would be jumped over', () => {
  const shapeAt = (markPrice: string) =>
    shapeProtect(
      { direction: 'long', markPrice: markPrice as DecimalString, markError: 0 },
      { liquidationPrice: '800' as DecimalString, anchor: '1000' as DecimalString, at: 0.5, slippage: 0.05 },
      { ...market, bounds: { lowestPart: 0.9 } },
    );
  expect(shapeAt('990')).toEqual({ ok: false, why: 'priceBand' });
  expect(shapeAt('950')).toMatchObject({ ok: true });
});

test('a stop was placed with just the slippage by which mark and last price differed, took the room, and did not fill', () => {
  const shapeAt = (markPrice: string) =>
    shapeProtect(
      { direction: 'long', markPrice: markPrice as DecimalString, markError: 0 },
      {
        liquidationPrice: '800' as DecimalString,
        anchor: '1000' as DecimalString,
        at: 0.5,
        slippage: 0.05,
        leastShare: TIGHT_SHARE,
      },
      { ...market, bounds: { lowestPart: 0.9 } },
    );
  // Of the activation at 900 the band leaves 1.1 %, then 2 %.
  expect(shapeAt('989')).toEqual({ ok: false, why: 'priceBand' });
  expect(shapeAt('980')).toMatchObject({ ok: true, prices: { activationPrice: '900', price: '882' } });
});

test('the edge of a band that a refusal named was missed by a whole step for the noise of its double', () => {
  const coarse = { ...market, priceStep: '0.01' as DecimalString };
  const shapeAt = (mark: string, direction: 'long' | 'short', bounds: TaughtBounds) =>
    shapeReduce({ direction, markPrice: mark as DecimalString, markError: 0 }, 0.03, { ...coarse, bounds });
  expect(shapeAt('1.14', 'long', { lowestPart: 1.13 / 1.14 })).toMatchObject({
    prices: { activationPrice: '1.13', price: '1.13' },
  });
  expect(shapeAt('1.02', 'short', { highestPart: 1.03 / 1.02 })).toMatchObject({
    prices: { activationPrice: '1.03', price: '1.03' },
  });
});
