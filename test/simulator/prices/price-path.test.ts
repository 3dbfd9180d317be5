import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import {
  type CandleSeries,
  type PriceSeries,
  parsePrices,
} from '../../../src/simulator/prices/price-file.ts';
import { PATH_MODELS, type PathSpec, pathSource } from '../../../src/simulator/prices/price-path.ts';
import type { PriceSource } from '../../../src/simulator/prices/price-source.ts';
import { CANDLE_FILES, CANDLES } from '../../support/candles.ts';

interface Point {
  readonly atMs: number;
  readonly price: string;
}

function drain(source: PriceSource): Point[] {
  const points = [];
  for (let atMs = source.nextMs(); atMs !== undefined; atMs = source.nextMs()) {
    points.push({ atMs, price: source.take(decimal('1')).toFixed() });
  }
  return points;
}

function read(csv: string): PriceSeries {
  const parsed = parsePrices(csv);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.fault));
  return parsed.series;
}

const played = (csv: string, changes: Partial<PathSpec> = {}) =>
  drain(
    pathSource({
      series: read(csv),
      model: 'adverse',
      adverse: 'low',
      market: 'BTC_PERP',
      seed: 1,
      priceStep: decimal('0.1'),
      ...changes,
    }),
  );

const TWO = '60000,100,110,90,105,7\n120000,105,106,104,104.5,0\n';

describe('straight lines', () => {
  it('go from open over the adverse extreme and the other one to close', () => {
    const points = played(TWO, { tickMs: 10_000 });
    expect(points.slice(0, 8)).toEqual([
      { atMs: 60_000, price: '100' },
      { atMs: 70_000, price: '95' },
      { atMs: 79_999, price: '90' },
      { atMs: 89_999, price: '100' },
      { atMs: 99_999, price: '110' },
      { atMs: 109_999, price: '107.5' },
      { atMs: 119_999, price: '105' },
      { atMs: 120_000, price: '105' },
    ]);
    expect(points.at(-1)).toEqual({ atMs: 179_999, price: '104.5' });
  });

  it.each([
    ['adverse', 'low', ['100', '90', '110']],
    ['adverse', 'high', ['100', '110', '90']],
    ['favourable', 'low', ['100', '110', '90']],
    ['favourable', 'high', ['100', '90', '110']],
  ] as const)('%s with %s in the way of the positions', (model, adverse, order) => {
    const points = played(TWO, { model, adverse, tickMs: 60_000, startMs: 0 });
    expect(points[0]?.atMs).toBe(0);
    expect(points.slice(0, 3).map(({ price }) => price)).toEqual(order);
  });
});

describe('the resolution', () => {
  it('has a point each second in a calm candle, and one for each 0.05 % in a crash, at most 20 a second', () => {
    const calm = played('0,1000,1000.1,999.9,1000,1');
    expect(calm.length).toBeLessThan(70);
    const crash = played('0,1000,1000,900,910,1');
    const steps = crash
      .slice(1)
      .map(({ price }, index) => Math.abs(Number(price) / Number(crash[index]?.price) - 1));
    expect(Math.max(...steps)).toBeLessThan(0.0007);
    const gap = played('0,1000,1000,1,1000,1', { model: 'bridge' });
    expect(
      Math.min(...gap.slice(1, -2).map(({ atMs }, index) => atMs - (gap[index]?.atMs ?? 0))),
    ).toBeGreaterThanOrEqual(0);
    expect(gap.length).toBeLessThan(1_210);
  });

  it('of a coin worth less than a price step never gives a price of zero', () => {
    const points = played('0,0.02,0.03,0.01,0.02,1\n60000,0.02,0.02,0.02,0.02,1', { tickMs: 1_000 });
    expect(points.filter(({ price }) => Number(price) <= 0)).toEqual([]);
  });
});

describe('a gap in the file', () => {
  it.each(PATH_MODELS)('is a standstill, then a jump (%s)', (model) => {
    const csv = '0,100,100,100,100,1\n60000,100,101,99,101,1\n300000,102,102,102,102,1';
    const points = played(csv, { model });
    expect(points.filter(({ atMs }) => atMs >= 120_000 && atMs < 300_000)).toEqual([]);
    expect(points.find(({ atMs }) => atMs === 119_999)?.price).toBe('101');
    expect(points.find(({ atMs }) => atMs === 300_000)?.price).toBe('102');
    expect(points.at(-1)?.atMs).toBe(359_999);
  });
});

describe('trades', () => {
  it('are played unchanged, except for those that change nothing', () => {
    const csv = '1000,100,1\n1000,99.5,2\n1500,99.5,2\n1800,100,1';
    expect(played(csv, { startMs: 0 })).toEqual([
      { atMs: 0, price: '100' },
      { atMs: 0, price: '99.5' },
      { atMs: 800, price: '100' },
    ]);
  });
});

const cents = (value: number): string => (value / 100).toFixed(2);

/** Candles with prices off the price step, too. */
const candles: fc.Arbitrary<string> = fc
  .array(
    fc
      .tuple(fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 4, maxLength: 4 }), fc.boolean())
      .map(([prices, isFlat]) => (isFlat ? [100, 100, 100, 100] : prices.toSorted((a, b) => a - b)))
      .chain(([low = 1, a = 1, b = 1, high = 1]) =>
        fc.constantFrom([a, high, low, b], [b, high, low, a], [low, high, low, high]),
      ),
    { minLength: 1, maxLength: 4 },
  )
  .map((rows) => rows.map((row, index) => [index * 60_000, ...row.map(cents), 1].join(',')).join('\n'));

describe('every model, for every candle', () => {
  const specs = fc.record({
    model: fc.constantFrom(...PATH_MODELS),
    adverse: fc.constantFrom('low' as const, 'high' as const),
    seed: fc.integer({ min: 0, max: 1_000_000 }),
  });

  it('starts at open, touches high and low, stays within them, ends at close, and never goes back in time', () => {
    fc.assert(
      fc.property(candles, specs, (csv, spec) => {
        const points = played(csv, spec);
        const { candles: rows, candleMs } = read(csv) as CandleSeries;
        expect(points.every(({ atMs }, index) => index === 0 || atMs >= (points[index - 1]?.atMs ?? 0))).toBe(
          true,
        );
        for (const { timestampMs, open, high, low, close } of rows) {
          const own = points.filter(({ atMs }) => atMs >= timestampMs && atMs < timestampMs + candleMs);
          const prices = own.map(({ price }) => Number(price));
          expect(prices[0]).toBe(Number(open));
          expect(prices.at(-1)).toBe(Number(close));
          expect(Math.min(...prices)).toBe(Number(low));
          expect(Math.max(...prices)).toBe(Number(high));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('a bridge depends only on seed, market and the time of the candle', () => {
    const bridge = (csv: string, changes: Partial<PathSpec> = {}) =>
      played(csv, { model: 'bridge', ...changes });
    expect(bridge(TWO)).toEqual(bridge(TWO));
    expect(bridge(TWO)).not.toEqual(bridge(TWO, { seed: 2 }));
    expect(bridge(TWO)).not.toEqual(bridge(TWO, { market: 'ETH_PERP' }));
    const later = bridge(TWO.slice(TWO.indexOf('\n') + 1));
    expect(bridge(TWO).filter(({ atMs }) => atMs >= 120_000)).toEqual(later);
  });

  it('a bridge visits either extreme first', () => {
    const firsts = Array.from({ length: 40 }, (_, seed) => {
      const points = played('0,100,110,90,100,1', { model: 'bridge', seed });
      return points.find(({ price }) => price === '110' || price === '90')?.price;
    });
    expect(new Set(firsts)).toEqual(new Set(['90', '110']));
  });
});

if (CANDLE_FILES.length === 0) {
  process.stdout.write(`candle files: skipped, none in ${CANDLES} (set BREAKWATER_CANDLES)\n`);
}

it.skipIf(CANDLE_FILES.length === 0)('reaches every extreme of real crashes exactly', () => {
  for (const file of CANDLE_FILES) {
    const series = read(readFileSync(path.join(CANDLES, file), 'utf8')) as CandleSeries;
    const part = { ...series, candles: series.candles.slice(0, 300) };
    const points = played('0,1,1,1,1,1', { series: part, priceStep: decimal('0.01') });
    const prices = points.map(({ price }) => Number(price));
    expect(Math.min(...prices)).toBe(Math.min(...part.candles.map(({ low }) => Number(low))));
    expect(Math.max(...prices)).toBe(Math.max(...part.candles.map(({ high }) => Number(high))));
  }
});
