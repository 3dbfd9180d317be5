import { z } from 'zod';
import { type AuditEvent, showsOrderStands } from '../audit/audit-event.ts';
import type { AuditContent } from '../audit/audit-record.ts';
import { named, type OutputOf, timeMs } from '../schema/parts.ts';
import { actionWords } from './record-words.ts';

/** A request and its outcome, from the audit: recorded before it is sent, the outcome afterwards. */
export const actionLineSchema = named('Action', () => ({
  id: z.string().describe('The same for every state of one request.'),
  accountId: z.string(),
  market: z.string().nullable().describe('null: all markets of the account.'),
  /** Null for a cancel, which concerns all positions of its market. */
  positionId: z.string().nullable(),
  kind: z.enum(['place', 'cancelAll']),
  /** `pending`: being sent. `observed`: would have been sent, in observe mode. */
  outcome: z.enum(['pending', 'accepted', 'rejected', 'unknown', 'observed']),
  reason: z.string(),
  /** Start. */
  atMs: timeMs(),
  /** From the record of the request to that of its outcome; null while pending and for requests that are not sent. */
  tookMs: z.number().nullable(),
  words: z.string(),
}));
export type ActionLine = OutputOf<typeof actionLineSchema>;
export type ActionOutcome = ActionLine['outcome'];

/** An audit record; only actions of lanes count. */
export interface LoggedRecord {
  readonly number: number;
  readonly record: {
    readonly content:
      | Extract<AuditContent, { readonly kind: 'action' }>
      | { readonly kind: Exclude<AuditContent['kind'], 'action'> };
  };
}

const MOST_PENDING = 200;

/** Follows the actions of one account: takes records oldest first and returns the lines that changed. */
export class ActionLog {
  readonly #accountId: string;
  readonly #pending = new Map<string, ActionLine>();

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  /** Returns new and changed lines in the order of their changes. */
  add(records: readonly LoggedRecord[]): readonly ActionLine[] {
    const changed: ActionLine[] = [];
    for (const { number, record } of records) {
      const { content } = record;
      if (content.kind !== 'action') continue;
      for (const line of this.#apply(number, content.event)) changed.push(line);
    }
    return changed;
  }

  #apply(number: number, event: AuditEvent): readonly ActionLine[] {
    const begun = begunBy(event);
    if (begun !== undefined) return [this.#begin(number, event, begun)];
    const ended = endOf(event);
    if (ended === undefined) return [];
    const keys = ended.key === null ? this.#pendingIn(event.market) : [ended.key];
    return keys.flatMap((key) => this.#end(key, event, ended.outcome));
  }

  #begin(number: number, event: AuditEvent, { kind, key, outcome }: Begun): ActionLine {
    const line: ActionLine = {
      id: `${this.#accountId}:${number}`,
      accountId: this.#accountId,
      market: event.market ?? null,
      positionId: event.positionId ?? null,
      kind,
      outcome,
      reason: event.reason,
      atMs: event.atMs,
      tookMs: null,
      words: actionWords(event),
    };
    if (outcome === 'pending') {
      this.#pending.delete(key);
      this.#pending.set(key, line);
      const [oldest] = this.#pending.keys();
      if (this.#pending.size > MOST_PENDING && oldest !== undefined) this.#pending.delete(oldest);
    }
    return line;
  }

  #end(key: string, event: AuditEvent, outcome: ActionOutcome): readonly ActionLine[] {
    const line = this.#pending.get(key);
    if (line === undefined) return [];
    this.#pending.delete(key);
    const { reason, atMs } = event;
    const words = outcome === 'accepted' ? line.words : `${line.words}: ${event.words}`;
    return [{ ...line, outcome, reason, tookMs: Math.max(0, atMs - line.atMs), words }];
  }

  #pendingIn(market: string | undefined): readonly string[] {
    return [...this.#pending].filter(([, line]) => line.market === (market ?? null)).map(([key]) => key);
  }
}

interface Begun {
  readonly kind: ActionLine['kind'];
  readonly key: string;
  readonly outcome: 'pending' | 'observed';
}

function begunBy({ kind, market, order, reason }: AuditEvent): Begun | undefined {
  if (reason === 'awaitingApproval') return undefined;
  switch (kind) {
    case 'placing':
      return { kind: 'place', key: orderKey(order), outcome: 'pending' };
    case 'wouldPlace':
      return { kind: 'place', key: '', outcome: 'observed' };
    case 'cancelling':
      return { kind: 'cancelAll', key: cancelKey(market), outcome: 'pending' };
    case 'wouldCancel':
      return { kind: 'cancelAll', key: '', outcome: 'observed' };
    default:
      return undefined;
  }
}

/** The request that ended, and how; null key: every pending request of the market. */
function endOf(
  event: AuditEvent,
): { readonly key: string | null; readonly outcome: ActionOutcome } | undefined {
  const { kind, market, order, cancel, reason } = event;
  const key = order === undefined ? cancelKey(market) : orderKey(order);
  switch (kind) {
    case 'accepted':
    case 'cancelAccepted':
      return { key, outcome: 'accepted' };
    case 'rejected':
      // A rejection without an order was found later, by a read.
      if (order === undefined) return undefined;
      return { key, outcome: showsOrderStands(event) ? 'accepted' : 'rejected' };
    case 'cancelRejected':
      return { key, outcome: 'rejected' };
    case 'unknown':
      return order === undefined && cancel === undefined ? undefined : { key, outcome: 'unknown' };
    case 'doubt':
      return LOST.has(reason) ? { key: null, outcome: 'unknown' } : undefined;
    default:
      return undefined;
  }
}

/** Doubts caused by a request without an answer. */
const LOST: ReadonlySet<string> = new Set(['unknownOutcome', 'processDied']);

function orderKey(order: AuditEvent['order']): string {
  return `place:${order?.clientOrderId ?? ''}`;
}

function cancelKey(market: string | undefined): string {
  return `cancel:${market ?? ''}`;
}
