import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { FileVerdict, Operations } from '../../app.ts';
import { type ChainedRecord, type ChainHead, OPERATOR_CHAIN } from '../../core/audit/audit-record.ts';
import { outcomesBy, wouldBeOrders, wouldHaveWords } from '../../core/costs/would-have.ts';
import type { ChainVerdict } from '../../core/ports/audit-reader.ts';
import { quoteOf } from '../../core/quantities/units.ts';
import { contentWords } from '../../core/view/record-words.ts';
import { CliError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { withJson, withRemarks } from '../help.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { type PlaceFlags, requireAccount, withOperations, withPlace } from '../operate/place.ts';
import { collectNonEmpty, nonEmpty, timeOf } from '../operate/values.ts';
import { whole } from '../option-values.ts';
import { printable } from '../table.ts';
import { linesOf } from './files.ts';

export interface ChainFlags extends PlaceFlags {
  readonly account: string;
}

/** Options of a command that works on one account's chain. */
export function withChain(command: Command): Command {
  return withJson(
    withPlace(command.requiredOption('-a, --account <id>', 'the account, or @operators', nonEmpty)),
  );
}

/** As it is printed with `--json`: the record as it was chained, its number and its hash. */
function recordJson({ number, record, hash }: ChainedRecord): Record<string, unknown> {
  return { number, hash, ...record };
}

/** The same in one line for people: number, time, and what it says. */
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

/** What orders that observe mode held back would have come to by now, by the number of their record. */
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
  if (json === true) {
    printJson(io, recordJson(chained));
    return;
  }
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
      if (flags.json === true) printJson(io, shown);
      else {
        printLine(io, printable(recordLine(chained)));
        for (const line of JSON.stringify(shown, null, 2).split('\n')) printLine(io, printable(line));
      }
    });
  });
}

interface VerifyFlags extends PlaceFlags {
  readonly account?: readonly string[];
  readonly file?: readonly string[];
  readonly head?: ChainHead;
}

export function registerVerify(audit: Command, io: CliIo): void {
  const command = audit
    .command('verify')
    .summary('check that no record was changed, added, taken away or reordered')
    .description(
      'Recomputes every hash and link of the chain of each account and of its lanes (one per market), compares their ' +
        'ends with the state of the account, and what the account has recorded of its lanes with them. Says the first ' +
        'record that is wrong.',
    )
    .option('-a, --account <id>', 'only this chain (repeatable; default: all of the config)', collectNonEmpty)
    .option(
      '--head <seq:hash>',
      'of one account: a head from the log (auditHead) or a daily digest, which has to be in its chain',
      headOf,
    )
    .option('--file <path>', 'an export instead of a stored chain (repeatable)', collectNonEmpty);
  withJson(withPlace(command));
  withRemarks(command, '\nEnds with 1 when a chain is broken.\n');
  command.action(async (flags: VerifyFlags) => {
    if (flags.head !== undefined && flags.account?.length !== 1) {
      throw new UsageError('--head is of one account.', 'Add --account ID.');
    }
    if (flags.file !== undefined) await verifyFiles(io, flags.file, flags);
    else await verifyChains(io, flags);
  });
}

function headOf(text: string): ChainHead {
  const [, seq, hash = ''] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined)
    throw new UsageError('--head: expected a number, a colon and 64 hexadecimal digits.');
  return { seq: Number(seq), hash };
}

async function verifyChains(io: CliIo, flags: VerifyFlags): Promise<void> {
  await withOperations(io, flags, async (operations) => {
    const known = operations.accountIds;
    const ids = flags.account ?? (known === undefined ? undefined : [...known, OPERATOR_CHAIN]);
    if (ids === undefined) {
      throw new UsageError('without a config nobody knows which chains there are.', 'Add --account ID.');
    }
    for (const id of flags.account ?? []) await requireAccount(operations, id);
    for (const id of ids) {
      io.signal.throwIfAborted();
      printVerdict(io, id, await operations.audit.verify(id, flags.head), flags);
    }
  });
}

async function verifyFiles(io: CliIo, files: readonly string[], flags: VerifyFlags): Promise<void> {
  const { operatorTrustOf, verifyAuditFile } = await import('../../app.ts');
  const trust = await operatorTrustOf(flags.config, io.env);
  for (const file of files) printVerdict(io, file, await verifyAuditFile(linesOf(file), { trust }), flags);
}

function printVerdict(
  io: CliIo,
  of: string,
  verdict: ChainVerdict | FileVerdict,
  { json }: Pick<VerifyFlags, 'json'>,
): void {
  if (verdict.kind === 'broken') io.setExitCode(EXIT.failed);
  if (json === true) printJson(io, { of, ...verdict });
  else if (verdict.kind === 'intact') printLine(io, printable(`${of}: ${intactWords(verdict)}`));
  else {
    const chain = verdict.market === undefined ? '' : ` of the chain of ${verdict.market}`;
    const { number, seq, why } = verdict;
    const place =
      number === undefined || number === seq
        ? `${seq}${chain}`
        : `${number} (${seq}${chain || ' of its chain'})`;
    const what = why === 'unproven' ? 'NOT PROVEN, up to record' : 'BROKEN at record';
    const text = `${of}: ${what} ${place} (${why}): ${verdict.words}`;
    printLine(io, paint(io, 'stdout', 'red', printable(text)));
  }
}

function intactWords(verdict: Extract<ChainVerdict | FileVerdict, { kind: 'intact' }>): string {
  const { firstSeq, lastSeq, headHash, lanes } = verdict;
  if (lastSeq === 0 && lanes.length === 0) return 'intact, no records';
  const pruned =
    'prunedTo' in verdict && verdict.prunedTo > 0 ? `, pruned up to ${verdict.prunedTo} by checkpoint` : '';
  const follows = 'previousHash' in verdict ? `, follows ${verdict.previousHash}` : '';
  const ofLanes = lanes.map((lane) => `${lane.market} ${lane.firstSeq} to ${lane.lastSeq}`).join(', ');
  const unsealed = 'isSealed' in verdict && !verdict.isSealed ? ', without the seal of operators.key' : '';
  const beside = lanes.length === 0 ? '' : `; chains of lanes: ${ofLanes}`;
  return `intact, records ${firstSeq} to ${lastSeq}${pruned}${follows}, ends with ${headHash}${unsealed}${beside}`;
}
