import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Desk, DoorError } from '../app.ts';
import { causeWords } from '../core/view/state-line.ts';
import type { StoryEntry } from '../core/view/story.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, jsonText, printLine, printNote } from './io.ts';
import { type DoorFlags, isDoorError, sentence, withDoor, withDoorAddress } from './operate/door.ts';
import { openFrames } from './operate/frames.ts';
import { accountsOf, type PlaceFlags, withOperations, withPlace } from './operate/place.ts';
import {
  type StatusAccount,
  type StatusEvent,
  type StatusReport,
  statusLines,
} from './operate/status-text.ts';
import { collectNonEmpty, durationMs } from './operate/values.ts';
import { DEFAULT_CONFIG } from './option-values.ts';
import { wrapped } from './table.ts';

interface Flags extends PlaceFlags, DoorFlags {
  readonly account?: readonly string[];
  /** Milliseconds. */
  readonly watch?: number;
}

/** `breakwater status`: what the daemons see and do, as one of them says; without one, what they have left. */
export function registerStatus(program: Command, io: CliIo): void {
  const command = program
    .command('status')
    .summary('what the daemons see, decide and do')
    .description(
      'Prints, as the daemon says and without asking the exchange, one line per account: what it is doing and why, ' +
        'in the words of the page and the API. With --account: its positions and credit lines as last seen, rules that ' +
        'are pending, firing or frozen and why, what is to be done and how far it is, and its orders. ' +
        'While no daemon answers, or with --redis, it says so first, and shows what is stored. NEAREST is how far prices may move before the first liquidation or margin call, ' +
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
  withJson(withDoorAddress(withPlace(command)));
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
    const report = await reportOf(io, flags);
    for (const line of sourceLines(io, flags, report)) printNote(io, line);
    for (const line of linesOf(io, flags, report)) printLine(io, line);
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
      frames.show(await frameOf(io, flags).catch((error: unknown) => lostLines(error, flags)));
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

async function frameOf(io: CliIo, flags: Flags): Promise<readonly string[]> {
  const report = await reportOf(io, flags);
  return [...sourceLines(io, flags, report), ...linesOf(io, flags, report)];
}

function sourceLines(io: CliIo, { json }: Flags, { stored }: StatusReport): readonly string[] {
  return stored === null || json === true ? [] : wrapped(io, `This is what is stored: ${sentence(stored)}`);
}

function linesOf(io: CliIo, flags: Flags, report: StatusReport): readonly string[] {
  if (report.accounts.some(({ refused }) => refused !== null)) io.setExitCode(EXIT.failed);
  if (flags.json === true) return [jsonText(report)];
  return statusLines(io, report, flags.account !== undefined);
}

/** Asks a daemon, and reads what is stored if none answers, or if people name the Redis. */
async function reportOf(io: CliIo, flags: Flags): Promise<StatusReport> {
  const { config, redis, redisPrefix, url } = flags;
  const isStoreNamed = (redis ?? redisPrefix) !== undefined;
  const read = async (why: string): Promise<StatusReport> =>
    await withOperations(io, flags, async (operations) => await statusOf(operations, flags, why));
  if (isStoreNamed && url === undefined) return await read('--redis or --redis-prefix names it');
  try {
    return await withDoor(io, flags, { undone: 'nothing was read', withinMs: ANSWERED_MS }, async (door) => {
      const { askDaemon } = await import('../app.ts');
      const place = { env: io.env, config: config ?? DEFAULT_CONFIG };
      return await statusOf(await askDaemon(door, place, url !== undefined), flags, null);
    });
  } catch (error) {
    const { cause } = error as Error;
    // Who names only a daemon elsewhere does not mean the store of this machine.
    const hasStore = isStoreNamed || url === undefined || config !== undefined;
    if (!isDoorError(cause) || cause.kind === 'token' || !hasStore) throw error;
    return await read(cause.message).catch((lost: unknown) => {
      throw lost instanceof CliError && STORELESS.has(lost.code) ? withDoorCure(lost, cause) : lost;
    });
  }
}

/** While Redis hangs, a daemon waits for it up to 3 s before it says what it knows by itself. */
const ANSWERED_MS = 8_000;
const STORELESS: ReadonlySet<string> = new Set(['redis-unreachable', 'redis-unknown', 'config-refused']);

function withDoorCure({ code, message, cure = '' }: CliError, door: DoorError): CliError {
  const why = sentence(`${door.message[0]?.toUpperCase()}${door.message.slice(1)}`);
  return new CliError(code, message, { cause: door, cure: `${cure} ${why} ${door.cure}`.trim() });
}

async function statusOf(
  desk: Desk,
  { account: wanted, json }: Flags,
  stored: string | null,
): Promise<StatusReport> {
  const ids = await accountsOf(desk, wanted);
  const atMs = Date.now();
  const refusedControls: string[] = [];
  const [controls, watchers, pausedQueues, troubles, accounts] = await Promise.all([
    desk.controls.list((words) => refusedControls.push(words)),
    desk.watchers(),
    desk.pausedQueues(),
    desk.troubles(),
    Promise.all(ids.map((id) => statusAccount(desk, id, wanted !== undefined || json === true))),
  ]);
  return { atMs, stored, controls, refusedControls, watchers, pausedQueues, troubles, accounts };
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
  const all = (await desk.story(accountId, RECORDS)).flatMap(eventOf).toReversed();
  const fromMs = Date.now() - ALARMS_FOR_MS;
  const alarms = all.filter(({ alarm, atMs }) => alarm && atMs >= fromMs);
  return { ...view, calmMs, events: withEvents ? all.slice(-EVENTS) : [], alarms };
}

/** Requests to the exchange and their outcomes. Rules and people have sections of their own. */
function eventOf({ kind: of, outcome, seq, ...entry }: StoryEntry): readonly StatusEvent[] {
  if (outcome === undefined || of === 'transition' || of === 'operator') return [];
  const { atMs, market = null, reason = '', words, alarm = false } = entry;
  return [{ seq, atMs, kind: outcome, market, reason, words, alarm }];
}
