import { decimalFromNumber, toNumber } from '../../src/core/quantities/decimal.ts';
import {
  crossingOf,
  type ForecastState,
  type Motion,
  motionOf,
  observe,
  outlookOf,
  passageProbability,
  probabilityWithin,
} from '../../src/core/risk/forecast.ts';
import type { PriceSeries } from '../../src/simulator/prices/price-file.ts';
import { type PathModel, pathSource } from '../../src/simulator/prices/price-path.ts';

export const HORIZONS_MS: readonly number[] = [5_000, 60_000, 300_000, 900_000, 3_600_000];
/** Distances of the barriers on both sides, as fractions of the price. */
const DISTANCES = [0.002, 0.005, 0.01, 0.02, 0.04, 0.08] as const;
/** Bounds of the bins of chances. */
export const BOUNDS = [0, 0.01, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95, 1] as const;
const ASKED_EVERY_MS = 30_000;
/** A horizon of a smaller part of a candle than this asks for the way through it, which is a model's, not a market's. */
const LEAST_PART_OF_CANDLE = 1 / 12;

export interface Bin {
  count: number;
  sumCalled: number;
  happened: number;
}

/** Results for one horizon. Scores are sums of squared differences between forecast and outcome. */
export interface Tally {
  readonly bins: readonly Bin[];
  asked: number;
  happened: number;
  unknown: number;
  score: number;
  /** Score of a forecast that knows only the volatility and drift of the last hour. */
  hourScore: number;
  /** Per distance, for the score of a constant forecast: the share that happened at that distance. */
  readonly base: Map<number, { asked: number; happened: number }>;
}

export type Tallies = ReadonlyMap<number, Tally>;

export function newTallies(): Tallies {
  return new Map(
    HORIZONS_MS.map((horizonMs) => [
      horizonMs,
      {
        bins: BOUNDS.slice(1).map(() => ({ count: 0, sumCalled: 0, happened: 0 })),
        asked: 0,
        happened: 0,
        unknown: 0,
        score: 0,
        hourScore: 0,
        base: new Map(),
      },
    ]),
  );
}

/** The mean score of a constant forecast per distance: the share that happened there. */
export function baseScore({ base, asked }: Tally): number {
  let sum = 0;
  for (const { asked: count, happened } of base.values()) sum += happened * (1 - happened / count);
  return sum / asked;
}

export interface Walked {
  readonly series: PriceSeries;
  readonly model: PathModel;
  readonly seed: number;
  /** How often the price is polled. */
  readonly sampleMs: number;
}

/** Forecasts at every half minute of a file, and adds the outcomes. */
export function measure(walked: Walked, tallies: Tallies): void {
  const { sampleMs, series } = walked;
  const leastMs = series.kind === 'candles' ? series.candleMs * LEAST_PART_OF_CANDLE : 0;
  const samples = sampled(walked);
  const prices = samples.map(({ last }) => last);
  const ahead = new Map(
    HORIZONS_MS.map((horizonMs) => [
      horizonMs,
      extremes(samples, Math.max(1, Math.round(horizonMs / sampleMs))),
    ]),
  );
  const every = Math.max(1, Math.round(ASKED_EVERY_MS / sampleMs));
  let state: ForecastState | undefined;
  for (const [index, price] of prices.entries()) {
    state = observe(state, price, state === undefined ? undefined : sampleMs);
    const motion = motionOf(state);
    if (index % every !== every - 1) continue;
    for (const [horizonMs, tally] of tallies) {
      const reached = ahead.get(horizonMs)?.[index];
      if (reached === undefined || horizonMs < leastMs) continue;
      if (motion.kind === 'value') ask(tally, motion.value, { price, horizonMs, reached });
      else tally.unknown += 2 * DISTANCES.length;
    }
  }
}

interface Asked {
  readonly price: number;
  readonly horizonMs: number;
  readonly reached: Extremes;
}

function ask(tally: Tally, motion: Motion, { price, horizonMs, reached }: Asked): void {
  for (const dangerous of ['fall', 'rise'] as const) {
    for (const distance of DISTANCES) {
      const barrier = price * (dangerous === 'fall' ? 1 - distance : 1 + distance);
      const crossing = crossingOf(price, barrier, dangerous, motion);
      const chance = probabilityWithin(crossing, horizonMs);
      if (chance.kind !== 'value') {
        tally.unknown += 1;
        continue;
      }
      const happened = (dangerous === 'fall' ? reached.low <= barrier : reached.high >= barrier) ? 1 : 0;
      const { recent: _recent, ...hour } = motion;
      const byHour = passageProbability(crossing.logDistance, outlookOf(hour, dangerous, horizonMs));
      count(tally, distance, { called: chance.value, byHour, happened });
    }
  }
}

function count(
  tally: Tally,
  distance: number,
  {
    called,
    byHour,
    happened,
  }: { readonly called: number; readonly byHour: number; readonly happened: number },
): void {
  const index = BOUNDS.slice(1, -1).findIndex((bound) => called < bound);
  const bin = tally.bins.at(index);
  if (bin === undefined) throw new Error('every chance lies in a bin');
  bin.count += 1;
  bin.sumCalled += called;
  bin.happened += happened;
  tally.asked += 1;
  tally.happened += happened;
  tally.score += (called - happened) ** 2;
  tally.hourScore += (byHour - happened) ** 2;
  const base = tally.base.get(distance) ?? { asked: 0, happened: 0 };
  tally.base.set(distance, { asked: base.asked + 1, happened: base.happened + happened });
}

interface Extremes {
  readonly low: number;
  readonly high: number;
}

interface Sample extends Extremes {
  readonly last: number;
}

/** The price at every interval, and its extremes in between. */
function sampled({ series, model, seed, sampleMs }: Walked): readonly Sample[] {
  const source = pathSource({
    series,
    model,
    adverse: 'low',
    priceStep: decimalFromNumber(0.01),
    seed,
    market: 'BTC_PERP',
    startMs: 0,
    tickMs: 1_000,
  });
  const samples: Sample[] = [];
  let previous: ReturnType<typeof source.take> | undefined;
  let current: Sample | undefined;
  for (let atMs = source.nextMs(); atMs !== undefined; atMs = source.nextMs()) {
    while (current !== undefined && atMs >= (samples.length + 1) * sampleMs) {
      samples.push(current);
      current = { low: current.last, high: current.last, last: current.last };
    }
    previous = source.take(previous ?? decimalFromNumber(0));
    const last = toNumber(previous);
    current = {
      low: Math.min(last, current?.low ?? last),
      high: Math.max(last, current?.high ?? last),
      last,
    };
  }
  return samples;
}

/** Extremes over the next `ahead` samples, per sample; undefined where the file ends before. */
function extremes(samples: readonly Sample[], ahead: number): readonly (Extremes | undefined)[] {
  const lows = lowest(
    samples.map(({ low }) => low),
    ahead,
  );
  const highs = lowest(
    samples.map(({ high }) => -high),
    ahead,
  );
  return samples.map((_, index) =>
    index + ahead < samples.length ? { low: lows[index]!, high: -highs[index]! } : undefined,
  );
}

/** Minimum of the next `ahead` values after each index, by a monotonic queue. */
function lowest(values: readonly number[], ahead: number): Float64Array {
  const least = new Float64Array(values.length).fill(Number.NaN);
  const queue: number[] = [];
  let first = 0;
  for (let index = values.length - 2; index >= 0; index--) {
    const next = index + 1;
    while (queue.length > first && values[queue.at(-1)!]! >= values[next]!) queue.pop();
    queue.push(next);
    while (queue[first]! > index + ahead) first += 1;
    least[index] = values[queue[first]!]!;
  }
  return least;
}
