import { known, NONE, type Quantity, unknown } from '../quantities/quantity.ts';
import { erfcx } from './normal.ts';

/**
 * What is remembered of a positive series (a mark price, an LTV) to forecast it: exponentially weighted sums over
 * the log returns of irregular samples. Plain JSON; updated by `observe` only.
 */
export interface ForecastState {
  readonly lastLog: number;
  /** Returns seen, not weighted. */
  readonly returns: number;
  readonly sumReturn: number;
  readonly sumSquare: number;
  readonly sumTimeMs: number;
  /** The same over the last seconds; absent: from before there was such a thing. */
  readonly recent?: RecentSums;
}

export interface RecentSums {
  readonly sumReturn: number;
  readonly sumSquare: number;
  readonly sumTimeMs: number;
  /** Weighted sum of the fourth powers of returns. */
  readonly sumFourth: number;
  /** Weighted number of returns. */
  readonly count: number;
}

/** How `ln` of a series moves: variance and mean growth per millisecond. */
export interface Motion {
  readonly variancePerMs: number;
  readonly driftPerMs: number;
  /** How far ahead it can be counted on; absent: as far as one looks. */
  readonly reachMs?: number;
  /** How it moved in the last seconds; absent: not known, or all that is known. */
  readonly recent?: Motion;
}

/** A barrier seen from a moving series. */
export interface Crossing {
  /** `|ln(value / barrier)|` while the barrier is not reached; 0 at or past it. */
  readonly logDistance: number;
  readonly variancePerMs: number;
  /** Drift towards the barrier, 0 when it leads away. */
  readonly adverseDriftPerMs: number;
  /** As of the motion. */
  readonly reachMs?: number;
  readonly recent?: Crossing;
}

/** A barrier that is reached or passed. */
export const REACHED: Crossing = { logDistance: 0, variancePerMs: 0, adverseDriftPerMs: 0 };

/** Time in which the weight of a sample falls to 1/e: for the long run, and for the last seconds. */
export const FORECAST_DECAY_MS = 3_600_000;
const RECENT_DECAY_MS = 20_000;
/** How far ahead the last seconds tell: crashes go on for about as long as it takes to see them. */
const RECENT_REACH_MS = 60_000;
/** Fewer returns, or less time under observation, say nothing. */
export const MIN_RETURNS = 10;
const MIN_OBSERVED_MS = 30_000;
/**
 * The same for the last seconds, weighted, by how many returns carry them: polls that are far apart say nothing of
 * them, nor does a single step.
 */
const MIN_RECENT_RETURNS = 2.5;
const MIN_RECENT_MS = 3_000;

/**
 * Adds a sample taken `sinceLastMs` after the previous one; `undefined` when that time is not known (another
 * process took over, first sample): then the value only becomes the origin of the next return. A sample at the
 * same time, or one that is not positive and finite, changes nothing.
 */
export function observe(
  state: ForecastState | undefined,
  value: number,
  sinceLastMs: number | undefined,
  decayMs: number = FORECAST_DECAY_MS,
): ForecastState | undefined {
  if (!(value > 0) || value === Number.POSITIVE_INFINITY) return state;
  const log = Math.log(value);
  if (state === undefined)
    return { lastLog: log, returns: 0, sumReturn: 0, sumSquare: 0, sumTimeMs: 0, recent: NO_SUMS };
  if (sinceLastMs === undefined) return { ...state, lastLog: log };
  if (!(sinceLastMs > 0)) return state;
  const keep = Math.exp(-sinceLastMs / decayMs);
  const change = log - state.lastLog;
  return {
    lastLog: log,
    returns: state.returns + 1,
    sumReturn: state.sumReturn * keep + change,
    sumSquare: state.sumSquare * keep + change * change,
    sumTimeMs: state.sumTimeMs * keep + sinceLastMs,
    recent: recentSums(state.recent ?? NO_SUMS, change, sinceLastMs),
  };
}

const NO_SUMS: RecentSums = { sumReturn: 0, sumSquare: 0, sumTimeMs: 0, sumFourth: 0, count: 0 };

function recentSums(
  { sumReturn, sumSquare, sumTimeMs, sumFourth, count }: RecentSums,
  change: number,
  sinceLastMs: number,
): RecentSums {
  const keep = Math.exp(-sinceLastMs / RECENT_DECAY_MS);
  return {
    sumReturn: sumReturn * keep + change,
    sumSquare: sumSquare * keep + change * change,
    sumTimeMs: sumTimeMs * keep + sinceLastMs,
    sumFourth: sumFourth * keep + change ** 4,
    count: count * keep + 1,
  };
}

/**
 * Volatility and drift over the last hour, and over the last seconds as far as these say something: with the hour
 * alone a crash that has just begun is all but impossible. Unknown until there are enough samples.
 */
export function motionOf(state: ForecastState | undefined): Quantity<Motion> {
  if (state === undefined) return unknown('tooFewSamples');
  const { recent: sums } = state;
  const isRecent =
    sums !== undefined && carriedBy(sums) >= MIN_RECENT_RETURNS && sums.sumTimeMs >= MIN_RECENT_MS;
  const recent: Motion | undefined = isRecent ? { ...paceOf(sums), reachMs: RECENT_REACH_MS } : undefined;
  if (state.returns >= MIN_RETURNS && state.sumTimeMs >= MIN_OBSERVED_MS) {
    const motion = paceOf(state);
    return known(recent === undefined ? motion : { ...motion, recent });
  }
  return recent === undefined ? unknown('tooFewSamples') : known(recent);
}

/** How many equal returns would make the same sums. */
function carriedBy({ sumSquare, sumFourth, count }: RecentSums): number {
  return sumFourth > 0 ? Math.min(count, (sumSquare * sumSquare) / sumFourth) : count;
}

/**
 * The weighted sum of squared (plain) returns over the weighted time. The drift is not taken off the variance: over
 * the short steps of polling it is smaller by orders, and leaving it errs high. It counts as far as chance does not
 * explain it: one step is no drift, however large.
 */
function paceOf({
  sumReturn,
  sumSquare,
  sumTimeMs,
}: Pick<RecentSums, 'sumReturn' | 'sumSquare' | 'sumTimeMs'>): Pick<Motion, 'variancePerMs' | 'driftPerMs'> {
  const significance = sumSquare > 0 ? (sumReturn * sumReturn) / sumSquare : 0;
  const share = Math.min(1, Math.max(0, (significance - CHANCE) / (CERTAIN - CHANCE)));
  return {
    variancePerMs: sumSquare / sumTimeMs,
    driftPerMs: share === 0 ? 0 : (share * sumReturn) / sumTimeMs,
  };
}

/** Squared deviations of a sum of returns that chance explains, and that it does not. */
const CHANCE = 1;
const CERTAIN = 4;

/** The way from `value` to `barrier`; `fall` when the barrier is dangerous from above. Both must be positive. */
export function crossingOf(
  value: number,
  barrier: number,
  dangerous: 'fall' | 'rise',
  motion: Motion,
): Crossing {
  const sign = dangerous === 'fall' ? 1 : -1;
  const { recent, reachMs } = motion;
  return {
    logDistance: Math.max(0, sign * Math.log(value / barrier)),
    variancePerMs: motion.variancePerMs,
    adverseDriftPerMs: Math.max(0, -sign * motion.driftPerMs),
    ...(reachMs === undefined ? {} : { reachMs }),
    ...(recent === undefined ? {} : { recent: crossingOf(value, barrier, dangerous, recent) }),
  };
}

/**
 * Chance of reaching the barrier within `horizonMs`: the larger one of what the last hour and what the last seconds
 * say, the latter as far ahead as they reach. Unknown beyond that where they are all that is known.
 */
export function probabilityWithin(crossing: Crossing, horizonMs: number): Quantity<number> {
  const { reachMs = Number.POSITIVE_INFINITY, recent, logDistance } = crossing;
  if (logDistance > 0 && horizonMs > reachMs) return unknown('tooFewSamples');
  const chance = crossingProbability(crossing, horizonMs);
  if (recent === undefined) return known(chance);
  const soonMs = Math.min(horizonMs, recent.reachMs ?? horizonMs);
  return known(Math.max(chance, crossingProbability(recent, soonMs)));
}

/** Time after which it has been reached in half of all cases: the sooner one of the two. */
export function medianWithin(crossing: Crossing): Quantity<number> {
  const { reachMs, recent } = crossing;
  const median = medianCrossingMs(crossing);
  if (reachMs !== undefined) {
    return median.kind === 'value' && median.value <= reachMs ? median : unknown('tooFewSamples');
  }
  const soon = recent === undefined ? NONE : medianCrossingMs(recent);
  if (soon.kind !== 'value' || soon.value > (recent?.reachMs ?? 0)) return median;
  return median.kind === 'value' && median.value < soon.value ? median : soon;
}

/**
 * Chance of reaching the barrier within `horizonMs`: with b the log distance, a the adverse drift and
 * s = sigma * sqrt(T), `Phi((aT - b) / s) + exp(2ab / sigma^2) * Phi((-aT - b) / s)`; 1 at or past the barrier.
 * The second product is formed as `exp(-((b - aT) / s)^2 / 2) * erfcx((b + aT) / (s * sqrt 2)) / 2`, which is the
 * same and stays finite however large the exponent.
 */
export function crossingProbability(crossing: Crossing, horizonMs: number): number {
  const { logDistance: b, adverseDriftPerMs: a, variancePerMs } = crossing;
  if (b <= 0) return 1;
  if (horizonMs <= 0) return 0;
  const spread = Math.sqrt(2 * variancePerMs * horizonMs);
  if (spread === 0) return a * horizonMs >= b ? 1 : 0;
  const short = (b - a * horizonMs) / spread;
  const long = (b + a * horizonMs) / spread;
  const scale = Math.exp(-short * short);
  if (short > 0) return scale === 0 ? 0 : Math.min(1, 0.5 * scale * (erfcx(short) + erfcx(long)));
  return Math.min(1, 1 - 0.5 * scale * (erfcx(-short) - erfcx(long)));
}

/** `Phi^-1(3/4)`: a driftless walk has reached a barrier so many deviations away in half of all cases. */
const MEDIAN_DEVIATIONS = 0.674_489_750_196_081_7;

/**
 * Time after which the barrier has been reached in half of all cases, milliseconds; 0 at or past it, `none` when
 * nothing moves towards it. Driftless it is `(b / (0.674 sigma))^2`, with drift alone `b / a`; both bound the
 * general case from above.
 */
export function medianCrossingMs(crossing: Crossing): Quantity<number> {
  const { logDistance: b, adverseDriftPerMs: a, variancePerMs } = crossing;
  if (b <= 0) return known(0);
  const byVolatility = (b / MEDIAN_DEVIATIONS) ** 2 / variancePerMs;
  const byDrift = b / a;
  let high = Math.min(byVolatility, byDrift);
  if (!Number.isFinite(high)) return NONE;
  if (a === 0 || variancePerMs === 0) return known(high);
  // Newton's steps in ln T, kept inside a bracket that shrinks with each of them.
  let low = 0;
  let time = high;
  for (let step = 0; step < MAX_STEPS && high - low > high * MEDIAN_PRECISION; step++) {
    const excess = crossingProbability(crossing, time) - 0.5;
    if (excess > 0) high = time;
    else low = time;
    const newton = time * Math.exp(-excess / (time * crossingDensity(crossing, time)));
    if (Math.abs(newton - time) <= time * MEDIAN_PRECISION) return known(newton);
    time = newton > low && newton < high ? newton : (low + high) / 2;
  }
  return known(time);
}

const MAX_STEPS = 200;
const MEDIAN_PRECISION = 1e-7;

/** Density of the first-passage time, per millisecond: `b / (sigma sqrt(2 pi T^3)) exp(-(b - aT)^2 / (2 sigma^2 T))`. */
function crossingDensity(
  { logDistance: b, adverseDriftPerMs: a, variancePerMs }: Crossing,
  timeMs: number,
): number {
  const variance = variancePerMs * timeMs;
  const gap = b - a * timeMs;
  return (b / (timeMs * Math.sqrt(2 * Math.PI * variance))) * Math.exp((-gap * gap) / (2 * variance));
}
