import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Operations } from '../../app.ts';
import type { ChainedRecord } from '../../core/audit/audit-record.ts';
import { outcomesBy, wouldBeOrders, wouldHaveWords } from '../../core/costs/would-have.ts';
import { quoteOf } from '../../core/quantities/units.ts';
import { contentWords } from '../../core/view/record-words.ts';
import { CliError, UsageError } from '../errors.ts';
import { withJson } from '../help.ts';
import { type CliIo, paint, printExactJson, printLine } from '../io.ts';
import { type PlaceFlags, requireAccount, withOperations, withPlace } from '../operate/place.ts';
import { nonEmpty, timeOf } from '../operate/values.ts';
import { whole } from '../option-values.ts';
import { printable } from '../table.ts';

export interface ChainFlags extends PlaceFlags {
  readonly account: string;
}

/** Options of a command that works on one account's chain. */
export function withChain(command: Command): Command {
  return withJson(
    withPlace(command.requiredOption('-a, --account <id>', 'the account, or @operators', nonEmpty)),
  );
}

/** A record for `--json`: as it was chained, with its number and hash. */
function recordJson({ number, record, hash }: ChainedRecord): Record<string, unknown> {
  return { number, hash, ...record };
}

/** A record in one line for people: number, time and content. */
function recordLine({ number, record }: ChainedRecord): string {
  return `${number} ${timeOf(record.atMs)} ${contentWords(record.content)}`;
}

const FOLLOW_MS = 500;
const PAGE = 200;

export function registerTail(audit: Command, io: CliIo): void {
  const command = audit
    .command('tail')
    .summary('print the newest records')
    .option('-n, --lines <count>', 'how many', whole(1, 10_000), 20)
    .option('-f, --follow', 'go on printing what is added, until Ctrl-C');
  withChain(command);
  command.action(async (flags: ChainFlags & { readonly lines: number; readonly follow?: boolean }) => {
    await withOperations(io, flags, async (operations) => {
      await requireAccount(operations, flags.account);
      const records = await operations.audit.tail(flags.account, flags.lines);
      const outcomes =
        flags.json === true ? NO_OUTCOMES : await outcomesOf(operations, flags.account, records);
      for (const record of records) printRecord(io, record, flags, outcomes.get(record.number));
      if (flags.follow === true) await follow(io, operations, flags, records.at(-1)?.number ?? 0);
      else if (records.length === 0 && flags.json !== true) printLine(io, 'No records.');
    });
  });
}

const NO_OUTCOMES: ReadonlyMap<number, string> = new Map();

/** Outcomes by now of the orders that observe mode held back, by the number of their record. */
async function outcomesOf(
  { history, accounts }: Operations,
  accountId: string,
  records: readonly ChainedRecord[],
): Promise<ReadonlyMap<number, string>> {
  const orders = wouldBeOrders(records);
  const known = accounts?.find(({ id }) => id === accountId);
  const outcomes = await outcomesBy(orders, (subject) =>
    history.read(accountId, subject, { limit: ALL_POINTS }),
  );
  return new Map(
    outcomes.map(({ order, outcome }) => {
      const { market } = order.order;
      return [order.seq, wouldHaveWords(order, outcome, known?.moneyOf(market) ?? quoteOf(market))];
    }),
  );
}

/** More than are kept. */
const ALL_POINTS = 1_000_000;

/** Ends with Ctrl-C only: the sleep rejects with the signal's reason. */
async function follow(io: CliIo, { audit }: Operations, flags: ChainFlags, after: number): Promise<never> {
  let last = after;
  for (;;) {
    const records = await audit.read(flags.account, { from: last + 1, limit: PAGE });
    for (const record of records) printRecord(io, record, flags);
    last = records.at(-1)?.number ?? last;
    io.signal.throwIfAborted();
    if (records.length < PAGE) await sleep(FOLLOW_MS, undefined, { signal: io.signal });
  }
}

function printRecord(
  io: CliIo,
  chained: ChainedRecord,
  { json }: Pick<ChainFlags, 'json'>,
  outcome?: string,
): void {
  if (json === true) return printExactJson(io, recordJson(chained));
  const { record } = chained;
  if (record.quiet !== null) {
    const { count } = record.quiet;
    const text = `  ${count} ${count === 1 ? 'evaluation' : 'evaluations'} before it changed nothing`;
    printLine(io, paint(io, 'stdout', 'dim', text));
  }
  const isAlarm = record.content.kind === 'action' && record.content.event.alarm;
  const line = printable(recordLine(chained));
  printLine(io, isAlarm ? paint(io, 'stdout', 'red', line) : line);
  if (outcome !== undefined) printLine(io, paint(io, 'stdout', 'dim', printable(`  ${outcome}`)));
}

export function registerShow(audit: Command, io: CliIo): void {
  const command = audit
    .command('show')
    .summary('print one record in full')
    .argument('<number>', 'its number', whole(1, Number.MAX_SAFE_INTEGER))
    .option('--inputs', 'with everything that its decision was computed from, rules included');
  withChain(command);
  command.action(async (number: number, flags: ChainFlags & { readonly inputs?: boolean }) => {
    await withOperations(io, flags, async (operations) => {
      await requireAccount(operations, flags.account);
      const chained = await operations.audit.show(flags.account, number);
      if (chained === undefined) {
        throw new CliError('no-such-record', `account ${flags.account} has no audit record ${number}.`, {
          cure: 'It may have been pruned: look into the exports, and at audit tail.',
        });
      }
      const inputs = flags.inputs === true ? await operations.audit.inputs(chained.record) : undefined;
      if (flags.inputs === true && inputs === undefined) {
        throw new UsageError(`record ${number} is no decision: it has no inputs.`, 'Leave out --inputs.');
      }
      const shown = { ...recordJson(chained), ...(inputs === undefined ? {} : { inputs }) };
      if (flags.json === true) printExactJson(io, shown);
      else {
        printLine(io, printable(recordLine(chained)));
        for (const line of JSON.stringify(shown, null, 2).split('\n')) printLine(io, printable(line));
      }
    });
  });
}
