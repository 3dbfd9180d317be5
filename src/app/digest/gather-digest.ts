import process from 'node:process';
import {
  AuditInputsError,
  type AuditRecord,
  type ChainedRecord,
  OPERATOR_CHAIN,
} from '../../core/audit/audit-record.ts';
import { type DigestRecord, digestAccount } from '../../core/digest/account-digest.ts';
import {
  type AccountDigest,
  type Digest,
  type DigestHead,
  digestOf,
  type Period,
} from '../../core/digest/digest.ts';
import { NearestSightings, sightingsInDecision, sightingsInHistory } from '../../core/digest/sighting.ts';
import type { AuditReader } from '../../core/ports/audit-reader.ts';
import type { HistoryMoment, HistoryReader } from '../../core/ports/history-reader.ts';
import { type StateStore, StoreLostError } from '../../core/ports/state-store.ts';
import type { CompiledRules } from '../../core/rules/compiled-rules.ts';
import { viewAccount } from '../../core/view/view-account.ts';
import { readVersion } from '../read-version.ts';

export interface DigestPlace {
  readonly audit: Pick<AuditReader, 'read' | 'inputs' | 'head'>;
  readonly history: Pick<HistoryReader, 'readAll'>;
  readonly store: Pick<StateStore, 'read'>;
  /** As configured now. */
  readonly accounts: readonly DigestedAccount[];
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** Whole sentences to include in the digest. */
  readonly notes?: readonly string[];
}

export interface DigestedAccount {
  readonly id: string;
  /** Contains the account's settings, too. */
  readonly rules: CompiledRules;
}

/** The present state of an account is included only if the period ended this recently. */
const RECENT_MS = 10 * 60_000;

/** Reads the stored data of a period, one account after another. Rejects if the store is lost or the signal aborts. */
export async function gatherDigest(place: DigestPlace, period: Period): Promise<Digest> {
  const accounts: AccountDigest[] = [];
  for (const account of place.accounts) {
    place.signal.throwIfAborted();
    accounts.push(await gatherOrSayWhy(account, place, period));
  }
  const versions = { breakwater: readVersion(), node: process.version };
  const heads = await headsOf(place);
  return digestOf(accounts, period, { versions, notes: place.notes ?? [], heads });
}

/** Heads of the audit chains now: somebody who rewrites a chain later cannot change a head already sent in a notice. */
async function headsOf({ audit, accounts, signal }: DigestPlace): Promise<readonly DigestHead[]> {
  const heads: DigestHead[] = [];
  for (const chain of [...accounts.map(({ id }) => id), OPERATOR_CHAIN]) {
    signal.throwIfAborted();
    const head = await audit.head(chain).catch((error: unknown) => {
      if (error instanceof StoreLostError) throw error;
    });
    if (head !== undefined) heads.push({ chain, head });
  }
  return heads;
}

/** Unreadable data of one account, from another version or author, must not silence the others. */
async function gatherOrSayWhy(account: DigestedAccount, place: DigestPlace, period: Period) {
  try {
    return await gatherAccount(account, place, period);
  } catch (error) {
    if (place.signal.aborted || error instanceof StoreLostError) throw error;
    const unreadable = error instanceof Error ? error.message : String(error);
    return digestAccount({ accountId: account.id, records: [], sightings: [], unreadable }, period);
  }
}

async function gatherAccount(
  { id: accountId, rules }: DigestedAccount,
  { audit, history, store, nowMs, signal }: DigestPlace,
  period: Period,
): Promise<AccountDigest> {
  const nearest = new NearestSightings();
  for await (const moments of momentsBack(history, accountId, period)) {
    signal.throwIfAborted();
    for (const moment of moments) nearest.add(sightingsInHistory(moment));
  }
  const records: DigestRecord[] = [];
  let oldest: ChainedRecord | undefined;
  let prunedToMs: number | undefined;
  for await (const { page, isFirst } of pagesBack(audit, accountId, period.fromMs)) {
    signal.throwIfAborted();
    oldest = page[0] ?? oldest;
    if (isFirst && oldest !== undefined && oldest.number > 1) prunedToMs = oldest.record.atMs;
    for (const one of page) nearest.add(await sightingsIn(one.record, { audit, rules, period }));
    records.unshift(...page.map(withoutInputs));
  }
  const isRecent = nowMs - period.toMs < RECENT_MS;
  const view = isRecent ? viewAccount({ ...(await store.read(accountId)), nowMs, rules }) : undefined;
  const sources = { accountId, records, sightings: nearest.all };
  const pruned = prunedToMs === undefined ? {} : { prunedToMs };
  return digestAccount({ ...sources, ...(view && { view }), ...pruned }, period);
}

/** Records and samples read at once: what acts in this process never waits for more than one page. */
const PAGE = 200;
/** Processes date records by their own clocks: records of a page may be out of order by the difference. */
const CLOCKS_DIFFER_MS = 10 * 60_000;

/**
 * Yields pages from the newest back to the one that reaches `fromMs`, each with its oldest record first. `isFirst`: there
 * is no page before it.
 */
async function* pagesBack(audit: Pick<AuditReader, 'read'>, accountId: string, fromMs: number) {
  let to = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const page = await audit.read(accountId, { to, limit: PAGE });
    const [oldest] = page;
    const isFirst = page.length < PAGE;
    yield { page, isFirst };
    if (oldest === undefined || isFirst || oldest.record.atMs < fromMs - CLOCKS_DIFFER_MS) return;
    to = oldest.number - 1;
  }
}

/** Yields the samples of a period, newest page first. */
async function* momentsBack(
  history: Pick<HistoryReader, 'readAll'>,
  accountId: string,
  { fromMs, toMs: endMs }: Period,
): AsyncGenerator<readonly HistoryMoment[]> {
  for (let toMs = endMs - 1; ; ) {
    const moments = await history.readAll(accountId, { fromMs, toMs, limit: PAGE });
    yield moments;
    const [oldest] = moments;
    if (oldest === undefined || moments.length < PAGE) return;
    toMs = oldest.atMs - 1;
  }
}

interface DecisionScene {
  readonly audit: Pick<AuditReader, 'inputs'>;
  readonly rules: CompiledRules;
  readonly period: Period;
}

async function sightingsIn(record: AuditRecord, { audit, rules, period }: DecisionScene) {
  const { content } = record;
  if (content.kind !== 'decision' || content.atMs < period.fromMs || content.atMs >= period.toMs) return [];
  try {
    const inputs = await audit.inputs(record);
    return inputs === undefined ? [] : sightingsInDecision(inputs, rules.settings);
  } catch (error) {
    // The samples of that time show nearly the same.
    if (error instanceof AuditInputsError) return [];
    throw error;
  }
}

/** Drops the inputs: they are most of a record, and the sightings have been taken from them. */
function withoutInputs({ number, record: { content } }: ChainedRecord): DigestRecord {
  if (content.kind !== 'decision') return { number, record: { content } };
  const { kind, atMs, transitions } = content;
  return { number, record: { content: { kind, atMs, transitions } } };
}
