import {
  type Decimal,
  decimalFromNumber,
  divide,
  maxDecimal,
  roundToStep,
} from '../../core/quantities/decimal.ts';
import { createRandom } from '../scenarios/random.ts';

/** Prices of one market in virtual time. The market takes each at its time and passes its last price. */
export interface PriceSource {
  /** Unix milliseconds of the next price; `undefined` if ended, and the price stays. */
  nextMs(): number | undefined;
  take(last: Decimal): Decimal;
}

export interface PricePoint {
  readonly atMs: number;
  readonly price: Decimal;
}

/** Plays the points, which must be in order of time. */
export function sourceFromPoints(points: Iterable<PricePoint>): PriceSource {
  const iterator = points[Symbol.iterator]();
  let upcoming = iterator.next();
  return {
    nextMs: () => (upcoming.done === true ? undefined : upcoming.value.atMs),
    take: (last) => {
      if (upcoming.done === true) return last;
      const { price } = upcoming.value;
      upcoming = iterator.next();
      return price;
    },
  };
}

/** Yields the points and, every `tickMs` between two of them, a straight line rounded to the price step. */
export function* interpolate(
  points: Iterable<PricePoint>,
  tickMs: number,
  priceStep: Decimal,
): Generator<PricePoint> {
  let from: PricePoint | undefined;
  for (const to of points) {
    if (from !== undefined) yield* between(from, to, tickMs, priceStep);
    yield to;
    from = to;
  }
}

function* between(
  from: PricePoint,
  to: PricePoint,
  tickMs: number,
  priceStep: Decimal,
): Generator<PricePoint> {
  const span = to.atMs - from.atMs;
  const rise = to.price.minus(from.price);
  for (let elapsed = tickMs; elapsed < span; elapsed += tickMs) {
    const part = divide(rise.times(decimalFromNumber(elapsed)), decimalFromNumber(span), 12, 'halfUp');
    const price = maxDecimal(priceStep, roundToStep(from.price.plus(part), priceStep, 'halfUp'));
    yield { atMs: from.atMs + elapsed, price };
  }
}

export interface WalkSpec {
  readonly seed: number;
  readonly startMs: number;
  readonly tickMs: number;
  readonly priceStep: Decimal;
  /** Standard deviation of the relative change per square root of a day (0.04 = 4 % a day). */
  readonly dailyVolatility: number;
  /** Expected number of jumps a day, and their largest relative size. */
  readonly jumpsPerDay: number;
  readonly jumpSize: number;
}

const DAY_MS = 86_400_000;
/** No single tick changes the price by more than half. */
const LARGEST_CHANGE = 0.5;

/** Seeded random walk with jumps; never ends, never falls below one price step. */
export function walkSource(spec: WalkSpec): PriceSource {
  const random = createRandom(spec.seed);
  const deviation = spec.dailyVolatility * Math.sqrt(spec.tickMs / DAY_MS);
  const jumpChance = (spec.jumpsPerDay * spec.tickMs) / DAY_MS;
  let atMs = spec.startMs;
  return {
    nextMs: () => atMs + spec.tickMs,
    take: (last) => {
      atMs += spec.tickMs;
      const jump = random.uniform() < jumpChance ? (random.uniform() * 2 - 1) * spec.jumpSize : 0;
      const change = random.normal() * deviation + jump;
      const bounded = Math.min(LARGEST_CHANGE, Math.max(-LARGEST_CHANGE, change));
      const factor = decimalFromNumber(1 + Math.round(bounded * 1e9) / 1e9);
      const price = roundToStep(last.times(factor), spec.priceStep, 'halfUp');
      return price.gte(spec.priceStep) ? price : spec.priceStep;
    },
  };
}
