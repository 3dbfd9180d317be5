import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import { changeReadings, DEFAULT_READINGS } from '../../../src/simulator/model/readings.ts';
import { candleSource, parseCandles } from '../../../src/simulator/scenarios/candles.ts';
import { type PriceSource, walkSource } from '../../../src/simulator/scenarios/price-source.ts';
import { SCENARIOS, type ScenarioName, scenarioSource } from '../../../src/simulator/scenarios/scenarios.ts';
import { runningClock, steppedClock } from '../../../src/simulator/simulation-clock.ts';
import { d, START_MS, text, world } from './helpers.ts';

function drain(source: PriceSource, most = 100_000): { atMs: number; price: string }[] {
  const points = [];
  let last = d('100');
  for (let atMs = source.nextMs(); atMs !== undefined && points.length < most; atMs = source.nextMs()) {
    last = source.take(last);
    points.push({ atMs, price: last.toFixed() });
  }
  return points;
}

const HEADER = 'timestamp_ms,open,high,low,close,volume';

describe('candles', () => {
  it('play open, adverse extreme, other extreme, close, with the line in between', () => {
    const parsed = parseCandles(`${HEADER}\n60000,100,110,90,105,7\r\n120000,105,106,104,104.5,0\n`);
    if (!parsed.ok) throw new Error(parsed.message);
    const played = drain(candleSource({ candles: parsed.candles, priceStep: d('0.1'), tickMs: 10_000 }));
    expect(played.slice(0, 8)).toEqual([
      { atMs: 60_000, price: '100' },
      { atMs: 70_000, price: '95' },
      { atMs: 79_999, price: '90' },
      { atMs: 89_999, price: '100' },
      { atMs: 99_999, price: '110' },
      { atMs: 109_999, price: '107.5' },
      { atMs: 119_999, price: '105' },
      { atMs: 120_000, price: '105' },
    ]);
    expect(played.at(-1)).toEqual({ atMs: 179_999, price: '104.5' });
    const shorts = drain(
      candleSource({
        candles: parsed.candles,
        priceStep: d('0.1'),
        adverse: 'high',
        startMs: 0,
        tickMs: 60_000,
      }),
    );
    expect(shorts.slice(0, 3).map(({ price }) => price)).toEqual(['100', '110', '90']);
    expect(shorts[0]?.atMs).toBe(0);
  });

  it('of a coin that is worth less than a price step never play a price of zero', () => {
    const parsed = parseCandles(`${HEADER}\n0,0.02,0.03,0.01,0.02,1\n60000,0.02,0.02,0.02,0.02,1\n`);
    if (!parsed.ok) throw new Error(parsed.message);
    const played = drain(candleSource({ candles: parsed.candles, priceStep: d('0.1'), tickMs: 1_000 }));
    expect(played.filter(({ price }) => d(price).lte(d('0')))).toEqual([]);
  });

  it.each([
    ['', 1, 'header'],
    ['time,open\n', 1, 'header'],
    [`${HEADER}\n`, 2, 'no candle'],
    [`${HEADER}\n1,2,3`, 2, 'columns'],
    [`${HEADER}\n1,2,3,1,2,0\n1,2,3,1,2,0`, 3, 'does not come after'],
    [`${HEADER}\n1,2,3,1,x,0`, 2, 'close'],
    [`${HEADER}\n1,2,3,0,2,0`, 2, 'low'],
    [`${HEADER}\n1,2,1.5,1,2,0`, 2, 'outside'],
    [`${HEADER}\n1.5,2,3,1,2,0`, 2, 'timestamp_ms'],
    [`${HEADER}\n1,2,3,1,2,-1`, 2, 'volume'],
  ])('name the line of a fault: %j', (csv, line, words) => {
    const parsed = parseCandles(csv);
    expect(parsed).toMatchObject({ ok: false, line });
    expect(!parsed.ok && parsed.message).toContain(`line ${line}`);
    expect(!parsed.ok && parsed.message).toContain(words);
  });

  const directory =
    process.env['BREAKWATER_CANDLES'] ?? path.resolve(import.meta.dirname, '../../../../shared/data/crashes');
  const files = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.csv')) : [];
  if (files.length === 0) {
    process.stdout.write(`candle files: skipped, none in ${directory} (set BREAKWATER_CANDLES)\n`);
  }

  it.skipIf(files.length === 0)('of real crashes reach every extreme exactly', () => {
    for (const file of files) {
      const parsed = parseCandles(readFileSync(path.join(directory, file), 'utf8'));
      if (!parsed.ok) throw new Error(`${file}: ${parsed.message}`);
      const candles = parsed.candles.slice(0, 300);
      const played = drain(candleSource({ candles, priceStep: d('0.01'), tickMs: 20_000 }));
      const prices = played.map(({ price }) => Number(price));
      expect(Math.min(...prices)).toBe(Math.min(...candles.map(({ low }) => Number(low.toFixed()))));
      expect(Math.max(...prices)).toBe(Math.max(...candles.map(({ high }) => Number(high.toFixed()))));
      expect(played.every(({ atMs }, index) => index === 0 || atMs >= (played[index - 1]?.atMs ?? 0))).toBe(
        true,
      );
    }
  });
});

describe('scenarios', () => {
  it.each(Object.keys(SCENARIOS) as ScenarioName[])(
    '%s starts at the price, moves by its magnitude',
    (name) => {
      const spec = {
        name,
        startMs: 0,
        startPrice: d('1000'),
        priceStep: d('0.01'),
        magnitude: d('0.25'),
        durationMs: 60_000,
      };
      const played = drain(scenarioSource(spec));
      const prices = played.map(({ price }) => Number(price));
      expect(played[0]).toEqual({ atMs: 0, price: '1000' });
      expect(played.at(-1)?.atMs).toBe(60_000);
      if (name === 'rally') expect(Math.max(...prices)).toBe(1250);
      else expect(Math.min(...prices)).toBe(750);
      const noisy = drain(scenarioSource({ ...spec, noise: { seed: 3, size: 0.001 } }));
      expect(noisy).toEqual(drain(scenarioSource({ ...spec, noise: { seed: 3, size: 0.001 } })));
      expect(noisy.length).toBe(played.length);
    },
  );

  it('gap has nothing in between', () => {
    const played = drain(
      scenarioSource({
        name: 'gap',
        startMs: 0,
        startPrice: d('1000'),
        priceStep: d('0.01'),
        durationMs: 60_000,
      }),
    );
    expect(new Set(played.map(({ price }) => price))).toEqual(new Set(['1000', '900']));
  });

  it('refuse a fall of everything', () => {
    const spec = { name: 'crash', startMs: 0, startPrice: d('1000'), priceStep: d('0.01') } as const;
    expect(() => scenarioSource({ ...spec, magnitude: d('1') })).toThrow(/magnitude/);
    expect(() => scenarioSource({ ...spec, durationMs: 0 })).toThrow(/duration/);
  });
});

describe('random walk', () => {
  const spec = {
    startMs: 0,
    tickMs: 1_000,
    priceStep: d('0.1'),
    dailyVolatility: 5,
    jumpsPerDay: 2_000,
    jumpSize: 0.3,
  };

  it('is the same for a seed, another for another, and always a positive multiple of the step', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const points = drain(walkSource({ ...spec, seed }), 300);
        expect(points).toEqual(drain(walkSource({ ...spec, seed }), 300));
        expect(points).not.toEqual(drain(walkSource({ ...spec, seed: seed + 1 }), 300));
        for (const { price } of points) {
          expect(decimal(price).gt(decimal('0'))).toBe(true);
          expect(decimal(price).mod(d('0.1')).toFixed()).toBe('0');
        }
      }),
      { numRuns: 20, seed: 1 },
    );
  });

  it('goes on from a price set by hand, and followers take over its prices', () => {
    const model = world();
    model.setPriceSource(
      'BTC_USDT',
      walkSource({ ...spec, startMs: START_MS, dailyVolatility: 0.001, jumpsPerDay: 0, seed: 1 }),
    );
    model.advanceTo(START_MS + 10_000);
    model.setPrice('BTC_USDT', d('30000'));
    model.advanceTo(START_MS + 20_000);
    const last = Number(text(model.market('BTC_USDT')?.last));
    expect(Math.abs(last - 30_000)).toBeLessThan(100);
    expect(text(model.market('BTC_PERP')?.last)).toBe(String(last));
    model.setPriceSource('BTC_USDT', null);
    model.advanceTo(START_MS + 90_000);
    expect(Number(text(model.market('BTC_USDT')?.last))).toBe(last);
  });
});

describe('clocks', () => {
  it('run at their factor from the start time, never back', () => {
    let wall = 5_000;
    const clock = runningClock(1_000, () => wall, 10);
    wall += 100;
    expect(clock.nowMs()).toBe(2_000);
    wall -= 50;
    expect(clock.nowMs()).toBe(2_000);
    expect(() => runningClock(0, () => 0, -1)).toThrow(RangeError);
  });

  it('step only by hand', () => {
    const clock = steppedClock(7);
    clock.advance(3);
    expect(clock.nowMs()).toBe(10);
    expect(() => clock.advance(-1)).toThrow(RangeError);
    expect(() => clock.advance(0.5)).toThrow(RangeError);
  });
});

describe('readings', () => {
  it('change by name, and report every fault at once', () => {
    expect(changeReadings(DEFAULT_READINGS, { ltvUnit: 'fraction', readLagMs: 50 })).toMatchObject({
      ok: true,
      readings: { ltvUnit: 'fraction', readLagMs: 50, marginModel: 'cross' },
    });
    const bad = changeReadings(DEFAULT_READINGS, { ltvUnit: 'x', readLagMs: -1, nonsense: 1, toString: 'y' });
    expect(bad.ok ? [] : bad.errors).toHaveLength(4);
  });
});
