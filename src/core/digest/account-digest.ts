import type { AuditEvent } from '../audit/audit-event.ts';
import type { AuditContent, StoredDecision } from '../audit/audit-record.ts';
import { costRows, pricedActions } from '../costs/cost-report.ts';
import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import { toDecimal } from '../quantities/decimal.ts';
import type { Transition } from '../rules/decision.ts';
import type { SubjectKey } from '../rules/subject.ts';
import { positionKey } from '../rules/subjects.ts';
import type { AccountView } from '../view/account-view.ts';
import { ActionLog, type ActionOutcome } from '../view/action-log.ts';
import { failureWords } from '../view/blindness.ts';
import {
  type AccountDigest,
  type AnswerDigest,
  type GoneDigest,
  NEAR,
  type ObservedDigest,
  type OutcomeCounts,
  type Period,
  type RequestCounts,
  type UnreadDigest,
} from './digest.ts';
import { rulesIn, subjectWords } from './rules-fired.ts';
import type { Sighting } from './sighting.ts';
import { troublesIn } from './troubles.ts';

/** An audit record; of a decision only its transitions. */
export interface DigestRecord {
  readonly number: number;
  readonly record: { readonly content: DigestContent };
}

type DigestContent =
  | Exclude<AuditContent, StoredDecision>
  | Pick<StoredDecision, 'kind' | 'atMs' | 'transitions'>;

export interface DigestSources {
  readonly accountId: string;
  /** Oldest first; includes records after the period, which show the outcome of its orders. */
  readonly records: readonly DigestRecord[];
  /** Sightings within the period, nearest first. */
  readonly sightings: readonly Sighting[];
  /** The account at the end of the period; absent: the end is long past. */
  readonly view?: Pick<AccountView, 'sources' | 'failures' | 'rules' | 'refused'>;
  /** Time of the oldest remaining record, if older ones were pruned. */
  readonly prunedToMs?: number;
  /** Why some records could not be read; absent: all could. */
  readonly unreadable?: string;
}

/** Pure: the same sources give the same digest. */
export function digestAccount(sources: DigestSources, period: Period): AccountDigest {
  const { accountId, records, sightings, view, prunedToMs, unreadable } = sources;
  const events = eventsIn(records, period);
  const nearest = sightings.find(({ atMs }) => isWithin(atMs, period)) ?? null;
  const transitions = transitionsIn(records, period);
  const names = namesOf(sources);
  const rules = rulesIn({ transitions, lines: view?.rules, names, toMs: period.toMs });
  return {
    accountId,
    nearest,
    cameNear: nearest !== null && isNear(nearest),
    rules,
    gone: goneIn(transitions, names),
    answers: answersIn(events),
    requests: requestsIn(accountId, records, period),
    costs: costRows(pricedActions(pricedRecords(records), period)),
    observed: observedIn(events),
    troubles: troublesIn(events),
    unread: view === undefined ? null : unreadOf(view),
    recordsFromMs: prunedToMs !== undefined && prunedToMs > period.fromMs ? prunedToMs : null,
    unreadable: unreadable ?? view?.refused?.message ?? null,
  };
}

function isWithin(atMs: number, { fromMs, toMs }: Period): boolean {
  return atMs >= fromMs && atMs < toMs;
}

function isNear({ distance, called }: Sighting): boolean {
  return called !== null || (distance !== null && distance < NEAR);
}

function eventsIn(records: readonly DigestRecord[], period: Period): readonly AuditEvent[] {
  return records.flatMap(({ record: { content } }) =>
    content.kind === 'action' && isWithin(content.event.atMs, period) ? [content.event] : [],
  );
}

function transitionsIn(records: readonly DigestRecord[], period: Period): readonly Transition[] {
  return records.flatMap(({ record: { content } }) =>
    content.kind === 'decision' ? content.transitions.filter(({ atMs }) => isWithin(atMs, period)) : [],
  );
}

function pricedRecords(records: readonly DigestRecord[]) {
  return records.flatMap(({ record: { content } }) => (content.kind === 'action' ? [{ content }] : []));
}

/** Names of subjects: their market or asset. */
function namesOf({ sightings, records }: DigestSources): ReadonlyMap<SubjectKey, string> {
  const names = new Map<SubjectKey, string>();
  for (const { record } of records) {
    if (record.content.kind !== 'action') continue;
    const { positionId, market } = record.content.event;
    if (positionId !== undefined && market !== undefined) names.set(positionKey(positionId), market);
  }
  for (const { subject, name } of sightings) if (name !== '') names.set(subject, name);
  return names;
}

const NO_COUNTS: OutcomeCounts = { accepted: 0, rejected: 0, unknown: 0 };

function requestsIn(accountId: string, records: readonly DigestRecord[], period: Period): RequestCounts {
  const outcomes = new Map<
    string,
    { readonly kind: 'place' | 'cancelAll'; readonly outcome: ActionOutcome }
  >();
  for (const { id, kind, outcome, atMs } of new ActionLog(accountId).add(records)) {
    if (isWithin(atMs, period)) outcomes.set(id, { kind, outcome });
  }
  const counts = { place: NO_COUNTS, cancelAll: NO_COUNTS };
  for (const { kind, outcome } of outcomes.values()) {
    if (outcome === 'observed') continue;
    const name = outcome === 'pending' ? 'unknown' : outcome;
    counts[kind] = { ...counts[kind], [name]: counts[kind][name] + 1 };
  }
  return { orders: counts.place, cancels: counts.cancelAll };
}

function unreadOf({ sources, failures }: Pick<AccountView, 'sources' | 'failures'>): UnreadDigest | null {
  const [oldest] = sources.filter(({ tooOld }) => tooOld).toSorted((a, b) => b.ageMs - a.ageMs);
  if (oldest === undefined) return null;
  const failure = failures.find(({ source }) => source === oldest.source) ?? failures[0];
  const why = failure === undefined ? null : failureWords(failure);
  return { source: oldest.source, sinceMs: oldest.readAtMs, why };
}

/** Outcomes of the questions to people, by rule and outcome. */
function answersIn(events: readonly AuditEvent[]): readonly AnswerDigest[] {
  const settled = events.filter(({ kind }) => kind === 'approvalSettled');
  const groups = Map.groupBy(settled, ({ ruleId, reason }) => JSON.stringify([ruleId ?? '', reason]));
  return [...groups.values()].flatMap((group) =>
    group
      .slice(-1)
      .map(({ ruleId = '', reason, words }) => ({ ruleId, end: reason, times: group.length, words })),
  );
}

/** Positions and credit lines that left the list while a rule fired for them, oldest first. */
function goneIn(
  transitions: readonly Transition[],
  names: ReadonlyMap<SubjectKey, string>,
): readonly GoneDigest[] {
  const gone = transitions.filter(({ from, reason }) => from === 'firing' && reason === 'subjectGone');
  const groups = Map.groupBy(gone, ({ subject, atMs }) => JSON.stringify([subject, atMs]));
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map(({ subject, atMs }) => ({
      name: subjectWords(subject, names),
      ruleIds: [...new Set(group.map(({ ruleId }) => ruleId))].toSorted(),
      atMs,
    })),
  );
}

/** Orders and cancels that would have been sent, by rule and market. The audit has each order once. */
function observedIn(events: readonly AuditEvent[]): readonly ObservedDigest[] {
  // Questions to people are excluded: their orders are sent or vetoed.
  const seen = events.filter(
    ({ kind, reason }) => (kind === 'wouldPlace' || kind === 'wouldCancel') && reason !== 'awaitingApproval',
  );
  const groups = Map.groupBy(seen, ({ ruleId, market }) => JSON.stringify([ruleId ?? '', market ?? null]));
  return [...groups].map(([key, group]) => {
    const [ruleId, market] = JSON.parse(key) as [string, string | null];
    const orders = group.flatMap(({ order }) => order ?? []);
    return {
      ruleId,
      market,
      orders: orders.length,
      cancels: group.filter(({ kind }) => kind === 'wouldCancel').length,
      largest: largestOf(orders),
    };
  });
}

function largestOf(orders: readonly ReduceOnlyStopRequest[]): ReduceOnlyStopRequest | null {
  return orders.reduce<ReduceOnlyStopRequest | null>(
    (most, one) => (most === null || toDecimal(one.amount).gt(toDecimal(most.amount)) ? one : most),
    null,
  );
}
