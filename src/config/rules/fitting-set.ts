import type { RuleSetName } from './rule-sets.ts';

/** The sets that act on positions, and the leverage up to which each is made (docs/rule-sets.md), gentlest first. */
export const MADE_FOR_LEVERAGE = {
  conservative: 5,
  balanced: 10,
  'last-resort': 10,
} as const satisfies Partial<Record<RuleSetName, number>>;

export type PositionSetName = keyof typeof MADE_FOR_LEVERAGE;

export const POSITION_SETS = Object.keys(MADE_FOR_LEVERAGE) as readonly PositionSetName[];

/** What a set did on the standard books within its leverage: shares are fractions, null where none was measured. */
export interface MeasuredSet {
  readonly prevented: number;
  /** Accounts that were liquidated without rules. */
  readonly doomed: number;
  readonly kept: number | null;
  /** What they kept without rules. */
  readonly without: number | null;
  /** Of the accounts that come through by themselves. */
  readonly givenUp: number | null;
  /** In 1,000 days of a position. */
  readonly falseActions: number | null;
}

/** The set for a leverage: above all of them the one that acts last, as the others would act soon after an opening. */
export function fittingSet(leverage: number): PositionSetName {
  return POSITION_SETS.find((name) => leverage <= MADE_FOR_LEVERAGE[name]) ?? 'last-resort';
}
