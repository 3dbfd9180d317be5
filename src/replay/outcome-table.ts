import { type AccountRecord, accountIds, type ReplayRecord, UNPROTECTED } from './record.ts';
import { variantWords } from './summary.ts';
import { money, percent, span } from './words.ts';

/** A table for the terminal and the page. */
export interface OutcomeTable {
  readonly columns: readonly { readonly title: string; readonly align?: 'right' }[];
  readonly rows: readonly (readonly string[])[];
}

type Columns = OutcomeTable['columns'];

export function texts(...titles: readonly string[]): Columns {
  return titles.map((title) => ({ title }));
}

export function figures(...titles: readonly string[]): Columns {
  return titles.map((title) => ({ title, align: 'right' }));
}

const COLUMNS: Columns = [
  ...texts('ACCOUNT', 'VARIANT', 'LIQUIDATED'),
  ...figures('EQUITY', 'AT THE END', 'KEPT', 'CLOSED', 'ORDERS', 'FEES + SLIPPAGE', 'BREACH TO FILL'),
  ...texts('NOTE'),
];

/** Every account without and with rules, over all paths. Where paths differ, a cell shows the range. */
export function outcomeTable({ runs }: ReplayRecord): OutcomeTable {
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const of = (id: string, variant: string): readonly AccountRecord[] =>
    runs
      .filter((run) => run.variant === variant)
      .flatMap(({ accounts }) => accounts.filter((account) => account.id === id));
  const row = (id: string, variant: string, index: number): readonly string[] => [
    index === 0 ? id : '',
    variantWords(variant),
    ...cells(of(id, variant)),
    variant === UNPROTECTED ? '' : hindsight(of(id, UNPROTECTED), of(id, variant)),
  ];
  const rows = accountIds(runs).flatMap((id) => variants.map((variant, index) => row(id, variant, index)));
  return { columns: COLUMNS, rows };
}

function cells(accounts: readonly AccountRecord[]): readonly string[] {
  const dead = accounts.filter(({ liquidatedAtMs }) => liquidatedAtMs !== null).length;
  const every = dead === accounts.length;
  const reactions = accounts.flatMap(({ breachToFillMs }) => breachToFillMs);
  return [
    dead === 0 ? 'no' : every ? 'yes' : `in ${dead} of ${accounts.length} paths`,
    money(accounts[0]?.equityStart ?? 0),
    fromTo(accounts, ({ equityEnd }) => equityEnd, money),
    fromTo(
      accounts,
      ({ equityEnd, equityStart }) => (equityStart === 0 ? 0 : equityEnd / equityStart),
      percent,
    ),
    fromTo(accounts, ({ closedFraction }) => closedFraction, percent),
    fromTo(accounts, ({ orders }) => orders, String),
    accounts.every(({ closedFraction }) => closedFraction === 0)
      ? ''
      : fromTo(accounts, ({ fees, slippage }) => fees + slippage, money),
    reactions.length === 0 ? '' : `at most ${span(Math.max(...reactions))}`,
  ];
}

function fromTo(
  accounts: readonly AccountRecord[],
  of: (account: AccountRecord) => number,
  words: (value: number) => string,
): string {
  const values = accounts.map(of);
  const [lowest, highest] = [words(Math.min(...values)), words(Math.max(...values))];
  return lowest === highest ? lowest : `${lowest} to ${highest}`;
}

/** Cost of closing on paths on which the account would have survived without rules. */
function hindsight(without: readonly AccountRecord[], withRules: readonly AccountRecord[]): string {
  const costs = withRules.flatMap((account, index) => {
    const other = without[index];
    const cameThrough = other?.liquidatedAtMs === null && account.closedFraction > 0;
    return cameThrough ? [other.equityEnd - account.equityEnd] : [];
  });
  const cost = Math.max(0, ...costs);
  return cost > 0 ? `hindsight: it would have come through; closing cost ${money(cost)}` : '';
}
