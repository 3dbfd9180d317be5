import type { RuleSetName } from './rule-sets.ts';

/** The rule sets that act on positions, each with its maximum leverage (docs/rule-sets.md), gentlest first. */
export const MADE_FOR_LEVERAGE = {
  conservative: 5,
  balanced: 10,
  'last-resort': 10,
} as const satisfies Partial<Record<RuleSetName, number>>;

export type PositionSetName = keyof typeof MADE_FOR_LEVERAGE;

export const POSITION_SETS = Object.keys(MADE_FOR_LEVERAGE) as readonly PositionSetName[];

/** Measured results of a set on the standard books within its leverage. Shares are fractions; null: not measured. */
export interface MeasuredSet {
  /** Prevented liquidations, of `doomed`. */
  readonly prevented: number;
  /** Accounts that were liquidated without rules. */
  readonly doomed: number;
  readonly kept: number | null;
  /** Share that the doomed accounts kept without rules. */
  readonly without: number | null;
  /** Share given up by accounts that survive without rules. */
  readonly givenUp: number | null;
  /** Per 1,000 position days. */
  readonly falseActions: number | null;
}

/**
 * Returns the set for a leverage. Above the maximum of all sets it is the one that acts last: the others would act soon
 * after a position opens.
 */
export function fittingSet(leverage: number): PositionSetName {
  return POSITION_SETS.find((name) => leverage <= MADE_FOR_LEVERAGE[name]) ?? 'last-resort';
}
