import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { known, NONE, unknown } from '../../../src/core/quantities/quantity.ts';
import {
  crossingOf,
  type ForecastState,
  MIN_RETURNS,
  type Motion,
  medianWithin,
  motionOf,
  type Outlook,
  observe,
  outlookOf,
  passageProbability,
  probabilityWithin,
} from '../../../src/core/risk/forecast.ts';
import { erfc, erfcx, normalCdf } from '../../../src/core/risk/normal.ts';
import { Dice } from '../../support/dice.ts';
import { runsOf } from '../../support/slice.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The motion of a walk with this daily volatility and drift, after so many days. */
const walk = (sigmaPerDay: number, driftPerDay: number, days: number): Outlook => ({
  variance: sigmaPerDay ** 2 * days,
  adverseMove: driftPerDay * days,
});

const gaussian = (dice: Dice): number =>
  Math.sqrt(-2 * Math.log(1 - dice.next())) * Math.cos(2 * Math.PI * dice.next());

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
      { numRuns: runsOf(50) },
    );
  });

  test('its two branches agree where they meet', () => {
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
          expect(passageProbability(b, walk(sigma, 0, horizonMs / DAY))).toBeCloseTo(expected, 12);
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
          expect(passageProbability(b, walk(sigma, drift, days))).toBeCloseTo(expected, 9);
        },
      ),
    );
  });

  test.each([
    ['no drift', 0.05, 0.04, 0],
    ['adverse drift', 0.05, 0.04, 0.03],
    ['strong drift', 0.1, 0.03, 0.1],
  ])('agrees with Monte Carlo within its error: %s', (_, b, sigma, drift) => {
    const dice = new Dice(20_240_131);
    const [paths, steps] = [20_000, 60];
    const dt = 1 / steps;
    let crossed = 0;
    for (let path = 0; path < paths; path++) {
      let x = 0;
      let survives = 1;
      for (let step = 0; step < steps && survives > 0; step++) {
        const next = x + drift * dt + sigma * Math.sqrt(dt) * gaussian(dice);
        // Between two samples the bridge may have touched the barrier; this is exact for a Brownian path.
        const touched = next >= b ? 1 : Math.exp((-2 * (b - x) * (b - next)) / (sigma * sigma * dt));
        survives *= 1 - touched;
        x = next;
      }
      crossed += 1 - survives;
    }
    const estimate = crossed / paths;
    const error = Math.sqrt((estimate * (1 - estimate)) / paths);
    const exact = passageProbability(b, walk(sigma, drift, 1));
    expect(Math.abs(estimate - exact)).toBeLessThan(4 * error);
  });

  test('rises with time, volatility and drift, and falls with distance; stays within 0 and 1', () => {
    const positive = (max: number) => fc.double({ min: 1e-6, max, noNaN: true });
    fc.assert(
      fc.property(
        positive(3),
        positive(2),
        positive(3),
        positive(10),
        fc.double({ min: 1, max: 4, noNaN: true }),
        (b, sigma, drift, days, more) => {
          const p = passageProbability(b, walk(sigma, drift, days));
          const tolerance = 1e-12;
          expect(p).toBeGreaterThanOrEqual(0);
          expect(p).toBeLessThanOrEqual(1);
          expect(passageProbability(b, walk(sigma, drift, days * more))).toBeGreaterThanOrEqual(
            p - tolerance,
          );
          expect(passageProbability(b, walk(sigma, drift * more, days))).toBeGreaterThanOrEqual(
            p - tolerance,
          );
          expect(passageProbability(b * more, walk(sigma, drift, days))).toBeLessThanOrEqual(p + tolerance);
          expect(passageProbability(b, walk(sigma, 0, days))).toBeLessThanOrEqual(p + tolerance);
        },
      ),
    );
  });

  test('extremes neither overflow nor become NaN', () => {
    // Here exp(2mb / s^2) alone is exp(2e11).
    expect(passageProbability(1, walk(1e-5, 10, 1))).toBeCloseTo(1, 12);
    expect(passageProbability(1, walk(1e-5, 10, 0.05))).toBe(0);
    expect(passageProbability(0, walk(0.1, 0, 0))).toBe(1);
    expect(passageProbability(0.1, walk(0.1, 0, 0))).toBe(0);
    expect(passageProbability(0.1, walk(0, 0.1, 1.001))).toBe(1);
    expect(passageProbability(0.1, walk(0, 0.1, 0.5))).toBe(0);
    expect(passageProbability(0.1, walk(0, 0, 1e300))).toBe(0);
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.double({ min: 0, max: 1e3, noNaN: true }),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.double({ min: 0, max: 1e7, noNaN: true }),
        (b, sigma, drift, days) => {
          const p = passageProbability(b, walk(sigma, drift, days));
          expect(p >= 0 && p <= 1).toBe(true);
        },
      ),
      { numRuns: runsOf(2_000) },
    );
  });
});

const rate = fc.double({ min: -1e-6, max: 1e-6, noNaN: true });
const variance = fc.double({ min: 1e-12, max: 1e-9, noNaN: true });
const motions: fc.Arbitrary<Motion> = fc
  .record({
    variancePerMs: variance,
    driftPerMs: rate,
    recentVariance: variance,
    recentDrift: rate,
    minutes: variance,
  })
  .map(({ variancePerMs, driftPerMs, recentVariance, recentDrift, minutes }) => ({
    variancePerMs,
    driftPerMs,
    recent: { variancePerMs: recentVariance, driftPerMs: recentDrift, minutesVariancePerMs: minutes },
  }));

describe('an outlook', () => {
  test('starts from the last seconds and ends with the hour', () => {
    const motion: Motion = {
      variancePerMs: 1,
      driftPerMs: 0,
      recent: { variancePerMs: 100, driftPerMs: -3, minutesVariancePerMs: 10 },
    };
    const soon = outlookOf(motion, 'fall', 1);
    const late = outlookOf(motion, 'fall', 30 * DAY);
    const still = outlookOf({ variancePerMs: 1, driftPerMs: 0 }, 'fall', 1);
    expect(soon.variance / still.variance).toBeCloseTo(100, 1);
    expect(late.variance / (30 * DAY) / still.variance).toBeCloseTo(1, 1);
    expect(soon.adverseMove).toBeCloseTo(3, 3);
    expect(outlookOf(motion, 'rise', 1).adverseMove).toBe(0);
    // A move of the last seconds ends.
    expect(late.adverseMove).toBeCloseTo(outlookOf(motion, 'fall', DAY).adverseMove, 6);
  });

  test('never decreases with time', () => {
    fc.assert(
      fc.property(
        motions,
        fc.constantFrom('fall', 'rise'),
        fc.double({ min: 1, max: 1e9, noNaN: true }),
        fc.double({ min: 1, max: 100, noNaN: true }),
        (motion, dangerous, horizonMs, more) => {
          const one = outlookOf(motion, dangerous, horizonMs);
          const two = outlookOf(motion, dangerous, horizonMs * more);
          expect(two.variance).toBeGreaterThanOrEqual(one.variance * (1 - 1e-9));
          expect(two.adverseMove).toBeGreaterThanOrEqual(one.adverseMove * (1 - 1e-9));
        },
      ),
    );
  });
});

describe('a barrier', () => {
  test('lies below if a fall is dangerous and above if a rise is, and is not reached again once passed', () => {
    const motion: Motion = { variancePerMs: 1, driftPerMs: 2 };
    expect(crossingOf(110, 100, 'fall', motion)).toEqual({
      logDistance: Math.log(1.1),
      motion,
      dangerous: 'fall',
    });
    expect(crossingOf(90, 100, 'rise', motion).logDistance).toBe(-Math.log(0.9));
    expect(crossingOf(90, 100, 'fall', motion).logDistance).toBe(0);
    expect(crossingOf(110, 100, 'rise', motion).logDistance).toBe(0);
  });
});

describe('median crossing time', () => {
  test('is the time at which the chance is one half', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-4, max: 0.5, noNaN: true }),
        motions,
        fc.constantFrom('fall', 'rise'),
        (logDistance, motion, dangerous) => {
          const crossing = { logDistance, motion, dangerous };
          const median = medianWithin(crossing);
          if (median.kind !== 'value') throw new Error('something moves');
          const chance = probabilityWithin(crossing, median.value);
          expect(chance.kind === 'value' && chance.value).toBeCloseTo(0.5, 5);
        },
      ),
      { numRuns: runsOf(1_000) },
    );
  });

  test('has closed forms for drift alone, at the barrier, and for no motion', () => {
    const of = (logDistance: number, driftPerMs: number) =>
      medianWithin({ logDistance, motion: { variancePerMs: 0, driftPerMs }, dangerous: 'rise' });
    const drifting = of(0.1, 0.05 / DAY);
    expect(drifting.kind === 'value' && drifting.value / DAY).toBeCloseTo(2, 6);
    expect(of(0, 0)).toEqual(known(0));
    expect(of(0.1, 0)).toEqual(NONE);
    expect(of(0.1, -1)).toEqual(NONE);
  });
});

describe('estimates from irregular samples', () => {
  const feed = (samples: readonly (readonly [number, number | undefined])[]): ForecastState | undefined => {
    let state: ForecastState | undefined;
    for (const [value, sinceMs] of samples) state = observe(state, value, sinceMs);
    return state;
  };

  test('recover volatility and drift of a seeded walk, on the average of its hours', () => {
    const dice = new Dice(7);
    let log = 10;
    let state = observe(undefined, Math.exp(log), undefined);
    const sums = { count: 0, variancePerMs: 0, driftPerMs: 0 };
    for (let i = 0; i < 20_000; i++) {
      const stepMs = 1_000 + dice.next() * 120_000;
      log += (0.5 * stepMs) / DAY + 0.04 * Math.sqrt(stepMs / DAY) * gaussian(dice);
      state = observe(state, Math.exp(log), stepMs);
      const motion = motionOf(state);
      if (i < 500 || motion.kind !== 'value' || state === undefined) continue;
      sums.count += 1;
      sums.variancePerMs += motion.value.variancePerMs;
      // The motion has a drift only where chance does not explain it.
      sums.driftPerMs += state.sumReturn / state.sumTimeMs;
    }
    expect(sums.count).toBe(19_500);
    expect(Math.sqrt((sums.variancePerMs / sums.count) * DAY)).toBeCloseTo(0.04, 2);
    expect(Math.abs((sums.driftPerMs / sums.count) * DAY - 0.5)).toBeLessThan(4 * (0.04 / Math.sqrt(10)));
  });

  test('show the drift of a steady rise, for any spacing of the samples', () => {
    const rise = (days: number): number => 100 * Math.exp(0.1 * days);
    const at = [0, 0.001, 0.0025, 0.003, 0.0041, 0.005, 0.0063, 0.0071, 0.0085, 0.009, 0.0101, 0.011, 0.0118];
    const state = feed(
      at.map((days, i) => [rise(days), i === 0 ? undefined : (days - (at[i - 1] ?? 0)) * DAY]),
    );
    const motion = motionOf(state);
    expect(motion.kind === 'value' && motion.value.driftPerMs * DAY).toBeCloseTo(0.1, 9);
  });

  test('are unknown for too few samples or too short a time', () => {
    const steps = (count: number, ms: number) =>
      feed([[100, undefined], ...Array.from({ length: count }, (_, i) => [100 + i, ms] as const)]);
    const reach = (count: number, ms: number) => {
      const motion = motionOf(steps(count, ms));
      return motion.kind === 'value' ? (motion.value.reachMs ?? 'any') : 'none';
    };
    expect(reach(MIN_RETURNS - 1, 60_000)).toBe(60_000);
    expect(reach(MIN_RETURNS, 60_000)).toBe('any');
    expect(reach(2, 10_000)).toBe('none');
    expect(reach(MIN_RETURNS, 200)).toBe('none');
    // A few seconds of samples give an estimate for a minute, not for longer.
    const seconds = motionOf(steps(MIN_RETURNS, 1_000));
    if (seconds.kind !== 'value') return expect.fail();
    const ahead = crossingOf(100, 90, 'fall', seconds.value);
    expect(probabilityWithin(ahead, 60_000).kind).toBe('value');
    expect(probabilityWithin(ahead, 61_000)).toEqual(unknown('tooFewSamples'));
    expect(medianWithin(ahead)).toEqual(unknown('tooFewSamples'));
    expect(motionOf(undefined)).toEqual({ kind: 'unknown', why: 'tooFewSamples' });
  });

  test('a sample of unknown time adds no return, however far it jumped', () => {
    const before = feed([
      [100, undefined],
      [101, 1_000],
    ]);
    const after = observe(before, 300, undefined);
    expect(after).toEqual({ ...before, lastLog: Math.log(300) });
  });

  test('a second sample at the same time, and values that are no prices, change nothing', () => {
    const state = feed([
      [100, undefined],
      [101, 1_000],
    ]);
    expect(observe(state, 102, 0)).toBe(state);
    for (const bad of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(observe(state, bad, 1_000)).toBe(state);
  });
});
