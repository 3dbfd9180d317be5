import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import { ExchangeClock } from '../../../src/simulator/exchange-clock.ts';
import { changeReadings, DEFAULT_READINGS } from '../../../src/simulator/model/readings.ts';
import { type PriceSource, walkSource } from '../../../src/simulator/prices/price-source.ts';
import { SCENARIOS, type ScenarioName, scenarioSource } from '../../../src/simulator/scenarios/scenarios.ts';
import { steppedClock } from '../stepped-clock.ts';
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

  it('gap has no price in between', () => {
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

  it('refuse a fall of 100 %', () => {
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

  it('is the same for a seed, different for another, and always a positive multiple of the step', () => {
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

  it('continues from a manually set price, and followers take over its prices', () => {
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
    const clock = new ExchangeClock(1_000, 10, () => wall);
    wall += 100;
    expect(clock.nowMs()).toBe(2_000);
    wall -= 50;
    expect(clock.nowMs()).toBe(2_000);
    expect(() => new ExchangeClock(0, -1, () => 0)).toThrow(RangeError);
  });

  it('step only manually', () => {
    const clock = steppedClock(7);
    clock.advance(3);
    expect(clock.nowMs()).toBe(10);
    expect(() => clock.advance(-1)).toThrow(RangeError);
    expect(() => clock.advance(0.5)).toThrow(RangeError);
  });
});

describe('readings', () => {
  it('change by name, and report all errors at once', () => {
    expect(changeReadings(DEFAULT_READINGS, { ltvUnit: 'fraction', readLagMs: 50 })).toMatchObject({
      ok: true,
      readings: { ltvUnit: 'fraction', readLagMs: 50, marginModel: 'cross' },
    });
    const bad = changeReadings(DEFAULT_READINGS, { ltvUnit: 'x', readLagMs: -1, nonsense: 1, toString: 'y' });
    expect(bad.ok ? [] : bad.errors).toHaveLength(4);
  });
});
