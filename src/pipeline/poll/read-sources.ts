import type { SourceName } from '../../core/fields/field-catalogue.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { ReadOutcome, RecordList, TransferRecord } from '../../core/ports/exchange.ts';
import type { AccountDocuments } from '../../core/ports/state-store.ts';
import {
  countSetAside,
  elapsedMs,
  type Instant,
  type SourceReading,
} from '../../core/quantities/snapshot.ts';
import { knownTransfers } from '../../core/quantities/transfer.ts';
import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import { aged, type KeptReading, type ReadMemory } from './read-memory.ts';

/** Read at every poll; the others only as often as their age matters. */
const EVERY_POLL: ReadonlySet<SourceName> = new Set(['positions', 'creditLine']);

/** A source that is read seldom is read again after this part of the age at which it could not decide any more. */
const SELDOM_SHARE = 1 / 3;

/** The sources that rules act on: a reply that comes when no poll waits for it is judged all the same. */
export const JUDGED_LATE: readonly SourceName[] = [...EVERY_POLL];

/**
 * A poll goes on without what has not arrived after this part of the alert cadence; it counts when it does. All of it,
 * and the next tick would find the account in flight.
 */
const PATIENCE_SHARE = 0.9;
const LEAST_PATIENCE_MS = 200;
const MOST_PATIENCE_MS = 2_000;
/** Once the positions are there, what is read beside them gets as long again as they took, and at least this. */
const LEAST_GRACE_MS = 50;

/**
 * A read that takes longer than the alert cadence does not keep the next one from being sent: where replies take three
 * seconds, a breach would be seen three seconds later. No more than so many at once, as they hold connections.
 */
const MOST_UNDER_WAY = 4;
/** Ticks come a little early. */
const APART_SHARE = 0.8;

export function isSeldom(source: SourceName): boolean {
  return !EVERY_POLL.has(source);
}

/** What is known of a source before anything is read: from this process's memory, else from the store. */
export function knownReading(
  source: SourceName,
  memory: ReadMemory,
  accountId: string,
  documents: AccountDocuments,
): KeptReading | undefined {
  const kept = memory.recall(accountId)[source];
  if (kept !== undefined) return kept;
  const stored = documents.readings?.sources[source];
  return stored === undefined || documents.readings === undefined
    ? undefined
    : { at: documents.readings.at, reading: stored };
}

export function isDue(
  source: SourceName,
  known: KeptReading | undefined,
  account: WatchedAccount,
  now: Instant,
): boolean {
  if (!isSeldom(source) || known === undefined || known.reading.kind === 'notRead') return true;
  const { ageMs } = aged(known.reading, known.at, now);
  return ageMs >= account.rules.settings.maxSnapshotAgeMs * SELDOM_SHARE;
}

export interface ReadsEnded {
  /** A request of ours overtook them: whatever came is out of date. */
  readonly aborted: boolean;
}

/**
 * Reads sources at the same time and waits for them, but not for ever: one that is slow must not keep the others
 * from being judged, nor the next read from being sent. It goes on by itself, and is judged when it comes. One that an
 * earlier poll began and that comes meanwhile ends the wait: it has been waited for long enough.
 */
export async function readSources(
  context: PipelineContext,
  account: WatchedAccount,
  sources: readonly SourceName[],
): Promise<ReadsEnded> {
  const { memory, clock } = context;
  const { alertMs } = account.rules.settings.cadence;
  const signal = memory.signalFor(account.id);
  const startedMs = clock.monotonicMs();
  const late = JUDGED_LATE.flatMap((source) => memory.underWay(account.id, source).map(({ ended }) => ended));
  const reads = sources
    .filter((source) => mayBegin(source, account, memory, startedMs))
    .map((source) => memory.track(account.id, source, startedMs, readOne(context, account, source, signal)));
  const patienceMs = Math.min(Math.max(PATIENCE_SHARE * alertMs, LEAST_PATIENCE_MS), MOST_PATIENCE_MS);
  const all: Promise<unknown> = Promise.all(reads);
  // Without a read of its own it would end at once.
  const first = reads.length > 0 ? [all, ...late] : late;
  const positions = memory.underWay(account.id, 'positions').at(-1);
  const isOwn = positions !== undefined && positions.startedMs === startedMs;
  await within(context, first.length > 0 ? Promise.race(first) : all, {
    patienceMs,
    startedMs,
    urgent: isOwn ? positions.ended : undefined,
  });
  return { aborted: signal.aborted };
}

/** Whether another read of a source may be sent while others of it are under way. */
function mayBegin(
  source: SourceName,
  { id, rules: { settings } }: WatchedAccount,
  memory: ReadMemory,
  nowMs: number,
): boolean {
  const underWay = memory.underWay(id, source);
  const newest = underWay.at(-1);
  if (newest === undefined) return true;
  // Where no order may have to leave, the reply is waited for.
  if (!memory.isPressing(id)) return false;
  // Increasing nonces let one request at a time through.
  if (isSeldom(source) || settings.nonceMode === 'increasing' || underWay.length >= MOST_UNDER_WAY)
    return false;
  return nowMs - newest.startedMs >= APART_SHARE * settings.cadence.alertMs;
}

interface Patience {
  readonly patienceMs: number;
  readonly startedMs: number;
  /** What the rest is not waited for much longer than. */
  readonly urgent: Promise<void> | undefined;
}

/** Resolves with the work, or when patience is over: soon, once what is urgent is there. */
function within(
  { timers, clock }: PipelineContext,
  work: Promise<unknown>,
  { patienceMs, startedMs, urgent }: Patience,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let cancel = timers.after(patienceMs, resolve);
    const end = (): void => {
      isOver = true;
      cancel();
    };
    work.then(
      () => {
        end();
        resolve();
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
    urgent
      ?.then(() => {
        const tookMs = clock.monotonicMs() - startedMs;
        if (isOver || tookMs >= patienceMs) return;
        cancel();
        cancel = timers.after(Math.min(Math.max(tookMs, LEAST_GRACE_MS), patienceMs - tookMs), resolve);
      })
      // The work tells of it.
      .catch(() => undefined);
  });
}

async function readOne(
  context: PipelineContext,
  account: WatchedAccount,
  source: SourceName,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = context.clock.monotonicMs();
  keepRead(context, account, { source, signal, startedMs }, await request(context, account, source, signal));
}

interface Asked {
  readonly source: SourceName;
  readonly signal: AbortSignal;
  readonly startedMs: number;
}

function keepRead(
  { clock, memory, telemetry, time }: PipelineContext,
  account: WatchedAccount,
  { source, signal, startedMs }: Asked,
  outcome: ReadOutcome<unknown>,
): void {
  const durationMs = clock.monotonicMs() - startedMs;
  if (outcome.kind === 'failed') {
    const error = outcome.error.name;
    const how = signal.aborted ? 'aborted' : 'failed';
    telemetry.emit({
      kind: 'read',
      accountId: account.id,
      source,
      durationMs,
      outcome: how,
      error,
      setAside: 0,
    });
    return;
  }
  const setAside = setAsideOf(outcome.value);
  telemetry.emit({ kind: 'read', accountId: account.id, source, durationMs, outcome: 'ok', setAside });
  const { sentAtMs, serverDateMs } = outcome.timing;
  const now = time.instant();
  const sinceSentMs = now.monotonicMs - sentAtMs;
  memory.keep(account.id, source, {
    at: { clockId: now.clockId, monotonicMs: sentAtMs, wallMs: now.wallMs - sinceSentMs },
    receivedMs: outcome.timing.receivedAtMs,
    reading: {
      kind: 'read',
      value: valueToKeep(source, account, outcome.value),
      ageMs: 0,
      // The reply's date, moved back to when the request was sent, as the age is.
      ...(serverDateMs === undefined
        ? {}
        : { serverDateMs: serverDateMs - (outcome.timing.receivedAtMs - sentAtMs) }),
      ...reach(source, account, outcome.timing.serverDateMs ?? now.wallMs),
    },
  });
}

/** What is personal is left out at once: from here on it would be stored and recorded. */
function valueToKeep(source: SourceName, { rules }: WatchedAccount, value: unknown): unknown {
  if (source !== 'transfers') return value;
  const allowList = rules.settings.withdrawalAllowList ?? [];
  return knownTransfers(value as RecordList<TransferRecord>, allowList);
}

/** The main balance is no list: nothing of it can be set aside. */
function setAsideOf(value: unknown): number {
  return Array.isArray((value as Partial<RecordList<unknown>>).setAside)
    ? countSetAside(value as RecordList<unknown>)
    : 0;
}

/** Histories are read as far back as rules look, plus this, for clocks that differ. */
const LOOKBACK_SLACK_MS = 120_000;
/** More records than this are not read at every look; the list then says that it is not complete. */
const MOST_RECORDS = 5_000;

function lookback(source: SourceName, account: WatchedAccount): number | undefined {
  if (source !== 'transfers' && source !== 'spotOrders') return undefined;
  return account.lookbackMs[source];
}

function reach(
  source: SourceName,
  account: WatchedAccount,
  serverNowMs: number,
): Pick<Extract<SourceReading<unknown>, { kind: 'read' }>, 'reachesBackToMs'> {
  const backMs = lookback(source, account);
  return backMs === undefined ? {} : { reachesBackToMs: Math.floor(serverNowMs - backMs) };
}

function request(
  { clock, memory }: PipelineContext,
  { id, exchange, lookbackMs }: WatchedAccount,
  source: SourceName,
  signal: AbortSignal,
): Promise<ReadOutcome<unknown>> {
  const options = { signal };
  switch (source) {
    case 'positions':
      return exchange.openPositions(
        {},
        memory.isPressing(id) ? { ...options, priority: 'watching' } : options,
      );
    case 'creditLine':
      return exchange.creditLines(options);
    case 'mainBalance':
      return exchange.mainBalance(options);
    case 'transfers':
      return exchange.transfers(historyQuery(clock, lookbackMs.transfers), options);
    case 'spotOrders':
      return exchange.spotOrders(historyQuery(clock, lookbackMs.spotOrders), options);
  }
}

function historyQuery(clock: Clock, backMs: number) {
  return {
    since: Math.floor((clock.nowMs() - backMs - LOOKBACK_SLACK_MS) / 1000),
    maxRecords: MOST_RECORDS,
  };
}

/** Age of something that was never read by this process: as far as the last evaluation knew, and since. */
export function ageUnread(source: SourceName, documents: AccountDocuments, now: Instant): number {
  const { evaluation } = documents;
  const ageMs = source === 'positions' || source === 'creditLine' ? evaluation?.ages[source] : undefined;
  if (ageMs === undefined || evaluation?.passage === undefined) return 0;
  return ageMs + elapsedMs(evaluation.passage.at, now);
}
