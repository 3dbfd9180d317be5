import { figures, type OutcomeTable, texts } from '../outcome-table.ts';
import { money, percent } from '../words.ts';
import type { StressCase, StressedAccount, StressRecord } from './stress.ts';

/** Totals of a case over all accounts; kept equity as a share of all equity at the start. */
export function totalsOf({ accounts }: StressCase) {
  const start = accounts.reduce((sum, { equityStart }) => sum + equityStart, 0);
  const share = (of: 'without' | 'withRules'): number =>
    start === 0 ? 0 : accounts.reduce((sum, account) => sum + account[of].equityEnd, 0) / start;
  return {
    accounts: accounts.length,
    liquidatedWithout: accounts.filter(({ without }) => without.liquidated).length,
    liquidatedWith: accounts.filter(({ withRules }) => withRules.liquidated).length,
    keptWithout: share('without'),
    keptWith: share('withRules'),
  };
}

export function scenarioTable({ cases }: StressRecord): OutcomeTable {
  const played = cases.filter(({ scenario }) => scenario.kind !== 'grid');
  return {
    columns: [
      ...texts('SCENARIO', 'EXCHANGE'),
      ...figures('LIQUIDATED WITHOUT', 'WITH RULES', 'EQUITY KEPT WITHOUT', 'WITH RULES'),
    ],
    rows: played.map((one) => {
      const { accounts, liquidatedWithout, liquidatedWith, keptWithout, keptWith } = totalsOf(one);
      const of = (count: number): string => `${count} of ${accounts}`;
      return [
        one.scenario.title,
        one.conditions,
        of(liquidatedWithout),
        of(liquidatedWith),
        percent(keptWithout),
        percent(keptWith),
      ];
    }),
  };
}

/** One row per account that was liquidated or had orders. */
export function accountTable({ cases }: StressRecord): OutcomeTable {
  const rows = cases
    .filter(({ scenario }) => scenario.kind !== 'grid')
    .flatMap(({ scenario, conditions, accounts }) =>
      accounts.filter(isTouched).map((account) => accountRow(scenario.title, conditions, account)),
    );
  return {
    columns: [
      ...texts('ACCOUNT', 'SCENARIO', 'EXCHANGE', 'WITHOUT', 'WITH RULES'),
      ...figures('EQUITY', 'KEPT WITHOUT', 'WITH RULES', 'CLOSED', 'ORDERS'),
    ],
    rows: rows.toSorted(([a = ''], [b = '']) => (a < b ? -1 : Number(a > b))),
  };
}

function isTouched({ without, withRules }: StressedAccount): boolean {
  return without.liquidated || withRules.liquidated || withRules.orders > 0;
}

function accountRow(
  title: string,
  conditions: string,
  { id, equityStart, without, withRules }: StressedAccount,
): string[] {
  return [
    id,
    title,
    conditions,
    fate(without.liquidated),
    fate(withRules.liquidated),
    money(equityStart),
    kept(equityStart, without.equityEnd),
    kept(equityStart, withRules.equityEnd),
    percent(withRules.closedFraction),
    String(withRules.orders),
  ];
}

export function fate(isLiquidated: boolean): string {
  return isLiquidated ? 'liquidated' : 'came through';
}

/** Portfolio margin's view: equity left after each instant move. */
export function gridTable({ cases }: StressRecord): OutcomeTable {
  const grid = cases.filter(({ scenario }) => scenario.kind === 'grid');
  const ids = grid[0]?.accounts.map(({ id }) => id) ?? [];
  return {
    columns: figures('MOVE', ...ids),
    rows: grid.map(({ scenario, accounts }) => [scenario.title].concat(accounts.map(gridCell))),
  };
}

export function gridCell({ equityStart, without, withRules }: StressedAccount): string {
  const share = kept(equityStart, withRules.equityEnd);
  return without.liquidated || withRules.liquidated ? `${share} liquidated` : share;
}

/** Equity left, in percent; empty if there was none at the start. */
export function kept(equityStart: number, equityEnd: number): string {
  return equityStart === 0 ? '' : percent(equityEnd / equityStart);
}

/** Names the scenario that costs most, in a sentence; undefined: nothing was played. */
export function worstCase({ cases }: StressRecord): string | undefined {
  const worst = cases
    .filter(({ scenario }) => scenario.kind !== 'grid')
    .toSorted((a, b) => totalsOf(a).keptWith - totalsOf(b).keptWith)[0];
  if (worst === undefined) return undefined;
  const { accounts, liquidatedWithout, liquidatedWith, keptWith } = totalsOf(worst);
  return (
    `Worst: ${worst.scenario.title} with a ${worst.conditions} exchange: ${liquidatedWithout} of ${accounts} liquidated, ` +
    `with your rules ${liquidatedWith}; ${percent(keptWith)} of all equity was left.`
  );
}
