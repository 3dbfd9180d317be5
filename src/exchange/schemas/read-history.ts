import type { CallOptions, ReadOutcome, RecordList, ReplyTiming } from '../../core/ports/exchange.ts';
import type { Caller } from '../call/caller.ts';
import type { Endpoint } from '../endpoints.ts';
import type { Page, Parsed } from './replies.ts';
import { SetAside } from './set-aside.ts';

export interface HistoryPlan<T> {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, unknown>>;
  readonly options: CallOptions | undefined;
  readonly query: { readonly since?: number; readonly maxRecords?: number };
  /** Records to ask for at once; the exchange allows 500 (specification 8). */
  readonly pageSize: number;
  /** Bound on offset + limit. */
  readonly maxReach: number;
  readonly readPage: (body: unknown) => Parsed<Page<T>>;
  /** What tells records apart; `undefined` when a record has nothing of the kind. */
  readonly idOf: (record: T) => string | undefined;
  /** Seconds; records come newest first by it, where the exchange keeps an order at all. */
  readonly timeOf: (record: T) => number;
  /** Lists within the reply that are ordered each for itself. */
  readonly groupOf: (record: T) => string;
}

/** Specification 8: where the last page may begin. */
const MAX_OFFSET = 100_000;
/** Pages overlap by this many records, so that one removed in between hides none. */
const OVERLAP = 3;
/** A shorter page is not asked for: what is too large then is so for another reason than the number of lists. */
const LEAST_PAGE_SIZE = 5;

interface Collected<T> {
  readonly byId: Map<string, T>;
  readonly aside: SetAside;
  complete: boolean;
  /** There are more records than were read. */
  cut: boolean;
}

/**
 * Reads a history from its newest record to its end, to `since`, or to the bounds of the exchange; only the last
 * leaves the list incomplete. Records that arrive meanwhile push others to the next page, and are recognised by
 * their id. Records that vanish pull others up: where the overlap of pages does not match, the list is incomplete.
 */
export async function readHistory<T>(
  caller: Caller,
  plan: HistoryPlan<T>,
): Promise<ReadOutcome<RecordList<T>>> {
  const collected: Collected<T> = { byId: new Map(), aside: new SetAside(), complete: true, cut: false };
  const deadlineMs = caller.clock.monotonicMs() + (plan.options?.timeoutMs ?? caller.callTimeoutMs);
  const { maxReach, query } = plan;
  // An exchange that sends longer pages than asked for must not fill the memory.
  const wanted = Math.min(query.maxRecords ?? Infinity, maxReach);
  let timing: ReplyTiming | undefined;
  let { pageSize } = plan;
  let offset = 0;
  let leastTotal = 0;
  let countsPerList = false;
  let lastIds: ReadonlySet<string> | undefined;
  for (;;) {
    const limit = Math.min(pageSize, maxReach - offset);
    const outcome = await caller.read({
      endpoint: plan.endpoint,
      params: { ...plan.params, limit, offset },
      options: { ...plan.options, timeoutMs: Math.max(1, deadlineMs - caller.clock.monotonicMs()) },
      read: plan.readPage,
    });
    if (outcome.kind === 'failed') {
      // The limit may count for each market, and an account may have hundreds of them.
      if (outcome.error.name === 'replyTooLarge' && limit > LEAST_PAGE_SIZE) {
        pageSize = Math.max(LEAST_PAGE_SIZE, Math.floor(limit / 2));
        continue;
      }
      return { ...outcome, attempts: outcome.attempts + (timing?.attempts ?? 0) };
    }
    const page = outcome.value;
    timing = joinTimings(timing, outcome.timing);
    // More than the limit in all: it counts for each market.
    countsPerList ||= page.received > limit;
    const bounded = countsPerList ? page.longest : page.received;
    const known = collected.byId.size;
    const ids = collect(collected, plan, page);
    const overlaps = lastIds === undefined || [...ids].some((id) => lastIds?.has(id));
    if (!overlaps && page.setAside.length === 0) collected.complete = false;
    lastIds = ids;
    leastTotal = offset === 0 ? (page.total ?? 0) : Math.min(leastTotal, page.total ?? 0);
    if (reachedSince(plan, page)) break;
    const isLast = page.total === undefined ? bounded < limit : offset + page.received >= page.total;
    if (isLast) {
      // Fewer than there are in all: pages repeated records instead of going on.
      if (collected.byId.size + collected.aside.count < leastTotal) collected.complete = false;
      break;
    }
    if (offset > 0 && collected.byId.size === known) {
      // Pages that repeat records would be asked for up to the last one.
      collected.complete = false;
      break;
    }
    const next = offset + Math.max(1, Math.min(bounded, limit) - OVERLAP);
    const beyond = next > MAX_OFFSET || next >= maxReach;
    if (page.received === 0 || collected.byId.size >= wanted || beyond) {
      collected.cut = true;
      break;
    }
    offset = next;
  }
  return { kind: 'ok', value: finish(collected, plan, wanted), timing };
}

/** Adds a page; the later reading of a record wins. Answers which records the page held. */
function collect<T>(collected: Collected<T>, plan: HistoryPlan<T>, page: Page<T>): Set<string> {
  const ids = new Set<string>();
  const copies = new Map<string, number>();
  for (const record of page.records) {
    const id = plan.idOf(record) ?? nameless(JSON.stringify(record), copies);
    ids.add(id);
    collected.byId.set(id, record);
  }
  collected.aside.addAll(page);
  return ids;
}

/** Records without an id that look alike are two on one page, but one where pages overlap. */
function nameless(text: string, copiesOnThisPage: Map<string, number>): string {
  const copy = (copiesOnThisPage.get(text) ?? 0) + 1;
  copiesOnThisPage.set(text, copy);
  return `${text}#${copy}`;
}

/** Whether every list on the page is in order, newest first, and has come to records older than wanted. */
function reachedSince<T>(plan: HistoryPlan<T>, page: Page<T>): boolean {
  const { since } = plan.query;
  if (since === undefined || page.setAside.length > 0 || page.records.length === 0) return false;
  const oldest = new Map<string, number>();
  for (const record of page.records) {
    const group = plan.groupOf(record);
    const time = plan.timeOf(record);
    if (time > (oldest.get(group) ?? Infinity)) return false;
    oldest.set(group, time);
  }
  return [...oldest.values()].every((time) => time < since);
}

function finish<T>(collected: Collected<T>, plan: HistoryPlan<T>, wanted: number): RecordList<T> {
  const { since = -Infinity } = plan.query;
  const records = [...collected.byId.values()].filter((record) => plan.timeOf(record) >= since);
  const list = collected.aside.asList();
  const isCut = collected.cut || records.length > wanted;
  const complete = collected.complete && list.complete && !isCut;
  return { ...list, records: records.slice(0, wanted), complete, ...(isCut ? { cut: 'limit' } : {}) };
}

/** From when the first page was sent to when the last one came. */
export function joinTimings(before: ReplyTiming | undefined, page: ReplyTiming): ReplyTiming {
  if (before === undefined) return page;
  return { ...page, sentAtMs: before.sentAtMs, attempts: before.attempts + page.attempts };
}
