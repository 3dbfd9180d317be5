import type { AuditEvent } from '../audit/audit-event.ts';
import type { AuditContent } from '../audit/audit-record.ts';
import { actionWords } from './record-words.ts';

/** What was sent and what became of it, from the audit: recorded before it is sent, and its outcome after. */
export interface ActionLine {
  /** The same for every state of one request. */
  readonly id: string;
  readonly accountId: string;
  /** Null: in all markets of the account. */
  readonly market: string | null;
  /** Null for a cancel, which concerns all positions of its market. */
  readonly positionId: string | null;
  readonly kind: 'place' | 'cancelAll';
  readonly outcome: ActionOutcome;
  readonly reason: string;
  /** When it was begun, Unix milliseconds. */
  readonly atMs: number;
  /** From the request's record to that of its outcome; null while there is none, and for what is not sent. */
  readonly tookMs: number | null;
  readonly words: string;
}

/** `pending`: being sent. `observed`: would have been sent, in observe mode. */
export type ActionOutcome = 'pending' | 'accepted' | 'rejected' | 'unknown' | 'observed';

/** A record of the audit; only what lanes did counts. */
export interface LoggedRecord {
  readonly number: number;
  readonly record: {
    readonly content:
      | Extract<AuditContent, { readonly kind: 'action' }>
      | { readonly kind: Exclude<AuditContent['kind'], 'action'> };
  };
}

const MOST_PENDING = 200;

/** The actions of one account: records go in from the oldest to the newest, what changed comes out. */
export class ActionLog {
  readonly #accountId: string;
  readonly #pending = new Map<string, ActionLine>();

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  /** New and changed lines, in the order in which they changed. */
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

/** Which request has ended, and how; key null: whatever is pending in the market. */
function endOf(
  event: AuditEvent,
): { readonly key: string | null; readonly outcome: ActionOutcome } | undefined {
  const { kind, market, order, cancel, reason, alarm } = event;
  const key = order === undefined ? cancelKey(market) : orderKey(order);
  switch (kind) {
    case 'accepted':
    case 'cancelAccepted':
      return { key, outcome: 'accepted' };
    case 'rejected':
      // One without an order is found out later, from a read.
      if (order === undefined) return undefined;
      // The answer to the question whether it stands: its id is taken.
      return { key, outcome: reason === 'duplicateId' && !alarm ? 'accepted' : 'rejected' };
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

/** Doubts that a request without an answer leaves behind. */
const LOST: ReadonlySet<string> = new Set(['unknownOutcome', 'processDied']);

function orderKey(order: AuditEvent['order']): string {
  return `place:${order?.clientOrderId ?? ''}`;
}

function cancelKey(market: string | undefined): string {
  return `cancel:${market ?? ''}`;
}
