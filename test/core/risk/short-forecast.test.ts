import { describe, expect, test } from 'vitest';
import {
  crossingOf,
  type ForecastState,
  motionOf,
  observe,
  probabilityWithin,
} from '../../../src/core/risk/forecast.ts';

/** Of events forecast as 20 % likely, 10 to 40 % happen. */
const CALLED = 0.2;
const LEAST = 0.1;
const MOST = 0.4;

interface Tally {
  called: number;
  happened: number;
}

/** The price that a forecast reaches within a time with the chance CALLED; undefined if it is unknown. */
function barrierOf(state: ForecastState, mark: number, dangerous: 'fall' | 'rise', horizonMs: number) {
  const motion = motionOf(state);
  if (motion.kind !== 'value') return undefined;
  const sign = dangerous === 'fall' ? -1 : 1;
  const chanceOf = (distance: number) =>
    probabilityWithin(crossingOf(mark, mark * Math.exp(sign * distance), dangerous, motion.value), horizonMs);
  let [near, far] = [1e-7, 3];
  for (let step = 0; step < 40; step++) {
    const middle = Math.sqrt(near * far);
    const chance = chanceOf(middle);
    if (chance.kind !== 'value') return undefined;
    if (chance.value > CALLED) near = middle;
    else far = middle;
  }
  return mark * Math.exp(sign * Math.sqrt(near * far));
}

const share = ({ called, happened }: Tally): number => happened / called;

/** A reproducible uniform stream (mulberry32). */
function randomStream(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Second {
  readonly end: number;
  readonly low: number;
  readonly high: number;
}

const PERSISTENCE_S = 1_800;

/**
 * A walk second by second, with the extremes that a walk without steps has in between. Its volatility rises and falls
 * within about half an hour, as in real markets.
 */
function restlessPath(seed: number, seconds: number): readonly Second[] {
  const random = randomStream(seed);
  const gaussian = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const path: Second[] = [];
  let mood = 0;
  let end = 0;
  for (let second = 0; second < seconds; second++) {
    mood += -mood / PERSISTENCE_S + 0.4 * Math.sqrt(2 / PERSISTENCE_S) * gaussian();
    const sigma = 0.000_2 * Math.exp(mood);
    const step = sigma * gaussian();
    const reach = (): number => Math.sqrt(step * step - 2 * sigma * sigma * Math.log(1 - random()));
    path.push({ end: end + step, low: end + (step - reach()) / 2, high: end + (step + reach()) / 2 });
    end += step;
  }
  return path;
}

describe('forecasts of the seconds to come', () => {
  test.each([5, 20, 60])('of events forecast as 20 % likely within %i s, 10 to 40 % happen', (seconds) => {
    const tallies = { fall: { called: 0, happened: 0 }, rise: { called: 0, happened: 0 } };
    for (const seed of [1, 2, 3]) {
      const path = restlessPath(seed, 4 * 3_600);
      let state: ForecastState | undefined;
      for (const [index, { end }] of path.entries()) {
        state = observe(state, Math.exp(end), state === undefined ? undefined : 1_000);
        const following = path.slice(index + 1, index + 1 + seconds);
        if (state === undefined || index < 3_600 || index % 3 !== 0 || following.length < seconds) continue;
        for (const dangerous of ['fall', 'rise'] as const) {
          const barrier = barrierOf(state, Math.exp(end), dangerous, seconds * 1_000);
          if (barrier === undefined) continue;
          const far = Math.log(barrier);
          const isReached = following.some(({ low, high }) =>
            dangerous === 'fall' ? low <= far : high >= far,
          );
          tallies[dangerous].called += 1;
          if (isReached) tallies[dangerous].happened += 1;
        }
      }
    }
    for (const [dangerous, tally] of Object.entries(tallies)) {
      expect(tally.called).toBeGreaterThan(5_000);
      expect([
        dangerous,
        share(tally) >= LEAST && share(tally) <= MOST ? 'calibrated' : share(tally),
      ]).toEqual([dangerous, 'calibrated']);
    }
  });

  /** An hour of calm at one sample a second, then a fall at the speed of the worst minute of 2020. */
  const intoCrash = (fallingS: number): ForecastState => {
    const random = randomStream(5);
    let log = 0;
    let state = observe(undefined, 1, undefined);
    for (let second = 1; second <= 3_600 + fallingS; second++) {
      log += second > 3_600 ? -0.0016 : 0.000_05 * (random() - 0.5);
      state = observe(state, Math.exp(log), 1_000);
    }
    return state ?? expect.fail();
  };

  test('show a crash that has just begun, which an hour of samples alone calls almost impossible', () => {
    const motion = motionOf(intoCrash(10));
    if (motion.kind !== 'value') return expect.fail();
    const { recent: _recent, ...hour } = motion.value;
    const chance = (of: typeof motion.value, distance: number) =>
      probabilityWithin(crossingOf(1, 1 - distance, 'fall', of), 5_000);
    const seen = chance(motion.value, 0.004);
    expect(seen.kind === 'value' && seen.value).toBeGreaterThan(0.3);
    const alone = chance(hour, 0.004);
    expect(alone.kind === 'value' && alone.value).toBeLessThan(0.01);
  });

  test('one step of 0.5 % after a quiet minute forecasts no certain liquidation within the hour', () => {
    let state = observe(undefined, 100, undefined);
    for (let second = 0; second < 60; second++) state = observe(state, 100, 1_000);
    state = observe(state, 99.5, 1_000);
    const motion = motionOf(state);
    if (motion.kind !== 'value') return expect.fail();
    const chance = probabilityWithin(crossingOf(99.5, 95, 'fall', motion.value), 3_600_000);
    expect(chance.kind === 'value' && chance.value).toBeLessThan(0.1);
    // Nor a likely one within the next seconds.
    const soon = probabilityWithin(crossingOf(99.5, 99, 'fall', motion.value), 5_000);
    expect(soon.kind === 'value' && soon.value).toBeLessThan(0.05);
  });
});
