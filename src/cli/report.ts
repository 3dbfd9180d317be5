import type { Command } from 'commander';
import type { Operations } from '../app.ts';
import {
  type CostTotal,
  costRows,
  costTotals,
  type KnownSum,
  type OtherClosing,
  otherClosings,
  type PricedAction,
  pricedActions,
} from '../core/costs/cost-report.ts';
import type { Period } from '../core/digest/digest.ts';
import { NO_CURRENCY } from '../core/quantities/units.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, printJson, printLine } from './io.ts';
import { accountsOf, type PlaceFlags, withOperations, withPlace } from './operate/place.ts';
import { collectNonEmpty, timeOf } from './operate/values.ts';
import { momentOf } from './replay/values.ts';
import { columnsOf, printable, type Table, tableLines } from './table.ts';

interface Flags extends PlaceFlags {
  readonly account?: readonly string[];
  readonly from?: string;
  readonly to?: string;
}

/** `breakwater report`: what protection cost, from the audit trail. */
export function registerReport(program: Command, io: CliIo): void {
  const command = program
    .command('report')
    .summary('what protection cost, from the audit trail')
    .description(
      'Sums up, from the audit trail and without asking the exchange, what the orders of the daemon that closed ' +
        'something have cost: slippage and fees. What is not known is counted, never taken for zero.',
    )
    .option('--from <time>', 'begin here: 2026-03-12, 2026-03-12T10:00 (UTC) or Unix milliseconds')
    .option('--to <time>', 'end here (default: now)')
    .option(
      '-a, --account <id>',
      'only this account (repeatable; without a config, needed)',
      collectNonEmpty,
    );
  withJson(withPlace(command));
  withExamples(command, {
    'everything that the trail still has': 'report --config config/breakwater.yaml',
    'one account in March, for a script': 'report --account desk-1 --from 2026-03-01 --to 2026-04-01 --json',
  });
  withRemarks(command, EXPLANATION);
  command.action((flags: Flags) => report(io, flags));
}

const EXPLANATION = `
SLIPPAGE is by what the average fill was worse than the mark when the rule fired, or than a standing stop's
activation. What a partial close realized shows that fill; after a full close only the exchange's history of orders
does (watch.spotOrders). Without either, AT MOST bounds it by the limit price of the order.
FEES are what the exchange charged where its history shows it, else \`markets.*.takerFee\` of the config.
(3?) stands for three orders of which the figure is not known; they are not in the sum.
Records that were pruned are missing. How each figure is found: docs/protection-cost.md.
Ends with 0 also where nothing was closed, 2 when an option makes no sense.
`;

async function report(io: CliIo, flags: Flags): Promise<void> {
  const { parseMoment } = await import('../app.ts');
  const fromMs = momentOf(parseMoment, '--from', flags.from) ?? 0;
  const toMs = momentOf(parseMoment, '--to', flags.to) ?? Date.now();
  if (toMs <= fromMs) throw new UsageError('--to: expected a time after --from.');
  const period = { fromMs, toMs };
  await withOperations(io, flags, async (operations) => {
    const accounts = await accountsOf(operations, flags.account);
    for (const accountId of accounts) {
      io.signal.throwIfAborted();
      const closings = await closingsOf(io, operations, accountId, period);
      if (flags.json !== true) printAccount(io, accountId, closings);
      else {
        const { actions, others } = closings;
        const sums = { totals: costTotals(actions), rules: costRows(actions) };
        printJson(io, { event: 'report', accountId, ...period, ...sums, actions, others });
      }
    }
  });
}

const PAGE = 500;

async function closingsOf(io: CliIo, { audit }: Operations, accountId: string, period: Period) {
  const actions = new Map<string, PricedAction>();
  const others: OtherClosing[] = [];
  for (let from = 1; ; ) {
    io.signal.throwIfAborted();
    const page = await audit.read(accountId, { from, to: Number.MAX_SAFE_INTEGER, limit: PAGE });
    const records = page.map(({ record }) => record);
    for (const action of pricedActions(records, period)) actions.set(action.cost.id, action);
    others.push(...otherClosings(records, period));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    from = last.number + 1;
  }
  return { actions: [...actions.values()].toSorted((a, b) => a.atMs - b.atMs), others };
}

type Closings = Awaited<ReturnType<typeof closingsOf>>;

function printAccount(io: CliIo, accountId: string, { actions, others }: Closings): void {
  for (const { atMs, words } of others) printLine(io, printable(`${accountId}, ${timeOf(atMs)}: ${words}`));
  const [first, last] = [actions[0], actions.at(-1)];
  if (first === undefined || last === undefined) {
    printLine(io, printable(`${accountId}: Breakwater closed nothing.`));
    return;
  }
  printLine(io, printable(`${accountId}, ${timeOf(first.atMs)} to ${timeOf(last.atMs)}`));
  for (const line of tableLines(io, tableOf(actions))) printLine(io, line);
}

function tableOf(actions: readonly PricedAction[]): Table {
  const rows = costRows(actions).map((row) => cellsOf(row, row.ruleId, row.market));
  const totals = costTotals(actions).map((row) => cellsOf(row, 'together', ''));
  return { columns: columnsOf(...TITLES), rows: rows.length > 1 ? [...rows, ...totals] : rows };
}

const TITLES = 'RULE,MARKET,MONEY,>ORDERS,>SLIPPAGE,>AT MOST,>FEES'.split(',');

function cellsOf(row: CostTotal, ruleId: string, market: string): readonly string[] {
  const { money, orders, slippage, slippageAtMost, fees } = row;
  const figures = [slippage, slippageAtMost, fees].map((sum) => sumText(sum, orders));
  return [ruleId, market, money === NO_CURRENCY ? '?' : money, String(orders), ...figures];
}

function sumText({ known, unknown }: KnownSum, orders: number): string {
  if (unknown === orders) return `(${unknown}?)`;
  const text = known.toFixed(2);
  return unknown === 0 ? text : `${text} (${unknown}?)`;
}
