import { known, NONE, type Quantity, unknown } from '../quantities/quantity.ts';
import { erfcx } from './normal.ts';

/**
 * Memory of a positive series (a mark price, an LTV) for its forecast. Plain JSON; updated by `observe` only.
 *
 * Volatility is measured by how far the logarithm strays from its exponential mean over 15 s, not by returns: jitter
 * between polls says little about how far a price gets, and the polling rate must not matter.
 */
export interface ForecastState {
  readonly lastLog: number;
  /** Number of returns, unweighted. */
  readonly returns: number;
  /** Weighted sums over the last hour: of returns, of squared strays, and of time. */
  readonly sumReturn: number;
  readonly sumSquare: number;
  readonly sumTimeMs: number;
  /** Over the last seconds and minutes; absent: written by an older version. */
  readonly recent?: RecentSums;
}

export interface RecentSums {
  /** Distance of the logarithm from its mean of the last seconds. */
  readonly stray: number;
  /** Weighted sums over the last seconds. */
  readonly sumSquare: number;
  readonly sumTimeMs: number;
  /** The same over the last minutes. */
  readonly minutesSquare: number;
  readonly minutesTimeMs: number;
}

/** Motion of `ln` of a series: variance and mean growth per millisecond. */
export interface MotionPace {
  readonly variancePerMs: number;
  readonly driftPerMs: number;
}

/** Over the last hour. */
export interface Motion extends MotionPace {
  /** How far ahead it is reliable; absent: without limit. */
  readonly reachMs?: number;
  /** Over the last seconds and minutes; absent: unknown. */
  readonly recent?: MotionPace & { readonly minutesVariancePerMs: number };
}

/** A barrier as seen from a moving series. */
export interface Crossing {
  /** `|ln(value / barrier)|` while the barrier is not reached; 0 at or past it. */
  readonly logDistance: number;
  readonly motion: Motion;
  readonly dangerous: Danger;
}

/** The direction in which the barrier is reached. */
export type Danger = 'fall' | 'rise';

const STILL: Motion = { variancePerMs: 0, driftPerMs: 0 };

/** A barrier that is already reached or passed. */
export const REACHED: Crossing = { logDistance: 0, motion: STILL, dangerous: 'fall' };

/** Time in which a sample's weight falls to 1/e: for the hour, the minutes and the seconds. */
const HOUR_DECAY_MS = 3_600_000;
const MINUTES_DECAY_MS = 300_000;
const SECONDS_DECAY_MS = 15_000;
/** Minimum number of returns and of observed time. */
export const MIN_RETURNS = 10;
const MIN_OBSERVED_MS = 30_000;
/** The same for the last seconds, and how far ahead they count if nothing else is known. */
const MIN_RECENT_RETURNS = 3;
const MIN_RECENT_MS = 3_000;
const RECENT_REACH_MS = 60_000;

/**
 * How long the volatility of the last seconds lasts, then that of the last minutes; and the fraction of a stray from
 * the mean that is still to come, over its own duration. Fitted to real candles together with `VARIANCE_SHARE`: see
 * docs/forecasts.md.
 */
const SECONDS_LAST_MS = 20_000;
const MINUTES_LAST_MS = 900_000;
const STRAY_SHARE = 0.75;
const STRAY_LASTS_MS = 15_000;
/** Fraction of a walk's variance: markets revert more than walks do. */
const VARIANCE_SHARE = 0.6;

/**
 * Adds a sample taken `sinceLastMs` after the previous one. If that time is `undefined` (first sample, or another
 * process took over), the value only becomes the origin of the next return. A sample at the same time, or one that is
 * not positive and finite, changes nothing.
 */
export function observe(
  state: ForecastState | undefined,
  value: number,
  sinceLastMs: number | undefined,
): ForecastState | undefined {
  if (!(value > 0) || value === Number.POSITIVE_INFINITY) return state;
  const log = Math.log(value);
  if (state === undefined)
    return { lastLog: log, returns: 0, sumReturn: 0, sumSquare: 0, sumTimeMs: 0, recent: NO_SUMS };
  if (sinceLastMs === undefined) return { ...state, lastLog: log };
  if (!(sinceLastMs > 0)) return state;
  const change = log - state.lastLog;
  const recent = state.recent ?? NO_SUMS;
  const stray = recent.stray + change;
  const left = Math.exp(-sinceLastMs / SECONDS_DECAY_MS);
  // The expected square of a walk's stray is its variance per time, times the interval over (1 - left^2).
  const square = stray * stray * (1 - left * left);
  const keep = Math.exp(-sinceLastMs / HOUR_DECAY_MS);
  const keepMinutes = Math.exp(-sinceLastMs / MINUTES_DECAY_MS);
  return {
    lastLog: log,
    returns: state.returns + 1,
    sumReturn: state.sumReturn * keep + change,
    sumSquare: state.sumSquare * keep + square,
    sumTimeMs: state.sumTimeMs * keep + sinceLastMs,
    recent: {
      stray: stray * left,
      sumSquare: recent.sumSquare * left + square,
      sumTimeMs: recent.sumTimeMs * left + sinceLastMs,
      minutesSquare: recent.minutesSquare * keepMinutes + square,
      minutesTimeMs: recent.minutesTimeMs * keepMinutes + sinceLastMs,
    },
  };
}

const NO_SUMS: RecentSums = { stray: 0, sumSquare: 0, sumTimeMs: 0, minutesSquare: 0, minutesTimeMs: 0 };

/** Unknown until there are enough samples. */
export function motionOf(state: ForecastState | undefined): Quantity<Motion> {
  if (state === undefined) return unknown('tooFewSamples');
  const { returns, sumTimeMs, recent: sums } = state;
  const isRecent = sums !== undefined && returns >= MIN_RECENT_RETURNS && sums.minutesTimeMs >= MIN_RECENT_MS;
  const recent = isRecent ? recentOf(sums) : undefined;
  if (returns >= MIN_RETURNS && sumTimeMs >= MIN_OBSERVED_MS) {
    return known({ ...paceOf(state), ...(recent !== undefined && { recent }) });
  }
  if (recent === undefined) return unknown('tooFewSamples');
  return known({
    variancePerMs: recent.minutesVariancePerMs,
    driftPerMs: 0,
    reachMs: RECENT_REACH_MS,
    recent,
  });
}

function recentOf({ stray, sumSquare, sumTimeMs, minutesSquare, minutesTimeMs }: RecentSums) {
  return {
    variancePerMs: sumSquare / sumTimeMs,
    driftPerMs: (STRAY_SHARE * stray) / STRAY_LASTS_MS,
    minutesVariancePerMs: minutesSquare / minutesTimeMs,
  };
}

/** The drift counts only as far as chance does not explain it: a single step, however large, is no drift. */
function paceOf({ sumReturn, sumSquare, sumTimeMs, recent = NO_SUMS }: ForecastState): MotionPace {
  // Includes what the present stray will still add if nothing else happens.
  const squares = sumSquare + recent.stray * recent.stray;
  const significance = squares > 0 ? (sumReturn * sumReturn) / squares : 0;
  const share = Math.min(1, Math.max(0, (significance - CHANCE) / (CERTAIN - CHANCE)));
  return {
    variancePerMs: sumSquare / sumTimeMs,
    driftPerMs: share === 0 ? 0 : (share * sumReturn) / sumTimeMs,
  };
}

/** Squared deviations of a sum of returns up to which chance explains it, and from which it does not. */
const CHANCE = 4;
const CERTAIN = 9;

/** The crossing from `value` to `barrier`; `dangerous`: how the barrier is reached. Both must be positive. */
export function crossingOf(value: number, barrier: number, dangerous: Danger, motion: Motion): Crossing {
  const sign = dangerous === 'fall' ? 1 : -1;
  return { logDistance: Math.max(0, sign * Math.log(value / barrier)), motion, dangerous };
}

/** Forecast over a time: the variance of the logarithm, and its mean move in the dangerous direction. */
export interface Outlook {
  readonly variance: number;
  readonly adverseMove: number;
}

/**
 * The variance of the last seconds fades into that of the last minutes, and that into the hour's. A move of the last
 * seconds continues for about as long again.
 */
export function outlookOf(motion: Motion, dangerous: Danger, horizonMs: number): Outlook {
  const towards = dangerous === 'fall' ? -1 : 1;
  const { variancePerMs, driftPerMs, recent } = motion;
  if (recent === undefined) {
    const adverseMove = Math.max(0, towards * driftPerMs * horizonMs);
    return { variance: VARIANCE_SHARE * variancePerMs * horizonMs, adverseMove };
  }
  const secondsMs = fading(horizonMs, SECONDS_LAST_MS);
  const minutesMs = fading(horizonMs, MINUTES_LAST_MS);
  const variance =
    recent.variancePerMs * secondsMs +
    recent.minutesVariancePerMs * (minutesMs - secondsMs) +
    variancePerMs * (horizonMs - minutesMs);
  const soon = Math.max(0, towards * recent.driftPerMs) * fading(horizonMs, STRAY_LASTS_MS);
  const later = Math.max(0, towards * driftPerMs) * horizonMs;
  return { variance: VARIANCE_SHARE * variance, adverseMove: soon + later };
}

/** The integral of `exp(-t / lastsMs)` from 0 to `horizonMs`. */
function fading(horizonMs: number, lastsMs: number): number {
  return -lastsMs * Math.expm1(-horizonMs / lastsMs);
}

/** Chance of reaching the barrier within `horizonMs`; unknown beyond the reach of the motion. */
export function probabilityWithin(
  { logDistance, motion, dangerous }: Crossing,
  horizonMs: number,
): Quantity<number> {
  if (logDistance > 0 && horizonMs > (motion.reachMs ?? Number.POSITIVE_INFINITY))
    return unknown('tooFewSamples');
  return known(passageProbability(logDistance, outlookOf(motion, dangerous, Math.max(0, horizonMs))));
}

/** Shorter times count as now, longer ones as never. */
const [SHORTEST_MS, LONGEST_MS] = [1e-3, 1e13];

/** Time within which the barrier is reached in half of all cases, milliseconds; 0 at or past it, `none` if never. */
export function medianWithin({ logDistance, motion, dangerous }: Crossing): Quantity<number> {
  const pastHalf = (logMs: number): number =>
    passageProbability(logDistance, outlookOf(motion, dangerous, Math.exp(logMs))) - 0.5;
  if (logDistance <= 0) return known(0);
  const { reachMs } = motion;
  const longest = Math.log(reachMs ?? LONGEST_MS);
  if (pastHalf(longest) <= 0) return reachMs === undefined ? NONE : unknown('tooFewSamples');
  return known(Math.exp(zeroOf(pastHalf, Math.log(SHORTEST_MS), longest)));
}

/** Usually about 15 steps, about 50 where the function jumps. */
const MOST_STEPS = 100;
const EXACT = 1e-15;

/** Root of a rising function by the Illinois method: false position that halves the value at an end that stays. */
function zeroOf(rising: (x: number) => number, from: number, to: number): number {
  let [low, high, below, above] = [from, to, rising(from), rising(to)];
  if (below >= 0) return low;
  let middle = high;
  for (let step = 0, moved = 0; step < MOST_STEPS; step++) {
    const next = (low * above - high * below) / (above - below);
    if (next <= low || next >= high || Math.abs(next - middle) < EXACT) return next;
    middle = next;
    const value = rising(middle);
    if (value > 0) {
      if (moved > 0) below /= 2;
      [high, above, moved] = [middle, value, 1];
    } else {
      if (moved < 0) above /= 2;
      [low, below, moved] = [middle, value, -1];
    }
  }
  return middle;
}

/**
 * Chance that a walk reaches a barrier: with b the log distance, m the adverse move and s^2 the variance,
 * `Phi((m - b) / s) + exp(2mb / s^2) * Phi((-m - b) / s)`; 1 at or past the barrier. The second product is formed as
 * `exp(-((b - m) / s)^2 / 2) * erfcx((b + m) / (s * sqrt 2)) / 2`, which is the same and stays finite however large the
 * exponent.
 */
export function passageProbability(b: number, { variance, adverseMove: m }: Outlook): number {
  if (b <= 0) return 1;
  const spread = Math.sqrt(2 * variance);
  if (spread === 0) return m >= b ? 1 : 0;
  const short = (b - m) / spread;
  const long = (b + m) / spread;
  const scale = Math.exp(-short * short);
  if (short > 0) return scale === 0 ? 0 : Math.min(1, 0.5 * scale * (erfcx(short) + erfcx(long)));
  return Math.min(1, 1 - 0.5 * scale * (erfcx(-short) - erfcx(long)));
}
