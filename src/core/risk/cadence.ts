import type { FieldReader } from '../fields/field-cache.ts';
import type { CreditLineQuantities } from '../quantities/credit-line.ts';
import type { PositionQuantities } from '../quantities/position.ts';
import { known, type Quantity, unknown } from '../quantities/quantity.ts';
import { MS_PER_DAY, MS_PER_MINUTE, MS_PER_SECOND } from '../quantities/units.ts';
import type { Leaf } from '../rules/condition.ts';
import type { SubjectKey } from '../rules/subject.ts';
import { type Danger, type Motion, type MotionPace, outlookOf } from './forecast.ts';
import { normalCdf } from './normal.ts';

/** Why the next poll is due when it is. Closed list, also a metric label. */
export type CadenceReason =
  | 'calm'
  /** The price may have crossed a near threshold by then. */
  | 'nearThreshold'
  /** A rule is pending or firing, or its timers wait for data. */
  | 'ruleActive'
  /** The exchange calls for margin or liquidates. */
  | 'marginCall'
  /** A watched source is unread, too old, or does not show what was open. */
  | 'blind'
  /** The request budget allows less than the risk requires. */
  | 'budget';

export interface NextDue {
  readonly inMs: number;
  readonly reason: CadenceReason;
  readonly subject?: SubjectKey;
  /** True if an order may be needed by the next poll, as far as is known: that poll must not be dropped. */
  readonly isPressing?: true;
}

/** Deviations that a walk exceeds at its farthest, on either side, with a chance of 1e-4: `-Phi^-1(1e-4 / 2)`. */
const DEVIATIONS = 3.890_591_886_4;
/** Per square root of a day. Minimum for every market, since estimates lag behind the start of a crash. */
const LEAST_VOLATILITY_PER_DAY = 0.3;
const LEAST_VARIANCE_PER_MS = LEAST_VOLATILITY_PER_DAY ** 2 / MS_PER_DAY;
/**
 * Time in which a calm market may lose everything: 1 % per second (the worst minutes lost 6 to 10 %, one 40 %). Bounds
 * the interval to the next poll by the distance to liquidation and to levels that send orders.
 */
const CRASH_MS = 100 * MS_PER_SECOND;

/** Time within which a barrier is reached with a chance of 1e-4: `distance - aT = z * sigma * sqrt(T)`, a the drift. */
export function safeIntervalMs(distance: number, motion: MotionPace, towards: Danger): number {
  const b = Math.abs(distance);
  const z = DEVIATIONS * Math.sqrt(Math.max(motion.variancePerMs, LEAST_VARIANCE_PER_MS));
  const a = Math.max(0, towards === 'fall' ? -motion.driftPerMs : motion.driftPerMs);
  // For a = 0 this is (b / z)^2; this form avoids cancellation and a division by a.
  const root = (2 * b) / (z + Math.sqrt(z * z + 4 * a * b));
  return root * root;
}

const UNKNOWN_MOTION: Motion = { variancePerMs: LEAST_VARIANCE_PER_MS, driftPerMs: 0 };

/** The nearest levels above and below a value. */
export class NearestLevels {
  readonly value: number;
  /** 0: none. */
  lower = 0;
  /** Infinity: none. */
  upper = Number.POSITIVE_INFINITY;
  /** Distance to the nearest level that sends an order, a fraction of the value. */
  #toOrder = Number.POSITIVE_INFINITY;

  constructor(value: number) {
    this.value = value;
  }

  /** Ignores a level that is not a positive number. */
  add(level: number, asksForOrder = false): void {
    if (level <= this.value) {
      if (level > this.lower) this.lower = level;
    } else if (level < this.upper) this.upper = level;
    if (asksForOrder && level > 0) {
      this.#toOrder = Math.min(this.#toOrder, Math.abs(this.value - level) / this.value);
    }
  }

  /** The shorter of the safe intervals to both levels; infinite without levels. */
  safeIntervalMs(motion: Quantity<Motion>): number {
    const moving = motion.kind === 'value' ? motion.value : UNKNOWN_MOTION;
    const { value, lower, upper } = this;
    let soonest = Math.round(this.#toOrder * CRASH_MS);
    for (const pace of pacesOf(moving)) {
      if (lower > 0) soonest = Math.min(soonest, safeIntervalMs(Math.log(value / lower), pace, 'fall'));
      if (upper < Number.POSITIVE_INFINITY)
        soonest = Math.min(soonest, safeIntervalMs(Math.log(value / upper), pace, 'rise'));
    }
    return soonest;
  }
}

/** A rule's threshold on a field that follows the price (or the LTV). */
export interface LevelThreshold {
  readonly field: string;
  readonly threshold: number;
  /** Whether a rule with this threshold sends orders. */
  readonly asksForOrder?: true;
  /** For forecasts, which cross their threshold about this many deviations, of this much time, before the barrier. */
  readonly reach?: { readonly deviations: number; readonly windowMs: number };
}

/** Fields that depend on the price (or the LTV) alone, so that a threshold is a price (LTV) level. */
const FOLLOW_THE_PRICE: ReadonlySet<string> = new Set([
  'liquidationDistance',
  'jointDistance',
  'markPrice',
  'notional',
  'unrealizedPnl',
  'pnlPercent',
  'currentLtv',
  'ltvToMarginCall',
  'ltvToLiquidation',
  'collateralMayFall',
  'collateralMayFallToLiquidation',
]);

/** Distinct thresholds of conditions; `asksForOrder`: their rules send orders. */
export function levelThresholds(
  leaves: readonly Leaf[],
  fieldCache: FieldReader,
  asksForOrder = false,
): readonly LevelThreshold[] {
  const found = new Map<string, LevelThreshold>();
  for (const { slot, comparison } of leaves) {
    const field = fieldCache.slots[slot];
    if (field === undefined || (comparison.op !== 'below' && comparison.op !== 'above')) continue;
    const { threshold } = comparison;
    const reach = forecastReach(field.spec.name, threshold, field.parameter.windowMs);
    if (reach === undefined && !FOLLOW_THE_PRICE.has(field.spec.name)) continue;
    const key = JSON.stringify([field.spec.name, threshold, field.parameter.windowMs]);
    found.set(key, {
      field: field.spec.name,
      threshold,
      ...(asksForOrder && { asksForOrder }),
      ...(reach !== undefined && { reach }),
    });
  }
  return [...found.values()];
}

/** Deviations that a walk exceeds at its farthest, on one side, in half of all cases. */
const MEDIAN_DEVIATIONS = 0.674_489_750_196;

function forecastReach(
  field: string,
  threshold: number,
  windowMs: number | undefined,
): LevelThreshold['reach'] {
  if (field === 'minutesToLiquidation' || field === 'minutesToMarginCall') {
    return { deviations: MEDIAN_DEVIATIONS, windowMs: Math.max(0, threshold) * MS_PER_MINUTE };
  }
  if (windowMs === undefined || !field.endsWith('Probability')) return undefined;
  return { deviations: deviationsOf(threshold), windowMs };
}

/** `z` with `2 * Phi(-z) = chance`, by bisection. */
function deviationsOf(chance: number): number {
  let low = 0;
  let high = 38;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (2 * normalCdf(-middle) > chance) low = middle;
    else high = middle;
  }
  return low;
}

/** Log distance from the barrier at which a forecast crosses its threshold. */
function reachOf(
  { deviations, windowMs }: NonNullable<LevelThreshold['reach']>,
  motion: Quantity<Motion>,
  dangerous: Danger,
): number {
  if (motion.kind !== 'value') return 0;
  const reachMs = Math.min(windowMs, motion.value.reachMs ?? windowMs);
  const { variance, adverseMove } = outlookOf(motion.value, dangerous, reachMs);
  return adverseMove + deviations * Math.sqrt(variance);
}

/** The pace of the last hour, and of the last seconds if known. */
function pacesOf(motion: Motion): readonly MotionPace[] {
  return motion.recent === undefined ? [motion] : [motion, motion.recent];
}

/** Mark prices at which a position reaches a threshold or liquidation; `undefined` without a mark price. */
export function priceLevels(
  position: PositionQuantities,
  thresholds: readonly LevelThreshold[],
  motion: Quantity<Motion>,
): NearestLevels | undefined {
  const { markPrice, direction } = position;
  if (markPrice.kind !== 'value' || direction.kind !== 'value') return undefined;
  const dir = direction.value === 'long' ? 1 : -1;
  const mark = markPrice.value;
  const liquidation = orNaN(position.liquidationPrice);
  const pnlNow = orNaN(position.unrealizedPnl);
  const levelOf = ({ field, threshold, reach }: LevelThreshold): number => {
    if (reach !== undefined) {
      return liquidation * Math.exp(dir * reachOf(reach, motion, dir > 0 ? 'fall' : 'rise'));
    }
    const withPnl = (pnl: number): number => mark + (dir * (pnl - pnlNow)) / position.size;
    switch (field) {
      case 'liquidationDistance':
        return liquidation / (1 - dir * threshold);
      case 'markPrice':
        return threshold;
      case 'notional':
        return threshold / position.size;
      case 'unrealizedPnl':
        return withPnl(threshold);
      case 'pnlPercent':
        return withPnl((pnlNow / orNaN(position.pnlPercent)) * threshold);
      default:
        return Number.NaN;
    }
  };
  const levels = new NearestLevels(mark);
  levels.add(liquidation, true);
  for (const threshold of thresholds) levels.add(levelOf(threshold), threshold.asksForOrder);
  return levels;
}

/** Levels of a joint move, with all markets now at 1: thresholds and liquidation. `dir`: -1 if a rise is dangerous. */
export function jointLevels(
  distance: number,
  dir: 1 | -1,
  thresholds: readonly LevelThreshold[],
): NearestLevels {
  const levels = new NearestLevels(1);
  const liquidation = 1 - dir * distance;
  levels.add(liquidation, true);
  for (const { field, threshold, asksForOrder } of thresholds) {
    if (field === 'jointDistance') levels.add(liquidation / (1 - dir * threshold), asksForOrder);
  }
  return levels;
}

/** Motion of markets that move together: the highest variance and the fastest drift towards harm. */
export function jointMotion(motions: readonly Quantity<Motion>[], dir: 1 | -1): Quantity<Motion> {
  const paces = motions.flatMap((motion) => (motion.kind === 'value' ? pacesOf(motion.value) : []));
  if (paces.length === 0) return unknown('tooFewSamples');
  let variancePerMs = 0;
  let driftPerMs = 0;
  for (const pace of paces) {
    variancePerMs = Math.max(variancePerMs, pace.variancePerMs);
    driftPerMs = dir > 0 ? Math.min(driftPerMs, pace.driftPerMs) : Math.max(driftPerMs, pace.driftPerMs);
  }
  return known({ variancePerMs, driftPerMs });
}

/** LTVs at which a credit line reaches a threshold, its call or liquidation; `undefined` if the LTV is unknown or 0. */
export function ltvLevels(
  creditLine: CreditLineQuantities,
  thresholds: readonly LevelThreshold[],
  motion: Quantity<Motion>,
): NearestLevels | undefined {
  const current = creditLine.ltv('currentLtv');
  if (current.kind !== 'value' || current.value <= 0) return undefined;
  const call = orNaN(creditLine.ltv('marginCallLtv'));
  const end = orNaN(creditLine.ltv('liquidationLtv'));
  const levels = new NearestLevels(current.value);
  levels.add(call);
  levels.add(end);
  const levelOf = ({ field, threshold, reach }: LevelThreshold): number => {
    if (reach !== undefined) return call * Math.exp(-reachOf(reach, motion, 'rise'));
    switch (field) {
      case 'currentLtv':
        return threshold;
      case 'ltvToMarginCall':
        return threshold * call;
      case 'ltvToLiquidation':
        return threshold * end;
      case 'collateralMayFall':
        return (1 - threshold) * call;
      case 'collateralMayFallToLiquidation':
        return (1 - threshold) * end;
      default:
        return Number.NaN;
    }
  };
  for (const threshold of thresholds) levels.add(levelOf(threshold), threshold.asksForOrder);
  return levels;
}

/** NaN stands for unknown: no level can be computed from it. */
function orNaN(quantity: Quantity<number>): number {
  return quantity.kind === 'value' ? quantity.value : Number.NaN;
}

export interface CadenceBounds {
  readonly calmMs: number;
  readonly alertMs: number;
  /** Shortest interval that the request budget allows; 0: no limit. */
  readonly leastIntervalMs: number;
}

/** The next poll: the shortest safe interval, within `alertMs` and `calmMs`, extended to fit the request budget. */
export function nextDue(bounds: CadenceBounds, wanted: NextDue): NextDue {
  const inMs = Math.min(Math.max(wanted.inMs, bounds.alertMs), Math.max(bounds.calmMs, bounds.alertMs));
  if (inMs < bounds.leastIntervalMs) return { ...wanted, inMs: bounds.leastIntervalMs, reason: 'budget' };
  return { ...wanted, inMs };
}

export interface RequestBudget {
  readonly requests: number;
  readonly perMs: number;
  /** Part reserved for actions, a fraction. */
  readonly reserved: number;
}

/** Shortest time between polls of one account when several share a budget, milliseconds. */
export function leastIntervalMs(budget: RequestBudget, accounts: number, requestsPerPoll: number): number {
  const usable = budget.requests * (1 - budget.reserved);
  return usable > 0 ? (accounts * requestsPerPoll * budget.perMs) / usable : Number.MAX_SAFE_INTEGER;
}
