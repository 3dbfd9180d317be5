import type { SourceName } from '../../core/fields/field-catalogue.ts';
import { ownStopsOf } from '../../core/orders/protective-stop.ts';
import type { PositionList } from '../../core/ports/exchange.ts';
import type { StoredAccount, StoredReadings } from '../../core/ports/state-store.ts';
import type { DecimalString } from '../../core/quantities/decimal.ts';
import type { Instant, Snapshot, SnapshotSources, SourceReading } from '../../core/quantities/snapshot.ts';
import type { ReadFailure } from '../../core/view/stored-figures.ts';
import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import { aged, type Kept, type KeptReading } from './read-memory.ts';
import { ageUnread, isDue, isSeldom, JUDGED_LATE, knownReading, readSources } from './read-sources.ts';

/** Step one of a poll: what is known of the account now. */
export interface Observation {
  /** Without our own stops, which come from the stored state. */
  readonly sources: SnapshotSources;
  readonly at: Instant;
  /** The newest read of the positions, no matter which poll sent it; undefined: too old to decide anything. */
  readonly positions: PositionsRead | undefined;
  /** To be stored; undefined unless a seldom-read source was read. */
  readonly readings: StoredReadings | undefined;
  /** Why the newest reads of unreadable sources failed. */
  readonly failures: readonly ReadFailure[];
  /** The readings behind it, for `ReadMemory.take`. */
  readonly kept: Readonly<Kept>;
}

export interface PositionsRead {
  /** Whether no commit has been based on it yet. */
  readonly isNew: boolean;
  readonly list: PositionList;
  /** Milliseconds on the lanes' clock; `sentAtMs` is as early as the clocks' error allows. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** Earlier reads by this process within the last seconds, oldest first. */
  readonly earlier: () => readonly SentList[];
  /** See `ReadObservation.sizesBefore`. */
  readonly sizesBefore: ReadonlyMap<string, DecimalString>;
}

type SentList = Pick<PositionsRead, 'list' | 'sentAtMs'>;

/** @returns undefined if one of our requests overtook the reads: they are out of date. */
export async function observeAccount(
  context: PipelineContext,
  account: WatchedAccount,
  stored: StoredAccount,
): Promise<Observation | undefined> {
  const now = context.time.instant();
  const { figures } = stored.documents;
  if (figures?.positions?.kind === 'read') {
    const ageMs = Math.abs(now.wallMs - figures.at.wallMs);
    context.memory.falls.begin(account.id, figures.positions.value, ageMs);
  }
  const due = account.sources.filter((source) =>
    isDue(source, knownReading(source, context.memory, account.id, stored.documents), account, now),
  );
  const { aborted } = await readSources(context, account, due);
  return aborted ? undefined : observationOf(context, account, stored);
}

type Observed = { -readonly [S in SourceName]?: SourceReading<unknown> };

/** What is known now, without sending a request. */
export function observationOf(
  context: PipelineContext,
  account: WatchedAccount,
  stored: StoredAccount,
): Observation {
  const { memory, time } = context;
  const { id, sources } = account;
  const { documents } = stored;
  const at = time.instant();
  const kept = { ...memory.recall(id) };
  const observed: Observed = {};
  for (const source of sources) {
    const known = knownReading(source, memory, id, documents);
    observed[source] =
      known === undefined
        ? { kind: 'notRead', ageMs: ageUnread(source, documents, at) }
        : aged(known.reading, known.at, at);
  }
  return {
    sources: observed as SnapshotSources,
    at,
    positions: positionsRead(context, account, kept.positions, at),
    readings: readingsToStore(context, account, stored, { at, observed }),
    failures: failuresNow(context, account, at),
    kept,
  };
}

/** A missing reply is reported after this time, before its request times out. */
const SILENT_AFTER_MS = 3_000;

function failuresNow(
  { memory }: PipelineContext,
  { id, sources }: WatchedAccount,
  at: Instant,
): readonly ReadFailure[] {
  const failed = memory.failures(id).filter(({ source }) => sources.includes(source));
  const silent = JUDGED_LATE.flatMap((source): readonly ReadFailure[] => {
    const [oldest] = memory.underWay(id, source);
    const kept = memory.recall(id)[source];
    if (oldest === undefined || at.monotonicMs - oldest.startedMs < SILENT_AFTER_MS) return [];
    if (kept !== undefined && kept.at.monotonicMs > oldest.startedMs) return [];
    if (failed.some((one) => one.source === source)) return [];
    const sinceMs = Math.round(at.wallMs - (at.monotonicMs - oldest.startedMs));
    return [{ source, error: 'noReply', words: 'the exchange does not answer', sinceMs }];
  });
  return silent.length === 0 ? failed : [...failed, ...silent];
}

function positionsRead(
  { time, memory, turns }: PipelineContext,
  { id, rules }: WatchedAccount,
  kept: KeptReading | undefined,
  at: Instant,
): PositionsRead | undefined {
  if (kept === undefined || kept.reading.kind !== 'read') return undefined;
  if (aged(kept.reading, kept.at, at).ageMs > rules.settings.maxSnapshotAgeMs) return undefined;
  const sentList = ({ reading, at: sent }: KeptReading): SentList => ({
    list: (reading as Extract<typeof reading, { kind: 'read' }>).value as PositionList,
    sentAtMs: Math.floor(time.ofMonotonic(sent.monotonicMs) - time.errorMs),
  });
  const isEarlier = (other: KeptReading): boolean => other !== kept && other.reading.kind === 'read';
  return {
    ...sentList(kept),
    isNew: memory.isNew(id, 'positions'),
    earlier: () => memory.recentPositions(id).filter(isEarlier).map(sentList),
    receivedAtMs: Math.ceil(time.ofMonotonic(kept.receivedMs ?? kept.at.monotonicMs)),
    sizesBefore: turns.sizesBefore(id),
  };
}

function readingsToStore(
  { memory }: PipelineContext,
  { id, sources }: WatchedAccount,
  stored: StoredAccount,
  { at, observed }: { readonly at: Instant; readonly observed: Observed },
): StoredReadings | undefined {
  const before: StoredReadings['sources'] = stored.documents.readings?.sources ?? {};
  const seldom = sources.filter(isSeldom);
  const changed = seldom.some((source) => memory.isNew(id, source) || before[source] === undefined);
  const dropped = Object.keys(before).some((source) => !seldom.includes(source as SourceName));
  if (!changed && !dropped) return undefined;
  return { version: 2, at, sources: Object.fromEntries(seldom.map((source) => [source, observed[source]])) };
}

/** Combines an observation with our own orders in the stored state. */
export function snapshotOf(
  observation: Observation,
  stored: StoredAccount,
  closedByUs: readonly string[] = [],
): Snapshot {
  return {
    version: 1,
    accountId: stored.accountId,
    at: observation.at,
    sources: observation.sources,
    ownStops: ownStopsOf(stored),
    ...(closedByUs.length === 0 ? {} : { closedByUs }),
  };
}

/**
 * The account that acts instead of this one because both are the same exchange account: the first by id of those
 * before it that reduce or protect and were read lately.
 */
export function sharedAccount(
  { accounts, memory, time }: PipelineContext,
  { id }: WatchedAccount,
): string | undefined {
  const acting = memory.samePositions.othersLike(id).filter((otherId) => {
    const other = accounts.get(otherId);
    const read = memory.recall(otherId).positions;
    if (otherId >= id || other === undefined || read === undefined) return false;
    const { maxSnapshotAgeMs } = other.rules.settings;
    return reduces(other) && aged(read.reading, read.at, time.instant()).ageMs <= maxSnapshotAgeMs;
  });
  return acting.toSorted()[0];
}

function reduces({ rules }: WatchedAccount): boolean {
  return rules.all.some(
    ({ mode, stages }) =>
      mode !== 'observe' &&
      stages.some((actions) => actions.some(({ spec }) => spec.kind === 'reduce' || spec.kind === 'protect')),
  );
}
