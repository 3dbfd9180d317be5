import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Desk } from '../app.ts';
import type { AuditRecord } from '../core/audit/audit-record.ts';
import { causeWords } from '../core/view/state-line.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, printLine } from './io.ts';
import { openFrames } from './operate/frames.ts';
import { accountsOf, type PlaceFlags, withDaemonPlace, withDesk } from './operate/place.ts';
import {
  type StatusAccount,
  type StatusEvent,
  type StatusReport,
  statusLines,
} from './operate/status-text.ts';
import { collectNonEmpty, durationMs } from './operate/values.ts';

interface Flags extends PlaceFlags {
  readonly account?: readonly string[];
  /** Milliseconds. */
  readonly watch?: number;
}

/** `breakwater status`: what the daemons last saw and did, from the shared state alone. */
export function registerStatus(program: Command, io: CliIo): void {
  const command = program
    .command('status')
    .summary('what the daemons see, decide and do, from the shared state')
    .description(
      'Prints, from the shared state and without asking the exchange, one line per account: what it is doing and why, ' +
        'in the words of the page and the API. With --account: its positions and credit lines as last seen, rules that ' +
        'are pending, firing or frozen and why, what is to be done and how far it is, and its orders. ' +
        'Works while no daemon runs; of one that runs here it says first what does not work. NEAREST is how far prices may move before the first liquidation or margin call, ' +
        'AT RISK what the positions and the collateral are worth.',
    )
    .option(
      '-a, --account <id>',
      'everything there is to say of this account (repeatable; without a config, needed)',
      collectNonEmpty,
    )
    .addOption(
      new Option('-w, --watch [interval]', 'again and again, until Ctrl-C (default: every 2s)')
        .argParser(watchInterval)
        .preset('2s'),
    );
  withJson(withDaemonPlace(command));
  withExamples(command, {
    'all accounts': 'status --config config/breakwater.yaml',
    'the worst of them, kept up to date on a terminal': 'status --watch 5s',
    'one account, for a script': 'status --account desk-1 --json',
  });
  withRemarks(
    command,
    '\nEnds with 1 when the stored state of an account cannot be read by this version; see its message. docs/glossary.md has the words.\n',
  );
  command.action((flags: Flags) => status(io, flags));
}

const LEAST_WATCH_MS = 500;

function watchInterval(text: string): number {
  const everyMs = durationMs(text);
  if (everyMs >= LEAST_WATCH_MS) return everyMs;
  throw new InvalidArgumentError('Expected 500ms or more.');
}

async function status(io: CliIo, flags: Flags): Promise<void> {
  if (flags.watch !== undefined) return await watchStatus(io, flags, flags.watch);
  try {
    for (const line of await linesOf(io, flags)) printLine(io, line);
  } catch (error) {
    if (isLost(error) && flags.json !== true) printLine(io, lostWords());
    throw error;
  }
}

/** Opens everything anew each time, so that it continues through a lost Redis and sees config changes. */
async function watchStatus(io: CliIo, flags: Flags, everyMs: number): Promise<void> {
  const frames = openFrames(io, flags.json !== true);
  try {
    for (;;) {
      io.signal.throwIfAborted();
      frames.show(await linesOf(io, flags).catch((error: unknown) => lostLines(error, flags)));
      await sleep(everyMs, undefined, { signal: io.signal });
    }
  } finally {
    frames.close();
  }
}

/** @throws any other error */
function lostLines(error: unknown, { json }: Flags): readonly string[] {
  if (!isLost(error)) throw error;
  const { code, message } = error;
  return json === true ? [JSON.stringify({ error: { code, message } })] : [lostWords(), message];
}

function isLost(error: unknown): error is CliError {
  return error instanceof CliError && LOST.has(error.code);
}

function lostWords(): string {
  const blind = `From here every account is blind: ${causeWords('storeLost')}.`;
  return `${blind} A daemon that goes on without Redis shows its accounts on its own page.`;
}

const LOST: ReadonlySet<string> = new Set(['redis-unreachable', 'store-lost']);

async function linesOf(io: CliIo, flags: Flags): Promise<readonly string[]> {
  return await withDesk(io, flags, async (desk) => {
    const report = await statusOf(desk, flags);
    if (report.accounts.some(({ refused }) => refused !== null)) io.setExitCode(EXIT.failed);
    if (flags.json === true) return [JSON.stringify(report)];
    return statusLines(io, report, flags.account !== undefined);
  });
}

async function statusOf(desk: Desk, { account: wanted, json }: Flags): Promise<StatusReport> {
  const ids = await accountsOf(desk, wanted);
  const atMs = Date.now();
  const refusedControls: string[] = [];
  const [controls, watchers, pausedQueues, troubles, quietHours, accounts] = await Promise.all([
    desk.controls.list((words) => refusedControls.push(words)),
    desk.watchers(),
    desk.pausedQueues(),
    desk.troubles(),
    desk.quietHours(),
    Promise.all(ids.map((id) => statusAccount(desk, id, wanted !== undefined || json === true))),
  ]);
  return { atMs, controls, refusedControls, watchers, pausedQueues, troubles, quietHours, accounts };
}

/** Newest audit records that are searched for actions. */
const RECORDS = 50;
const EVENTS = 5;
/** How long an alarm stays in the first lines. */
const ALARMS_FOR_MS = 10 * 60_000;

async function statusAccount(desk: Desk, accountId: string, withEvents: boolean): Promise<StatusAccount> {
  const calmMs = desk.accounts?.find(({ id }) => id === accountId)?.calmMs ?? null;
  const view = await desk.view(accountId);
  if (view.refused !== null) return { ...view, calmMs, events: [], alarms: [] };
  const records = await desk.records(accountId, RECORDS);
  const all = records.flatMap(({ record }) => eventOf(record));
  const fromMs = Date.now() - ALARMS_FOR_MS;
  const alarms = all.filter(({ alarm, atMs }) => alarm && atMs >= fromMs);
  return { ...view, calmMs, events: withEvents ? all.slice(-EVENTS) : [], alarms };
}

function eventOf({ seq, content }: AuditRecord): readonly StatusEvent[] {
  if (content.kind !== 'action') return [];
  const { kind, atMs, market, reason, words, alarm } = content.event;
  return [{ seq, atMs, kind, market: market ?? null, reason, words, alarm }];
}
