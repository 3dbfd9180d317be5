import { describe, expect, test } from 'vitest';
import { type WouldBeOrder, wouldHave, wouldHaveWords } from '../../../src/core/costs/would-have.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';

const dec = (text: string): DecimalString => text as DecimalString;

const SELL: WouldBeOrder = {
  seq: 7,
  atMs: 1_000,
  ruleId: 'near',
  positionId: '42',
  order: {
    market: 'BTC_PERP',
    side: 'sell',
    amount: dec('0.5'),
    activationPrice: dec('59940'),
    price: dec('59640'),
    clientOrderId: 'bw1.x',
    positionSide: 'BOTH',
  },
};

const BUY: WouldBeOrder = {
  ...SELL,
  order: { ...SELL.order, side: 'buy', activationPrice: dec('60060'), price: dec('60360') },
};

const points = (...marks: readonly number[]) =>
  marks.map((markPrice, index) => ({ atMs: index * 1_000, values: { markPrice } }));

const words = (order: WouldBeOrder, marks: readonly number[]): string =>
  wouldHaveWords(order, wouldHave(order, points(...marks)), 'USD');

test.each([
  ['A_B_PERP', 'A_B'],
  ['WHOLE', 'WHOLE'],
])('the coin of %s was cut at its first underscore, or without one by its last letter', (market, coin) => {
  const order = { ...SELL, order: { ...SELL.order, market } };
  expect(words(order, [60_000, 60_000, 59_900, 61_200])).toContain(`would have closed 0.5 ${coin} at about`);
});

describe('the result an order of observe mode would have had, by later marks', () => {
  test.each([
    // (59,940 - 61,200) * 0.5 = -630
    [
      SELL,
      [60_000, 60_000, 59_900, 61_200],
      'would have closed 0.5 BTC at about 59940; the mark is 61200 now: that would have cost 630 USD',
    ],
    // (59,940 - 57,000) * 0.5 = 1,470
    [
      SELL,
      [60_000, 60_000, 59_940, 57_000],
      'would have closed 0.5 BTC at about 59940; the mark is 57000 now: that would have saved 1470 USD',
    ],
    // A short, closed at 60,060: (61,200 - 60,060) * 0.5 = 570
    [
      BUY,
      [60_000, 60_000, 60_100, 61_200],
      'would have closed 0.5 BTC at about 60060; the mark is 61200 now: that would have saved 570 USD',
    ],
    // The price leapt over both and came back: filled at its limit. (59,640 - 60,000) * 0.5 = -180
    [
      SELL,
      [60_000, 59_000, 59_700, 60_000],
      'would have closed 0.5 BTC at about 59640; the mark is 60000 now: that would have cost 180 USD',
    ],
    [
      SELL,
      [59_000, 60_000, 60_400],
      'would not have filled: the price has not been at 59940; the mark is 60400 now',
    ],
    [
      SELL,
      [60_000, 59_000, 58_000],
      'would not have filled: the price leapt past the limit 59640; the mark is 58000 now',
    ],
    [SELL, [60_000], 'no mark is recorded since'],
  ] as const)('%#', (order, marks, said) => {
    expect(words(order, marks)).toBe(said);
  });

  test('with two orders on either side of the market, this one waits for a rise', () => {
    const order: WouldBeOrder = {
      ...SELL,
      order: { ...SELL.order, activationPrice: dec('60060'), price: dec('59760'), inFavour: true },
    };
    expect(wouldHave(order, points(60_000, 59_900, 60_050))).toEqual({ kind: 'notReached', mark: 60_050 });
    expect(wouldHave(order, points(60_000, 60_000, 60_100, 60_000))).toMatchObject({
      kind: 'closed',
      price: 60_060,
      gained: 30,
    });
  });

  test('samples without a mark, or from before the order, do not count', () => {
    const mixed = [
      { atMs: 500, values: { markPrice: 59_900 } },
      { atMs: 2_000, values: { amount: '0.5' } },
      { atMs: 3_000, values: { markPrice: 60_010 } },
    ];
    expect(wouldHave(SELL, mixed)).toEqual({ kind: 'notReached', mark: 60_010 });
  });
});
