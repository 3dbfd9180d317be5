import { describe, expect, test } from 'vitest';
import { toNumber } from '../../src/core/quantities/decimal.ts';
import { demoMarkets, SPOT } from '../../src/demo/market.ts';
import { type PlayedPrices, playedPrices } from '../../src/demo/prices.ts';
import type { MarketSpec } from '../../src/simulator/model/types.ts';
import { SCENARIOS } from '../../src/simulator/scenarios/scenarios.ts';

const MINUTE_MS = 60_000;

/** All prices with their times from the beginning. */
function playAll(played: PlayedPrices) {
  const market = demoMarkets(played.startPrice).find(({ name }) => name === SPOT) as MarketSpec;
  const source = played.sourceFrom(market, 0);
  const points: { atMs: number; price: number }[] = [];
  for (let atMs = source.nextMs(); atMs !== undefined; atMs = source.nextMs()) {
    points.push({ atMs, price: toNumber(source.take(played.startPrice)) });
  }
  return points;
}

function fiveMinuteCandles(rows: readonly (readonly [number, number, number, number])[]): string {
  const lines = rows.map((prices, index) => [index * 5 * MINUTE_MS, ...prices, 1].join(','));
  return ['timestamp_ms,open,high,low,close,volume', ...lines].join('\n');
}

const candles = (pricesCsv: string, windowMs: number) =>
  playedPrices({ seed: 1, scenario: 'none', pricesCsv, windowMs });

describe('candles', () => {
  test('a single candle of five minutes is played in five minutes, not in one', () => {
    const csv = fiveMinuteCandles([
      [100, 100, 100, 100],
      [100, 103, 90, 95],
    ]);
    const points = playAll(candles(csv, 5 * MINUTE_MS));
    expect(points.at(0)).toEqual({ atMs: 0, price: 100 });
    expect(points.at(-1)).toEqual({ atMs: 5 * MINUTE_MS - 1, price: 95 });
  });

  test.each([
    ['a fall comes before the rise that follows it', [100, 103, 90, 95], [90, 103]],
    ['a rise comes before the fall that follows it', [100, 120, 95, 98], [120, 95]],
  ] as const)('%s', (_name, candle, extremes) => {
    const points = playAll(candles(fiveMinuteCandles([candle]), 5 * MINUTE_MS));
    const found = points.map(({ price }) => price).filter((price) => extremes.includes(price as never));
    expect(found).toEqual(extremes);
  });

  test('positions are opened at the first price', () => {
    const csv = fiveMinuteCandles([
      [3210.5, 3210.5, 3210.5, 3210.5],
      [3000, 3000, 2000, 2500],
    ]);
    expect(toNumber(candles(csv, 5 * MINUTE_MS).startPrice)).toBe(3000);
  });
});

describe('scenarios', () => {
  test('fill the window, whatever it is', () => {
    for (const scenario of Object.keys(SCENARIOS)) {
      expect(playAll(playedPrices({ seed: 1, scenario, windowMs: 150_000 })).at(-1)?.atMs).toBe(150_000);
    }
  });

  test('noise follows from the seed', () => {
    const play = (seed: number) => playAll(playedPrices({ seed, scenario: 'crash', windowMs: 60_000 }));
    expect(play(7)).toEqual(play(7));
    expect(play(7)).not.toEqual(play(8));
  });

  test('one that there is not is refused with those there are', () => {
    expect(() => playedPrices({ seed: 1, scenario: 'flood', windowMs: 1 })).toThrow(
      /no scenario "flood"; there are .*crashThenRally/,
    );
  });
});
