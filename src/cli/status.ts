import type { Command } from 'commander';
import type { Desk } from '../app.ts';
import type { AuditRecord } from '../core/audit/audit-record.ts';
import { causeWords } from '../core/view/state-line.ts';
import { CliError, UsageError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine } from './io.ts';
import { type PlaceFlags, requireAccount, withDesk, withPlace } from './operate/place.ts';
import {
  printStatus,
  type StatusAccount,
  type StatusEvent,
  type StatusReport,
} from './operate/status-text.ts';
import { collectNonEmpty } from './operate/values.ts';

interface Flags extends PlaceFlags {
  readonly account?: readonly string[];
}

/** `breakwater status`: what the daemons have last seen and done, from the shared state alone. */
export function registerStatus(program: Command, io: CliIo): void {
  const command = program
    .command('status')
    .summary('what the daemons see, decide and do, from the shared state')
    .description(
      'Prints, from the shared state and without asking the exchange, one line per account: what it is doing and why, ' +
        'in the words of the page and the API. With --account: its positions and credit lines as last seen, rules that ' +
        'are pending, firing or frozen and why, what is to be done and how far it is, and its orders. ' +
        'Works while no daemon runs.',
    )
    .option(
      '-a, --account <id>',
      'everything there is to say of this account (repeatable; without a config, needed)',
      collectNonEmpty,
    );
  withJson(withPlace(command));
  withExamples(command, {
    'all accounts': 'status --config config/breakwater.yaml',
    'one account, for a script': 'status --account desk-1 --json',
  });
  command.addHelpText(
    'after',
    '\nEnds with 1 when the stored state of an account cannot be read by this version; see its message.\n',
  );
  command.action((flags: Flags) => status(io, flags));
}

async function status(io: CliIo, flags: Flags): Promise<void> {
  try {
    await printReport(io, flags);
  } catch (error) {
    const isLost = error instanceof CliError && LOST.has(error.code);
    if (isLost && flags.json !== true) printLine(io, lostWords());
    throw error;
  }
}

function lostWords(): string {
  const blind = `From here every account is blind: ${causeWords('storeLost')}.`;
  return `${blind} A daemon that goes on without Redis shows its accounts on its own page.`;
}

const LOST: ReadonlySet<string> = new Set(['redis-unreachable', 'store-lost']);

async function printReport(io: CliIo, flags: Flags): Promise<void> {
  await withDesk(io, flags, async (desk) => {
    const report = await statusOf(desk, flags.account);
    if (flags.json === true) printJson(io, report);
    else printStatus(io, report, flags.account !== undefined);
    if (report.accounts.some(({ refused }) => refused !== null)) io.setExitCode(EXIT.failed);
  });
}

async function statusOf(desk: Desk, wanted: readonly string[] | undefined): Promise<StatusReport> {
  const ids = wanted ?? desk.accounts?.map(({ id }) => id);
  if (ids === undefined) {
    throw new UsageError(
      'without a config nobody knows which accounts there are.',
      'Add --account ID or --config FILE.',
    );
  }
  if (wanted !== undefined) for (const id of wanted) await requireAccount(desk, id);
  const atMs = Date.now();
  const [controls, pausedQueues, accounts] = await Promise.all([
    desk.controls.list(),
    desk.pausedQueues(),
    Promise.all(ids.map((id) => statusAccount(desk, id))),
  ]);
  return { atMs, controls, pausedQueues, accounts };
}

/** Newest audit records that are looked through for actions. */
const RECORDS = 50;
const EVENTS = 5;

async function statusAccount(desk: Desk, accountId: string): Promise<StatusAccount> {
  const calmMs = desk.accounts?.find(({ id }) => id === accountId)?.calmMs ?? null;
  const view = await desk.view(accountId);
  if (view.refused !== null) return { ...view, calmMs, events: [] };
  const records = await desk.records(accountId, RECORDS);
  const events = records.flatMap(({ record }) => eventOf(record)).slice(-EVENTS);
  return { ...view, calmMs, events };
}

function eventOf({ seq, content }: AuditRecord): readonly StatusEvent[] {
  if (content.kind !== 'action') return [];
  const { kind, atMs, market, reason, words, alarm } = content.event;
  return [{ seq, atMs, kind, market: market ?? null, reason, words, alarm }];
}
