import { EVERY_POLL, isEveryPoll, type SourceName } from '../../core/fields/field-catalogue.ts';
import type { ReadOutcome, RecordList, TransferRecord } from '../../core/ports/exchange.ts';
import type { AccountDocuments } from '../../core/ports/state-store.ts';
import { countSetAside, elapsedMs, type Instant } from '../../core/quantities/snapshot.ts';
import { knownTransfers } from '../../core/quantities/transfer.ts';
import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import { aged, type KeptReading, type ReadMemory } from './read-memory.ts';

/** A seldom-read source is read again after this share of the age at which it can no longer decide. */
const SELDOM_SHARE = 1 / 3;

/** Sources that rules act on: a reply that no poll waits for any more is still judged. */
export const JUDGED_LATE: readonly SourceName[] = EVERY_POLL;

/** Share of the alert cadence: a poll does not wait longer for replies, so that it has ended at the next tick. */
const PATIENCE_SHARE = 0.9;
const LEAST_PATIENCE_MS = 200;
const MOST_PATIENCE_MS = 2_000;
/** Once the positions have arrived, the other reads get as long again, and at least this. */
const LEAST_GRACE_MS = 50;

/** A slow read must not delay the next one. Each read holds a connection. */
const MOST_UNDER_WAY = 4;
/** Ticks come a little early. */
const APART_SHARE = 0.8;

export function isSeldom(source: SourceName): boolean {
  return !isEveryPoll(source);
}

/** The last reading of a source: from this process's memory, else from the store. */
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

/**
 * Reads sources at once and waits for a limited time. Slow replies are judged when they arrive; a late reply of an
 * earlier poll ends the wait. `aborted`: one of our requests overtook the reads, and all are out of date.
 */
export async function readSources(
  context: PipelineContext,
  account: WatchedAccount,
  sources: readonly SourceName[],
): Promise<{ readonly aborted: boolean }> {
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
  // An empty `Promise.all` would win the race at once.
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

/** Whether another read of a source may be sent while others are under way. */
function mayBegin(
  source: SourceName,
  { id, rules: { settings } }: WatchedAccount,
  memory: ReadMemory,
  nowMs: number,
): boolean {
  const underWay = memory.underWay(id, source);
  const newest = underWay.at(-1);
  if (newest === undefined) return true;
  // If no order may have to leave, wait for the reply.
  if (!memory.isPressing(id)) return false;
  // Increasing nonces let one request at a time through.
  if (isSeldom(source) || settings.nonceMode === 'increasing' || underWay.length >= MOST_UNDER_WAY)
    return false;
  return nowMs - newest.startedMs >= APART_SHARE * settings.cadence.alertMs;
}

interface Patience {
  readonly patienceMs: number;
  readonly startedMs: number;
  /** After this read the others get only a short grace. */
  readonly urgent: Promise<void> | undefined;
}

/** Resolves with the work, or when patience is over; shortly after `urgent`, if that comes first. */
function within(
  { timers, clock }: PipelineContext,
  work: Promise<unknown>,
  { patienceMs, startedMs, urgent }: Patience,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let cancel = timers.after(patienceMs, resolve);
    const end = (settle: () => void): void => {
      isOver = true;
      cancel();
      settle();
    };
    work.then(
      () => end(resolve),
      (error: unknown) => end(() => reject(error)),
    );
    urgent
      ?.then(() => {
        const tookMs = clock.monotonicMs() - startedMs;
        if (isOver || tookMs >= patienceMs) return;
        cancel();
        cancel = timers.after(Math.min(Math.max(tookMs, LEAST_GRACE_MS), patienceMs - tookMs), resolve);
      })
      // The work reports the error.
      .catch(() => undefined);
  });
}

async function readOne(
  context: PipelineContext,
  account: WatchedAccount,
  source: SourceName,
  signal: AbortSignal,
): Promise<void> {
  const { clock, memory, telemetry, time } = context;
  const startedMs = clock.monotonicMs();
  const outcome = await request(context, account, source, signal);
  const durationMs = clock.monotonicMs() - startedMs;
  const about = { kind: 'read', accountId: account.id, source, durationMs } as const;
  if (outcome.kind === 'failed') {
    const how = signal.aborted ? 'aborted' : 'failed';
    telemetry.emit({ ...about, outcome: how, error: outcome.error.name, setAside: 0 });
    if (signal.aborted) return;
    const { name, httpStatus, message } = outcome.error;
    memory.fail(account.id, startedMs, {
      source,
      error: name,
      ...(httpStatus === undefined ? {} : { httpStatus }),
      words: message,
      sinceMs: time.instant().wallMs,
    });
    return;
  }
  const { value, timing } = outcome;
  // The main balance is not a list and has no records to set aside.
  const isList = 'setAside' in (value as object);
  telemetry.emit({
    ...about,
    outcome: 'ok',
    setAside: isList ? countSetAside(value as RecordList<unknown>) : 0,
  });
  // Drops personal data at once: from here on the reading would be stored and recorded.
  const allowList = account.rules.settings.withdrawalAllowList ?? [];
  const isTransfers = source === 'transfers';
  const kept = isTransfers ? knownTransfers(value as RecordList<TransferRecord>, allowList) : value;
  const { sentAtMs, receivedAtMs, serverDateMs } = timing;
  const now = time.instant();
  const wallMs = now.wallMs - (now.monotonicMs - sentAtMs);
  const isHistory = source === 'transfers' || source === 'spotOrders';
  memory.keep(account.id, source, {
    at: { clockId: now.clockId, monotonicMs: sentAtMs, wallMs },
    receivedMs: receivedAtMs,
    reading: {
      kind: 'read',
      value: kept,
      ageMs: 0,
      // The reply's date, moved back to when the request was sent, like the age.
      ...(serverDateMs === undefined ? {} : { serverDateMs: serverDateMs - (receivedAtMs - sentAtMs) }),
      ...(isHistory && {
        reachesBackToMs: Math.floor((serverDateMs ?? now.wallMs) - account.lookbackMs[source]),
      }),
    },
  });
}

/** Histories are read as far back as rules need, plus this, for differing clocks. */
const LOOKBACK_SLACK_MS = 120_000;
/** Limit of one read; a longer list is marked incomplete. */
const MOST_RECORDS = 5_000;

function request(
  { clock, memory }: PipelineContext,
  { id, exchange, lookbackMs }: WatchedAccount,
  source: SourceName,
  signal: AbortSignal,
): Promise<ReadOutcome<unknown>> {
  const options = { signal };
  const historyOf = (backMs: number) => ({
    since: Math.floor((clock.nowMs() - backMs - LOOKBACK_SLACK_MS) / 1000),
    maxRecords: MOST_RECORDS,
  });
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
      return exchange.transfers(historyOf(lookbackMs.transfers), options);
    case 'spotOrders':
      return exchange.spotOrders(historyOf(lookbackMs.spotOrders), options);
  }
}

/** Age of a source that this process never read: its age at the last evaluation, and the time since. */
export function ageUnread(source: SourceName, documents: AccountDocuments, now: Instant): number {
  const { evaluation } = documents;
  const ageMs = source === 'positions' || source === 'creditLine' ? evaluation?.ages[source] : undefined;
  if (ageMs === undefined || evaluation?.passage === undefined) return 0;
  return ageMs + elapsedMs(evaluation.passage.at, now);
}
