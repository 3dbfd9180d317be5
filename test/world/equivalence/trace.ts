import type { AuditEvent, AuditKind } from '../../../src/core/audit/audit-event.ts';
import type { AuditReader } from '../../../src/core/ports/audit-reader.ts';
import type { DaemonEvent, Telemetry } from '../../../src/core/ports/telemetry.ts';
import { formatDecimal } from '../../../src/core/quantities/decimal.ts';
import type { SimulatedExchange } from '../../../src/simulator/simulated-exchange.ts';
import { isOurs } from '../../support/own-orders.ts';

export interface TracedOrder {
  /** Milliseconds since the path began, by the exchange's clock. */
  readonly atMs: number;
  readonly market: string;
  /** Side, amount, leg, and whether it is reduce-only. */
  readonly what: string;
  readonly activation: number;
  readonly price: number;
  readonly isOurs: boolean;
  /** When it first filled; undefined if it did not. */
  readonly filledAtMs: number | undefined;
  /** State when it was priced; undefined for an order of somebody else. */
  readonly priced: Priced | undefined;
}

export interface Priced {
  readonly role: 'reduce' | 'cover';
  /** From the decision to its answer; undefined if none came. */
  readonly tookMs: number | undefined;
  /** Round trip of requests in its market until then, by the lanes' reckoning. */
  readonly roundTripMs: number;
}

/** History of one account, in the words that are compared; by market, since markets do not wait for each other. */
export interface Trace {
  /** By rule and subject: its phases. */
  readonly episodes: Readonly<Record<string, readonly string[]>>;
  /** By market, or `account`: decisions and their results. */
  readonly actions: Readonly<Record<string, readonly string[]>>;
  readonly orders: readonly TracedOrder[];
  /** By market: events of orders and positions. */
  readonly ledger: Readonly<Record<string, readonly string[]>>;
  /** By market and direction: final sizes. */
  readonly sizes: Readonly<Record<string, string>>;
  /** The exchange's answers to reads of positions. */
  readonly reads: readonly TracedRead[];
}

/** Requested and answered at some time between the two, in milliseconds since the path began. */
export interface TracedRead {
  readonly fromMs: number;
  readonly toMs: number;
  /** The market whose lane made it; null: a poll, which reads all markets. */
  readonly market: string | null;
  /**
   * Possible error of the daemon's estimate of the store's clock. A poll's read is handed to lanes as sent this much
   * earlier, so that it never seems newer than it is by a lane's clock.
   */
  readonly clockErrorMs: number;
}

/**
 * Actions by the audit, without details that depend on timing: whether an order fills as it is accepted or only a later
 * read shows it, and so whether a cancel must verify (fills and cancelled orders are compared in the ledger), and reads
 * that came too late to count.
 */
const ACTIONS: ReadonlySet<AuditKind> = new Set<AuditKind>([
  'intentOpened',
  'targetSet',
  'intentEnded',
  'refused',
  'blocked',
  'doubt',
  'doubtResolved',
  'placing',
  'accepted',
  'adjusted',
  'rejected',
  'unknown',
  'cancelRejected',
  'coverTriggered',
  'coverChanged',
  'overshoot',
  'standingOrder',
  'wouldPlace',
  'wouldCancel',
]);

const LEDGER = [
  'order_rejected',
  'stop_triggered',
  'fill',
  'order_cancelled',
  'margin_call',
  'margin_call_cleared',
  'liquidation_started',
  'liquidation',
  'liquidation_ended',
  'loan_margin_call',
  'loan_margin_call_cleared',
  'loan_liquidation',
] as const;

const MOST_RECORDS = 10_000;

/** Times at which each account's positions were read, by the exchange's clock; an observer of daemons. */
export class ReadLog implements Telemetry {
  readonly #reads = new Map<string, TracedRead[]>();
  readonly #nowMs: () => number;
  readonly #clockErrorMs: () => number;

  constructor(nowMs: () => number, clockErrorMs: () => number) {
    this.#nowMs = nowMs;
    this.#clockErrorMs = clockErrorMs;
  }

  emit(event: DaemonEvent): void {
    const isPoll = event.kind === 'read' && event.source === 'positions' && event.outcome === 'ok';
    const isLane = event.kind === 'step' && event.step === 'readPositions' && event.outcome === 'read';
    if (!isPoll && !isLane) return;
    const toMs = this.#nowMs();
    const reads = this.#reads.get(event.accountId) ?? [];
    this.#reads.set(event.accountId, reads);
    const market = event.kind === 'step' ? event.market : null;
    reads.push({ fromMs: toMs - event.durationMs, toMs, market, clockErrorMs: this.#clockErrorMs() });
  }

  of(accountId: string, beginMs: number): readonly TracedRead[] {
    const reads = this.#reads.get(accountId) ?? [];
    return reads.map(({ fromMs, toMs, market, clockErrorMs }) => ({
      fromMs: fromMs - beginMs,
      toMs: toMs - beginMs,
      market,
      clockErrorMs,
    }));
  }
}

export async function traceOf(
  exchange: SimulatedExchange,
  audit: AuditReader,
  reads: ReadLog,
  { accountId, beginMs }: { readonly accountId: string; readonly beginMs: number },
): Promise<Trace> {
  const records = await audit.read(accountId, { from: 1, limit: MOST_RECORDS });
  const contents = records.map(({ record }) => record.content);
  const transitions = contents.flatMap((content) => (content.kind === 'decision' ? content.transitions : []));
  const events = contents.flatMap((content) => (content.kind === 'action' ? [content.event] : []));
  return {
    episodes: grouped(
      transitions,
      // The name of a credit line ends with the second in which it was opened.
      ({ ruleId, subject }) => `${ruleId} ${subject.replace(/@\d+$/, '')}`,
      ({ episode, to, reason, stage }) =>
        `${episode} ${to}: ${reason}${stage === undefined ? '' : ` ${stage}`}`,
    ),
    actions: grouped(
      events.filter(({ kind }) => ACTIONS.has(kind)),
      ({ market = 'account' }) => market,
      wordsOf,
    ),
    orders: ordersOf(exchange, { accountId, beginMs }, pricedOf(events)),
    ledger: grouped(
      exchange.model.ledger({ accountId, kinds: LEDGER }),
      ({ market = 'account' }) => market,
      ({ kind, side = '', amount = '', reason = '' }) => `${kind} ${side} ${amount} ${reason}`,
    ),
    sizes: Object.fromEntries(
      exchange.model
        .openPositions(accountId)
        .map(({ market, direction, amount }) => [`${market} ${direction}`, formatDecimal(amount)]),
    ),
    reads: reads.of(accountId, beginMs),
  };
}

function wordsOf({ kind, reason, positionId = '', targetBase, ruleId = '', order }: AuditEvent): string {
  const what = order === undefined ? '' : `${order.side} ${order.amount} ${order.positionSide ?? ''}`;
  // An operator's order has a random id.
  const rule = ruleId.replace(/^operator:.*/, 'operator');
  const why = kind === 'accepted' ? '' : reason;
  return `${kind} ${why} ${rule} ${positionId} ${targetBase ?? ''} ${what}`.replaceAll(/ +/g, ' ').trim();
}

function ordersOf(
  exchange: SimulatedExchange,
  { accountId, beginMs }: { readonly accountId: string; readonly beginMs: number },
  priced: ReadonlyMap<string, Priced>,
): readonly TracedOrder[] {
  const filled = new Map(
    exchange.model
      .ledger({ accountId, kinds: ['fill'] })
      .toReversed()
      .map(({ atMs, clientOrderId }) => [clientOrderId, atMs - beginMs]),
  );
  return exchange.model
    .ledger({ accountId, kinds: ['order_placed'] })
    .map(({ atMs, market = '', side, amount, price, details, clientOrderId = '' }) => ({
      atMs: atMs - beginMs,
      market,
      what: `${side} ${amount} ${details?.['positionSide']} ${details?.['reduceOnly'] === true ? 'reduceOnly' : 'opening'}`,
      activation: Number(details?.['activationPrice'] ?? 0),
      price: Number(price ?? 0),
      isOurs: isOurs({ clientOrderId }),
      filledAtMs: filled.get(clientOrderId),
      priced: priced.get(clientOrderId),
    }));
}

const SENT: ReadonlySet<AuditKind> = new Set<AuditKind>(['placing', 'cancelling']);
const ANSWERED: ReadonlySet<AuditKind> = new Set<AuditKind>([
  'accepted',
  'rejected',
  'cancelAccepted',
  'cancelRejected',
]);

/** By client order id: the duration of an order that was sent once, and the round trip of its lane before. */
function pricedOf(events: readonly AuditEvent[]): ReadonlyMap<string, Priced> {
  const priced = new Map<string, Priced>();
  for (const ofMarket of Map.groupBy(events, ({ market }) => market).values()) {
    let roundTripMs = 0;
    let sentMs: number | undefined;
    for (const { kind, atMs, order, reason } of ofMarket) {
      const id = order?.clientOrderId ?? '';
      if (kind === 'placing') {
        const role = reason === 'cover' ? 'cover' : 'reduce';
        priced.set(id, priced.get(id) ?? { role, tookMs: undefined, roundTripMs });
      }
      if (SENT.has(kind)) sentMs = atMs;
      if (!ANSWERED.has(kind) || sentMs === undefined) continue;
      const tookMs = atMs - sentMs;
      const known = priced.get(id);
      if (kind === 'accepted' && known !== undefined) priced.set(id, { ...known, tookMs });
      roundTripMs = Math.max(tookMs, Math.round((roundTripMs + tookMs) / 2));
      sentMs = undefined;
    }
  }
  return priced;
}

function grouped<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  words: (item: T) => string,
): Readonly<Record<string, readonly string[]>> {
  const groups: Record<string, string[]> = {};
  for (const item of items) (groups[keyOf(item)] ??= []).push(words(item));
  return groups;
}
