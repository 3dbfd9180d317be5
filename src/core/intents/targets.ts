import {
  type Decimal,
  type DecimalString,
  decimalFromNumber,
  divide,
  maxDecimal,
  minDecimal,
  ONE,
  roundToStep,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import type { ReduceTarget } from '../rules/rule.ts';
import type { Direction } from '../rules/subject.ts';

/** The position when the rule fired for it. Targets are computed from it once, and never compound. */
export interface FiringBasis {
  readonly sizeBase: DecimalString;
  readonly markPrice: DecimalString | null;
  readonly distance: number | null;
}

/** The margin behind a position: only its own, so that reducing it does not move its liquidation price, or shared. */
export interface KnownMargin {
  readonly positionId: string;
  /** Open date of the position it applies to, Unix seconds. */
  readonly openDate: number | null;
  readonly direction: Direction | null;
  readonly margin: 'own' | 'shared';
  /** Learned from a list of the account's positions, or from what a reduction did to the liquidation price. */
  readonly from: 'list' | 'reduction';
}

/** Price at which a position's pool is used up if all markets move together, nearer than its own liquidation price. */
export interface JointLimit {
  readonly positionId: string;
  readonly liquidationPrice: DecimalString;
  readonly atMs: number;
}

export type FixedTarget = Extract<ReduceTarget, { readonly kind: 'by' | 'to' | 'toNotional' }>;

/** Exact, at most the size at firing. `undefined`: `toNotional` without a mark price. */
export function fixedTarget(target: FixedTarget, basis: FiringBasis): Decimal | undefined {
  const size = toDecimal(basis.sizeBase);
  switch (target.kind) {
    case 'by':
      return size.times(ONE.minus(decimalFromNumber(target.fraction)));
    case 'to':
      return size.times(decimalFromNumber(target.fraction));
    case 'toNotional': {
      if (basis.markPrice === null) return undefined;
      const notional = toDecimal(target.notional as DecimalString);
      return minDecimal(size, divide(notional, toDecimal(basis.markPrice), TARGET_PLACES, 'up'));
    }
  }
}

/** More digits than any amount step. */
const TARGET_PLACES = 30;

/** Rounded up to the step, within [0, size]. */
export function clampTarget(target: Decimal, size: Decimal, market: MarketSettings): Decimal {
  const positive = maxDecimal(target, ZERO);
  return minDecimal(roundToStep(positive, toDecimal(market.amountStep), 'up'), size);
}

export interface DistanceInputs {
  readonly sizeBase: Decimal;
  /** Size of the opposite side of the same market (hedge mode), zero without one. */
  readonly otherSideBase: Decimal;
  readonly direction: Direction;
  readonly distance: number;
  readonly wanted: number;
}

/**
 * Returns the size at which the liquidation price is `wanted` away, rounded up to the step. `undefined`: reducing this
 * side does not help.
 * At distance d the equity per unit of price is `N*d + m*G*(1 - dir*d)`, with N the net and G the gross size, and m the
 * maintenance rate. A reduction by r takes r from both and leaves the equity unchanged:
 * `r = (wanted - d) * (N - dir*m*G) / (wanted + m*(1 - dir*wanted))`.
 * One-sided this is `size * (d + m') / (wanted + m')`, with `m' = m/(1-m)` long and `m/(1+m)` short.
 */
export function distanceTarget(inputs: DistanceInputs, market: MarketSettings): Decimal | undefined {
  const { sizeBase, otherSideBase, distance, wanted } = inputs;
  if (distance >= wanted) return sizeBase;
  const sign = inputs.direction === 'long' ? 1 : -1;
  const rate = market.maintenanceMargin;
  const net = sizeBase.minus(otherSideBase);
  const gross = sizeBase.plus(otherSideBase);
  const lever = net.minus(gross.times(decimalFromNumber(sign * rate)));
  if (lever.lte(ZERO)) return undefined;
  const share = (wanted - distance) / (wanted + rate * (1 - sign * wanted));
  const reduction = lever.times(decimalFromNumber(share));
  return clampTarget(sizeBase.minus(reduction), sizeBase, market);
}

/** The smallest amount that an order may have; `price`: its limit price, if its total may be too small. */
export function leastAmount({ amountStep, minAmount, bounds }: MarketSettings, price?: Decimal): Decimal {
  const step = toDecimal(amountStep);
  const least = maxDecimal(step, toDecimal(minAmount));
  if (price === undefined || bounds?.minTotal === undefined) return least;
  const ofTotal = divide(toDecimal(bounds.minTotal), price, TARGET_PLACES, 'up');
  return maxDecimal(least, roundToStep(ofTotal, step, 'up'));
}

/** So many parts of a reduction stand at once, where one order may not have all of it. */
export const MOST_PARTS = 4;

/** An amount, or the largest that one order may have: more follows once that order has filled. */
export function asOneOrder(amount: Decimal, market: MarketSettings): Decimal {
  if (market.bounds?.mostAmount === undefined) return amount;
  const most = roundToStep(toDecimal(market.bounds.mostAmount), toDecimal(market.amountStep), 'down');
  // Where not even the least amount fits, the exchange's refusal says so.
  return minDecimal(amount, maxDecimal(most, leastAmount(market)));
}

/** Why a size counts as at its target; `undefined` while something is left to do. */
export function reachedBy(
  size: Decimal,
  target: Decimal,
  market: MarketSettings,
): 'target' | 'dust' | undefined {
  if (size.lte(target)) return 'target';
  // A target of zero may send the minimum amount, which the exchange trims (specification 4.4, rule 2).
  if (target.eq(ZERO)) return undefined;
  return size.minus(target).lt(leastAmount(market)) ? 'dust' : undefined;
}

/** The same for a target that falls with the market: `tolerance`, a part of the reduction asked for, may be left. */
export function distanceReachedBy(
  size: Decimal,
  target: Decimal,
  { basis, tolerance }: { readonly basis: Pick<FiringBasis, 'sizeBase'>; readonly tolerance: number },
  market: MarketSettings,
): 'target' | 'dust' | 'tolerance' | undefined {
  const why = reachedBy(size, target, market);
  if (why !== undefined || target.eq(ZERO)) return why;
  const asked = toDecimal(basis.sizeBase).minus(target);
  return size.minus(target).lte(asked.times(decimalFromNumber(tolerance))) ? 'tolerance' : undefined;
}

/** The largest size below this one that one order reaches. */
export function sizeBelow(size: Decimal, market: MarketSettings): Decimal {
  return maxDecimal(ZERO, roundToStep(size.minus(leastAmount(market)), toDecimal(market.amountStep), 'down'));
}

/** Returns the amount to send: whole steps that do not cross the target; for zero, at least the minimum amount. */
export function reductionAmount(size: Decimal, target: Decimal, market: MarketSettings): Decimal {
  if (reachedBy(size, target, market) !== undefined) return ZERO;
  const step = toDecimal(market.amountStep);
  if (!target.eq(ZERO)) return roundToStep(size.minus(target), step, 'down');
  return roundToStep(maxDecimal(size, toDecimal(market.minAmount)), step, 'up');
}

/** Returns the target, raised so that it takes away no more than `share` of the size at firing. */
export function boundedTarget(
  target: Decimal,
  basis: FiringBasis,
  share: number,
  market: MarketSettings,
): Decimal {
  const size = toDecimal(basis.sizeBase);
  const floor = clampTarget(size.times(ONE.minus(decimalFromNumber(share))), size, market);
  return maxDecimal(target, floor);
}
