import {
  MOST_STRESSED_ACCOUNTS,
  type StressedAccountCase,
  type StressedCase,
  type StressResult,
  type StressRun,
} from '../../core/view/stress-result.ts';
import type { StressCase } from '../../replay/stress/stress.ts';
import { totalsOf } from '../../replay/stress/stress-tables.ts';
import type { HeldBook } from './held-book.ts';

/** Kept sentences about what was left out; further ones are only counted. */
const MOST_SENTENCES = 10;

/** The kept part of a run: totals of every case, and the accounts that lose most. */
export function resultOfRun(run: StressRun, { accounts, leftOut }: HeldBook, cases: readonly StressCase[]) {
  return {
    ...run,
    accounts: accounts.length,
    leftOut: leftOut.slice(0, MOST_SENTENCES),
    leftOutCount: leftOut.length,
    cases: cases.map(caseOf),
    accountCases: accountCasesOf(cases),
  } satisfies StressResult;
}

function caseOf(played: StressCase): StressedCase {
  const { id, title, about } = played.scenario;
  const { accounts: _accounts, ...totals } = totalsOf(played);
  return { scenario: id, title, about, conditions: played.conditions, ...totals };
}

function accountCasesOf(cases: readonly StressCase[]): readonly StressedAccountCase[] {
  const all = cases.flatMap(({ scenario, conditions, accounts }) =>
    accounts.map(({ id, equityStart, without, withRules }): StressedAccountCase => {
      const kept = (equityEnd: number): number => (equityStart === 0 ? 0 : equityEnd / equityStart);
      return {
        accountId: id,
        scenario: scenario.id,
        conditions,
        liquidatedWithout: without.liquidated,
        liquidatedWith: withRules.liquidated,
        keptWithout: kept(without.equityEnd),
        keptWith: kept(withRules.equityEnd),
      };
    }),
  );
  const worst = Map.groupBy(all, ({ accountId }) => accountId);
  return [...worst.values()]
    .toSorted((a, b) => leastKept(a) - leastKept(b))
    .slice(0, MOST_STRESSED_ACCOUNTS)
    .flat();
}

function leastKept(cases: readonly StressedAccountCase[]): number {
  return Math.min(...cases.map(({ keptWith }) => keptWith));
}
