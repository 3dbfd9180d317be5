import type { OwnOrder } from '../lanes/own-order.ts';
import { type Decimal, toDecimal, ZERO } from '../quantities/decimal.ts';

/**
 * Whether older orders, which the market has certainly passed, explain the fall as well. A jump past a stop while a
 * reduction of its amount is on its way fills the stop and leaves the reduction standing.
 */
export function mayBeOthers(
  subset: readonly OwnOrder[],
  passed: readonly OwnOrder[],
  fall: Decimal,
): boolean {
  return subset.some((taken) => {
    const others = passed.filter((order) => order !== taken && order.sentMs < taken.sentMs);
    return subsetOfSum(others, fall) !== undefined;
  });
}

/**
 * Only so many of our orders on one position are matched with a fall: two ladders and two more. A fall that is not
 * matched makes all be replaced.
 */
const MAX_MATCHED = 12;

/** Returns orders that add up to `sum`: the fewest covers, as they lie farther away, then the fewest and oldest. */
export function subsetOfSum(own: readonly OwnOrder[], sum: Decimal): readonly OwnOrder[] | undefined {
  const candidates = own.slice(0, MAX_MATCHED);
  let best: readonly OwnOrder[] | undefined;
  // Goes from the last order to the first and tries to leave each out before taking it: of two equally good subsets the
  // one with the older orders stays.
  const extend = (subset: readonly OwnOrder[], left: Decimal, index: number): void => {
    if (left.eq(ZERO) && subset.length > 0 && (best === undefined || burden(subset) < burden(best)))
      best = subset;
    for (let next = 0; next < index; next++) {
      const order = candidates[next];
      if (order === undefined) continue;
      const rest = left.minus(toDecimal(order.amount));
      if (rest.gte(ZERO)) extend([order, ...subset], rest, next);
    }
  };
  extend([], sum, candidates.length);
  return best;
}

function burden(subset: readonly OwnOrder[]): number {
  const covers = subset.filter((order) => order.role === 'cover').length;
  return covers * MAX_MATCHED + subset.length;
}
