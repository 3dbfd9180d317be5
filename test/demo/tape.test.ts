import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { type Bound, Tape } from '../../src/demo/tape.ts';
import { sourceFromPoints } from '../../src/simulator/prices/price-source.ts';

const bound = (direction: Bound['direction'], price: number, accountId: string = direction): Bound => ({
  accountId,
  direction,
  liquidationPrice: decimal(String(price)),
});

/** Breaches, for 10 % of nearness. */
function breachesOf(bounds: readonly Bound[], prices: readonly number[]) {
  const tape = new Tape(0.1, () => bounds);
  for (const [atMs, price] of prices.entries()) tape.note(atMs, price);
  return tape.breaches;
}

describe('breaches', () => {
  test.each<[string, Bound, readonly number[], readonly number[]]>([
    ['a long is near just above its bound', bound('long', 90), [120, 99.9], [1]],
    ['not exactly at the threshold', bound('long', 90), [120, 100], []],
    ['a short is near just below its bound', bound('short', 110), [90, 100.1], [1]],
    ['not exactly at the threshold either', bound('short', 110), [90, 100], []],
    ['beyond the bound is near', bound('long', 90), [120, 80], [1]],
    ['beyond the bound of a short, too', bound('short', 110), [90, 120], [1]],
    ['it is noted once while it lasts', bound('long', 90), [99, 98, 91, 99.9], [0]],
    ['and again after it was over', bound('long', 90), [99, 101, 99, 102, 98], [0, 2, 4]],
    ['a long is not near far above', bound('long', 90), [200, 150], []],
    ['a short is not near far below', bound('short', 110), [50, 20], []],
  ])('%s', (_name, only, prices, expected) => {
    expect(breachesOf([only], prices).map(({ atMs }) => atMs)).toEqual(expected);
  });

  test('accounts have breaches of their own', () => {
    const bounds = [bound('long', 90, 'a'), bound('short', 110, 'b')];
    expect(breachesOf(bounds, [95, 101, 95, 106])).toEqual([
      { accountId: 'a', atMs: 0 },
      { accountId: 'b', atMs: 1 },
      { accountId: 'a', atMs: 2 },
      { accountId: 'b', atMs: 3 },
    ]);
  });

  test('bounds are asked for at every price: a position that was reduced has another', () => {
    let price = 90;
    const tape = new Tape(0.1, () => [bound('long', price)]);
    tape.note(0, 95);
    price = 50;
    tape.note(1, 95);
    price = 90;
    tape.note(2, 95);
    expect(tape.breaches.map(({ atMs }) => atMs)).toEqual([0, 2]);
  });

  test('there are as many as times of being near begin', () => {
    const prices = fc.array(fc.integer({ min: 80, max: 140 }), { maxLength: 100 });
    fc.assert(
      fc.property(prices, fc.constantFrom('long', 'short'), (list, direction) => {
        const isNear = (price: number) => (direction === 'long' ? price < 100 : price > 100);
        const text = list.map((price) => (isNear(price) ? 'n' : '.')).join('');
        const starts = [...text.matchAll(/n+/g)].map(({ index }) => index);
        const at = direction === 'long' ? 90 : 110;
        expect(breachesOf([bound(direction, at)], list).map(({ atMs }) => atMs)).toEqual(starts);
      }),
    );
  });
});

describe('how far the prices went', () => {
  const tapeOf = (prices: readonly number[]): Tape => {
    const tape = new Tape(0.1, () => []);
    for (const price of prices) tape.note(0, price);
    return tape;
  };

  test.each<[string, readonly number[], readonly Bound[], number]>([
    ['nowhere without prices', [], [bound('long', 90)], 0],
    ['nowhere without bounds', [50], [], 0],
    ['half of the way of a long', [100, 95, 110], [bound('long', 90)], 0.5],
    ['half of the way of a short', [100, 80, 105], [bound('short', 110)], 0.5],
    ['to the end', [90], [bound('long', 90)], 1],
    ['beyond it', [80], [bound('long', 90)], 2],
    ['the wrong way is nowhere', [110], [bound('long', 90)], 0],
    ['the wrong way for a short', [80], [bound('short', 110)], 0],
    ['the worse of two', [95, 108], [bound('long', 90), bound('short', 110)], 0.8],
    ['the worse of two, the other way about', [95, 108], [bound('short', 110), bound('long', 90)], 0.8],
  ])('%s', (_name, prices, bounds, expected) => {
    expect(tapeOf(prices).wayTo(bounds, 100)).toBeCloseTo(expected, 12);
  });

  test('extremes are those of all prices', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1 }), (prices) => {
        const { lowest, highest } = tapeOf(prices);
        expect([lowest, highest]).toEqual([Math.min(...prices), Math.max(...prices)]);
      }),
    );
  });
});

test('a source of prices that is heard gives the same prices at the same times', () => {
  const points = [
    { atMs: 5, price: decimal('95') },
    { atMs: 9, price: decimal('94.5') },
  ];
  const tape = new Tape(0.1, () => [bound('long', 90)]);
  const heard = tape.hear(sourceFromPoints(points));
  for (const { atMs, price } of points) {
    expect(heard.nextMs()).toBe(atMs);
    expect(heard.take(decimal('100')).toFixed()).toBe(price.toFixed());
  }
  expect(heard.nextMs()).toBeUndefined();
  expect(tape.breaches).toEqual([{ accountId: 'long', atMs: 5 }]);
  expect([tape.lowest, tape.highest]).toEqual([94.5, 95]);
});
