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
  /** Records per page; the exchange allows 500 (specification 8). */
  readonly pageSize: number;
  /** Bound on offset + limit. */
  readonly maxReach: number;
  readonly readPage: (body: unknown) => Parsed<Page<T>>;
  /** Identifies a record; `undefined` if the record has no id. */
  readonly idOf: (record: T) => string | undefined;
  /** Unix seconds. Records come newest first by this time, if the exchange keeps an order. */
  readonly timeOf: (record: T) => number;
  /** Names the list within the reply that the record is in; each list has its own order. */
  readonly groupOf: (record: T) => string;
}

/** Largest offset of a page (specification 8). */
const MAX_OFFSET = 100_000;
/** Pages overlap by this many records, so that a record removed in between hides no other. */
const OVERLAP = 3;
/** A page of this size that is still too large has a cause other than the number of lists, so none smaller is tried. */
const LEAST_PAGE_SIZE = 5;

interface Collected<T> {
  readonly byId: Map<string, T>;
  readonly aside: SetAside;
  complete: boolean;
  /** More records exist than were read. */
  cut: boolean;
}

/**
 * Reads a history from its newest record to its end, to `since`, or to a bound of the exchange or `maxRecords`. Of
 * these only a bound leaves the list incomplete. Records that arrive meanwhile push others to the next page, where
 * their id identifies them. Records that vanish pull others up: if the overlap of two pages does not match, the list
 * is incomplete.
 */
export async function readHistory<T>(
  caller: Caller,
  plan: HistoryPlan<T>,
): Promise<ReadOutcome<RecordList<T>>> {
  const collected: Collected<T> = { byId: new Map(), aside: new SetAside(), complete: true, cut: false };
  const deadlineMs = caller.clock.monotonicMs() + (plan.options?.timeoutMs ?? caller.callTimeoutMs);
  const { maxReach, query } = plan;
  // Bounds memory if the exchange sends longer pages than requested.
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
      // The limit may count per market, and an account may have hundreds of markets.
      if (outcome.error.name === 'replyTooLarge' && limit > LEAST_PAGE_SIZE) {
        pageSize = Math.max(LEAST_PAGE_SIZE, Math.floor(limit / 2));
        continue;
      }
      return { ...outcome, attempts: outcome.attempts + (timing?.attempts ?? 0) };
    }
    const page = outcome.value;
    timing = joinTimings(timing, outcome.timing);
    // More records than the limit: it counts per market.
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
      // Fewer than the total: pages repeated records instead of going on.
      if (collected.byId.size + collected.aside.count < leastTotal) collected.complete = false;
      break;
    }
    if (offset > 0 && collected.byId.size === known) {
      // Stop: a page without new records would repeat up to the last offset.
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

/** Adds a page; the later version of a record wins. Returns the ids on the page. */
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

/** Equal records without an id count as two on one page, but as one across pages, which overlap. */
function nameless(text: string, copiesOnThisPage: Map<string, number>): string {
  const copy = (copiesOnThisPage.get(text) ?? 0) + 1;
  copiesOnThisPage.set(text, copy);
  return `${text}#${copy}`;
}

/** Whether every list on the page is sorted, newest first, and has reached records older than `since`. */
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

/** Timing from the sending of the first page to the arrival of the last one. */
export function joinTimings(before: ReplyTiming | undefined, page: ReplyTiming): ReplyTiming {
  if (before === undefined) return page;
  return { ...page, sentAtMs: before.sentAtMs, attempts: before.attempts + page.attempts };
}
