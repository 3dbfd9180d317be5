import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { known, NONE, unknown } from '../../../src/core/quantities/quantity.ts';
import {
  type Crossing,
  crossingOf,
  crossingProbability,
  type ForecastState,
  MIN_RETURNS,
  medianCrossingMs,
  medianWithin,
  motionOf,
  observe,
  probabilityWithin,
} from '../../../src/core/risk/forecast.ts';
import { erfc, erfcx, normalCdf } from '../../../src/core/risk/normal.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const crossing = (logDistance: number, sigmaPerDay: number, driftPerDay = 0): Crossing => ({
  logDistance,
  variancePerMs: sigmaPerDay ** 2 / DAY,
  adverseDriftPerMs: driftPerDay / DAY,
});

/** A reproducible uniform stream (mulberry32) and normal deviates from it. */
function randomStream(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
const gaussian = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

describe('normal distribution', () => {
  // Reference values to 15 digits from tables (DLMF 7.23 lists such), both tails.
  test.each([
    [0, 1],
    [0.5, 0.479_500_122_186_953_5],
    [1, 0.157_299_207_050_285_13],
    [2, 0.004_677_734_981_047_266],
    [3, 2.209_049_699_858_544e-5],
    [5, 1.537_459_794_428_035e-12],
    [10, 2.088_487_583_762_545e-45],
    [26, 5.663_192_408_856_143e-296],
    [-1, 1.842_700_792_949_715],
  ])('erfc(%d) is %d', (x, expected) => {
    expect(Math.abs(erfc(x) / expected - 1)).toBeLessThan(1e-12);
  });

  test('erfcx agrees with its integral (2 / sqrt pi) * int exp(-t^2 - 2xt) dt', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 60, noNaN: true }), (x) => {
        // Simpson's rule; beyond t = 6.4, or 2xt = 40, the integrand is below 1e-17.
        const steps = 4_000;
        const width = Math.min(6.4, 20 / Math.max(x, 1e-9)) / steps;
        let sum = 0;
        for (let i = 0; i <= steps; i++) {
          const t = i * width;
          sum += Math.exp(-t * t - 2 * x * t) * (i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2);
        }
        const integral = ((2 / Math.sqrt(Math.PI)) * sum * width) / 3;
        expect(Math.abs(erfcx(x) / integral - 1)).toBeLessThan(1e-9);
      }),
      { numRuns: 50 },
    );
  });

  test('its two branches meet', () => {
    expect(Math.abs(erfcx(2 - 1e-12) / erfcx(2 + 1e-12) - 1)).toBeLessThan(1e-11);
  });

  test('Phi is symmetric', () => {
    fc.assert(
      fc.property(fc.double({ min: -8, max: 8, noNaN: true }), (x) => {
        expect(normalCdf(x) + normalCdf(-x)).toBeCloseTo(1, 14);
      }),
    );
  });
});

describe('first passage', () => {
  test('without drift it is 2 * Phi(-b / (sigma sqrt T))', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-4, max: 1, noNaN: true }),
        fc.double({ min: 1e-3, max: 1, noNaN: true }),
        fc.double({ min: 1e3, max: 30 * DAY, noNaN: true }),
        (b, sigma, horizonMs) => {
          const expected = 2 * normalCdf(-b / (sigma * Math.sqrt(horizonMs / DAY)));
          expect(crossingProbability(crossing(b, sigma), horizonMs)).toBeCloseTo(expected, 12);
        },
      ),
    );
  });

  test('is the formula of the design, where that can be computed plainly', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 0.3, noNaN: true }),
        fc.double({ min: 0.02, max: 0.3, noNaN: true }),
        fc.double({ min: 0, max: 0.3, noNaN: true }),
        fc.double({ min: 0.05, max: 5, noNaN: true }),
        (b, sigma, drift, days) => {
          const s = sigma * Math.sqrt(days);
          const exponent = (2 * drift * b) / sigma ** 2;
          fc.pre(exponent < 300);
          const expected =
            normalCdf((drift * days - b) / s) + Math.exp(exponent) * normalCdf((-b - drift * days) / s);
          expect(crossingProbability(crossing(b, sigma, drift), days * DAY)).toBeCloseTo(expected, 9);
        },
      ),
    );
  });

  test.each([
    ['no drift', 0.05, 0.04, 0],
    ['adverse drift', 0.05, 0.04, 0.03],
    ['strong drift', 0.1, 0.03, 0.1],
  ])('agrees with Monte Carlo within its error: %s', (_, b, sigma, drift) => {
    const random = randomStream(20_240_131);
    const [paths, steps] = [20_000, 60];
    const dt = 1 / steps;
    let crossed = 0;
    for (let path = 0; path < paths; path++) {
      let x = 0;
      let survives = 1;
      for (let step = 0; step < steps && survives > 0; step++) {
        const next = x + drift * dt + sigma * Math.sqrt(dt) * gaussian(random);
        // Between two samples the bridge may have touched the barrier: exact for a Brownian path.
        const touched = next >= b ? 1 : Math.exp((-2 * (b - x) * (b - next)) / (sigma * sigma * dt));
        survives *= 1 - touched;
        x = next;
      }
      crossed += 1 - survives;
    }
    const estimate = crossed / paths;
    const error = Math.sqrt((estimate * (1 - estimate)) / paths);
    const exact = crossingProbability(crossing(b, sigma, drift), DAY);
    expect(Math.abs(estimate - exact)).toBeLessThan(4 * error);
  });

  test('rises with time, volatility and drift, and falls with distance; stays within 0 and 1', () => {
    const positive = (max: number) => fc.double({ min: 1e-6, max, noNaN: true });
    fc.assert(
      fc.property(
        positive(3),
        positive(2),
        positive(3),
        positive(10 * DAY),
        fc.double({ min: 1, max: 4, noNaN: true }),
        (b, sigma, drift, t, more) => {
          const p = crossingProbability(crossing(b, sigma, drift), t);
          const tolerance = 1e-12;
          expect(p).toBeGreaterThanOrEqual(0);
          expect(p).toBeLessThanOrEqual(1);
          expect(crossingProbability(crossing(b, sigma, drift), t * more)).toBeGreaterThanOrEqual(
            p - tolerance,
          );
          expect(crossingProbability(crossing(b, sigma, drift * more), t)).toBeGreaterThanOrEqual(
            p - tolerance,
          );
          expect(crossingProbability(crossing(b * more, sigma, drift), t)).toBeLessThanOrEqual(p + tolerance);
          expect(crossingProbability(crossing(b, sigma, 0), t)).toBeLessThanOrEqual(p + tolerance);
        },
      ),
    );
  });

  test('extremes neither overflow nor become NaN', () => {
    // Here exp(2ab / sigma^2) alone would be exp(2e11).
    expect(crossingProbability(crossing(1, 1e-5, 10), DAY)).toBeCloseTo(1, 12);
    expect(crossingProbability(crossing(1, 1e-5, 10), DAY / 20)).toBe(0);
    expect(crossingProbability(crossing(0, 0.1), 0)).toBe(1);
    expect(crossingProbability(crossing(0.1, 0.1), 0)).toBe(0);
    expect(crossingProbability(crossing(0.1, 0, 0.1), DAY * 1.001)).toBe(1);
    expect(crossingProbability(crossing(0.1, 0, 0.1), DAY / 2)).toBe(0);
    expect(crossingProbability(crossing(0.1, 0), 1e300)).toBe(0);
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.double({ min: 0, max: 1e3, noNaN: true }),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.double({ min: 0, max: 1e15, noNaN: true }),
        (b, sigma, drift, t) => {
          const p = crossingProbability(crossing(b, sigma, drift), t);
          expect(p >= 0 && p <= 1).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('a barrier', () => {
  const rising = { variancePerMs: 1, driftPerMs: 2 };
  test('lies below for what may fall and above for what may rise, and is not reached again once passed', () => {
    expect(crossingOf(110, 100, 'fall', rising)).toEqual({
      logDistance: Math.log(1.1),
      variancePerMs: 1,
      adverseDriftPerMs: 0,
    });
    expect(crossingOf(90, 100, 'rise', rising)).toEqual({
      logDistance: -Math.log(0.9),
      variancePerMs: 1,
      adverseDriftPerMs: 2,
    });
    expect(crossingOf(90, 100, 'fall', rising).logDistance).toBe(0);
    expect(crossingOf(110, 100, 'rise', rising).logDistance).toBe(0);
  });
});

describe('median crossing time', () => {
  test('is the time at which the chance is one half', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-4, max: 2, noNaN: true }),
        fc.double({ min: 1e-4, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        (b, sigma, drift) => {
          const median = medianCrossingMs(crossing(b, sigma, drift));
          if (median.kind !== 'value') throw new Error('something moves');
          expect(crossingProbability(crossing(b, sigma, drift), median.value)).toBeCloseTo(0.5, 5);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('closed forms: driftless, volatility-less, at the barrier, nothing moving', () => {
    const driftless = medianCrossingMs(crossing(0.067_448_975_019_608_17, 0.1));
    expect(driftless.kind === 'value' && driftless.value / DAY).toBeCloseTo(1, 9);
    expect(medianCrossingMs(crossing(0.1, 0, 0.05))).toEqual(known(2 * DAY));
    expect(medianCrossingMs(crossing(0, 0.1))).toEqual(known(0));
    expect(medianCrossingMs(crossing(0.1, 0))).toEqual(NONE);
  });
});

describe('estimates from irregular samples', () => {
  const feed = (samples: readonly (readonly [number, number | undefined])[]): ForecastState | undefined => {
    let state: ForecastState | undefined;
    for (const [value, sinceMs] of samples) state = observe(state, value, sinceMs);
    return state;
  };

  test('recover volatility and drift of a seeded walk', () => {
    const random = randomStream(7);
    let log = 10;
    let state = observe(undefined, Math.exp(log), undefined, 20 * DAY);
    for (let i = 0; i < 20_000; i++) {
      const stepMs = 1_000 + random() * 120_000;
      log += (0.5 * stepMs) / DAY + 0.04 * Math.sqrt(stepMs / DAY) * gaussian(random);
      state = observe(state, Math.exp(log), stepMs, 20 * DAY);
    }
    const motion = motionOf(state);
    if (motion.kind !== 'value') throw new Error('enough samples');
    expect(Math.sqrt(motion.value.variancePerMs * DAY)).toBeCloseTo(0.04, 2);
    expect(Math.abs(motion.value.driftPerMs * DAY - 0.5)).toBeLessThan(4 * (0.04 / Math.sqrt(10)));
  });

  test('a steady rise has its drift, whatever the spacing of the samples', () => {
    const rise = (days: number): number => 100 * Math.exp(0.1 * days);
    const at = [0, 0.001, 0.0025, 0.003, 0.0041, 0.005, 0.0063, 0.0071, 0.0085, 0.009, 0.0101, 0.011];
    const state = feed(
      at.map((days, i) => [rise(days), i === 0 ? undefined : (days - (at[i - 1] ?? 0)) * DAY]),
    );
    const motion = motionOf(state);
    expect(motion.kind === 'value' && motion.value.driftPerMs * DAY).toBeCloseTo(0.1, 9);
  });

  test('too few samples, or too short a time, say nothing', () => {
    const steps = (count: number, ms: number) =>
      feed([[100, undefined], ...Array.from({ length: count }, (_, i) => [100 + i, ms] as const)]);
    expect(motionOf(steps(MIN_RETURNS - 1, 60_000)).kind).toBe('unknown');
    expect(motionOf(steps(MIN_RETURNS, 60_000)).kind).toBe('value');
    // Polls that are far apart say nothing of the last seconds, polls that are near nothing of the hour.
    expect(motionOf(steps(5, 10_000)).kind).toBe('unknown');
    const seconds = motionOf(steps(MIN_RETURNS, 1_000));
    if (seconds.kind !== 'value') return expect.fail();
    const ahead = crossingOf(100, 90, 'fall', seconds.value);
    expect(probabilityWithin(ahead, 60_000).kind).toBe('value');
    expect(probabilityWithin(ahead, 61_000)).toEqual(unknown('tooFewSamples'));
    expect(medianWithin(ahead)).toEqual(unknown('tooFewSamples'));
    expect(motionOf(undefined)).toEqual({ kind: 'unknown', why: 'tooFewSamples' });
  });

  test('a sample whose time is not known adds no return, however far it jumped', () => {
    const before = feed([
      [100, undefined],
      [101, 1_000],
    ]);
    const after = observe(before, 300, undefined);
    expect(after).toEqual({ ...before, lastLog: Math.log(300) });
  });

  test('a second look at the same time, and values that are no prices, change nothing', () => {
    const state = feed([
      [100, undefined],
      [101, 1_000],
    ]);
    expect(observe(state, 102, 0)).toBe(state);
    for (const bad of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(observe(state, bad, 1_000)).toBe(state);
  });
});
