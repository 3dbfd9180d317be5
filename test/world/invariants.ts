import { type Decimal, decimal, formatDecimal, ZERO } from '../../src/core/quantities/decimal.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import type { World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { type AuditTrail, auditTrailOf } from '../faults/audit-trail.ts';
import { isOurs } from '../support/own-orders.ts';

interface OpenOrder {
  readonly positionId: number;
  left: Decimal;
}

interface Book {
  readonly trail: AuditTrail;
  /** Positions with an audited overshoot. */
  readonly mayOvershoot: Set<number>;
  readonly sizes: Map<number, Decimal>;
  readonly orders: Map<number, OpenOrder>;
  /** Accounts in which somebody else traded too: earlier requests then prove nothing. */
  readonly disturbed: Set<string>;
  readonly violations: string[];
}

/**
 * Violations, in words, of the invariants that hold in the ledger of every world, whatever failed in it: every order of
 * the daemon only reduces; positions are never reduced below the lowest target so far, nor could open orders do so,
 * except for audited overshoot; nothing is sent while paused; no order is placed again and again; no cancel reaches the
 * owner's orders before anything is to be reduced, a position has closed, or a rule asks for it. `graceMs`: how long
 * earlier requests may still arrive.
 */
export async function violationsOf(
  world: World,
  { graceMs }: { readonly graceMs: number },
): Promise<readonly string[]> {
  const book: Book = {
    // In virtual time audit and ledger have one clock.
    trail: await auditTrailOf(world, 0),
    mayOvershoot: new Set(),
    sizes: new Map(),
    orders: new Map(),
    disturbed: new Set(tradedBy(world.spec)),
    violations: [],
  };
  const closed = closedTimes(world, graceMs);
  for (const entry of world.exchange.model.ledger()) {
    const say = (words: string): void => {
      book.violations.push(`${entry.atMs - world.startMs} ms, ${entry.accountId ?? '-'}: ${words}`);
    };
    if (entry.kind === 'request') checkRequest(entry, closed, say);
    else followOrder(book, entry, say);
  }
  return [...book.violations, ...churnOf(world), ...cancelledInCalm(world, book.trail)];
}

/** Each needs a cancel, a read and an order, with time to fill in between. */
const MOST_ORDERS_A_MINUTE = 40;
const MINUTE_MS = 60_000;

/** A forgotten order would be placed again and again. */
function churnOf({ exchange, startMs, spec }: World): readonly string[] {
  return spec.exchange.accounts.flatMap(({ id }) => {
    const placed = exchange.model.ledger({ accountId: id, kinds: ['order_placed'] });
    const counts = Map.groupBy(placed, ({ atMs }) => Math.floor((atMs - startMs) / MINUTE_MS));
    return [...counts]
      .filter(([, orders]) => orders.length > MOST_ORDERS_A_MINUTE)
      .map(([minute, orders]) => `${id}: ${orders.length} orders within minute ${minute}`);
  });
}

/** Clocks of hosts and of the exchange differ by up to this. */
const CLOCKS_APART_MS = 10_000;

function cancelledInCalm({ exchange, startMs, spec }: World, { events }: AuditTrail): readonly string[] {
  const reasons = new Set(['cancelAction', 'confirmed', 'newPosition', 'closedByOurs']);
  const acts = events.filter(({ kind, reason }) => kind === 'intentOpened' || reasons.has(reason));
  return spec.exchange.accounts.flatMap(({ id, alsoAs = [] }) => {
    const own = acts.filter(({ accountId }) => accountId === id || alsoAs.includes(accountId));
    const calmUntilMs = Math.min(...own.map(({ atMs }) => atMs)) - CLOCKS_APART_MS;
    return exchange.model
      .ledger({ accountId: id, kinds: ['request'] })
      .filter(({ atMs, details }) => atMs < calmUntilMs && String(details?.['path']).includes('/cancel/'))
      .map(({ atMs }) => `${atMs - startMs} ms, ${id}: a cancel in calm`);
  });
}

function tradedBy({ events = [] }: WorldSpec): readonly string[] {
  return events.flatMap((event) => (event.kind === 'trade' ? [event.account] : []));
}

function followOrder(book: Book, entry: LedgerEntry, say: (words: string) => void): void {
  const { kind, positionId, orderId, accountId } = entry;
  if (accountId === null) return;
  if (kind === 'position_seeded' && positionId !== undefined) {
    book.sizes.set(positionId, decimal(entry.amount ?? '0'));
  } else if ((kind === 'auto_deleverage' || kind === 'settlement') && positionId !== undefined) {
    book.sizes.set(positionId, decimal(String(entry.details?.['sizeAfter'] ?? '0')));
  } else if (kind === 'liquidation_started') book.disturbed.add(accountId);
  else if (kind === 'order_cancelled' && orderId !== undefined) book.orders.delete(orderId);
  else if (kind === 'order_placed') place(book, entry, say);
  else if (kind === 'fill') fill(book, entry, say);
}

function place(book: Book, entry: LedgerEntry, say: (words: string) => void): void {
  const { orderId, accountId, details, amount = '0' } = entry;
  if (!isOurs(entry) || orderId === undefined || accountId === null) return;
  if (details?.['reduceOnly'] !== true) say(`order ${orderId} is not reduce-only`);
  // In one-way mode an account has one position per market; the tests of worlds use one market.
  const [positionId] = [...book.sizes.keys()];
  if (positionId === undefined) return;
  if (book.trail.overshoots.has(entry.clientOrderId ?? '')) {
    book.mayOvershoot.add(positionId);
    return;
  }
  // No rule of these worlds protects: such an order only tests, before a cancel, whether the exchange accepts orders.
  if (book.trail.covers.has(entry.clientOrderId ?? '')) return;
  book.orders.set(orderId, { positionId, left: decimal(amount) });
  const target = book.trail.lowestTarget(positionId, entry.atMs);
  if (target === undefined || book.disturbed.has(accountId)) return;
  const size = book.sizes.get(positionId) ?? ZERO;
  let open = ZERO;
  for (const order of book.orders.values()) open = open.plus(order.left);
  if (size.minus(open).lt(target)) {
    say(
      `${formatDecimal(open)} is to be closed of ${formatDecimal(size)}, the target is ${formatDecimal(target)}`,
    );
  }
}

function fill(book: Book, entry: LedgerEntry, say: (words: string) => void): void {
  const { orderId, positionId, accountId, details, amount = '0' } = entry;
  if (orderId === undefined || positionId === undefined || accountId === null) return;
  const sizeAfter = decimal(String(details?.['sizeAfter'] ?? '0'));
  book.sizes.set(positionId, sizeAfter);
  const order = book.orders.get(orderId);
  if (order !== undefined) {
    order.left = order.left.minus(decimal(amount));
    if (order.left.lte(ZERO)) book.orders.delete(orderId);
  }
  if (!isOurs(entry)) return;
  if (details?.['reduced'] !== true) say(`a fill of order ${orderId} opened something`);
  const target = book.trail.lowestTarget(positionId, entry.atMs);
  const isAllowed = book.disturbed.has(accountId) || book.mayOvershoot.has(positionId);
  if (target !== undefined && sizeAfter.lt(target) && !isAllowed) {
    say(
      `position ${positionId} was reduced to ${formatDecimal(sizeAfter)}, the target is ${formatDecimal(target)}`,
    );
  }
}

interface ClosedTime {
  readonly accountId: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  readonly why: string;
}

/** Periods in which nothing may be sent. */
function closedTimes({ spec, startMs }: World, graceMs: number): readonly ClosedTime[] {
  const times: ClosedTime[] = [];
  for (const event of spec.events ?? []) {
    if (event.kind !== 'pause') continue;
    const lifted = (spec.events ?? []).filter(
      (other) => other.kind === 'unpause' && other.account === event.account && other.atMs > event.atMs,
    );
    const endMs = Math.min(
      spec.durationMs,
      event.atMs + (event.forMs ?? Infinity),
      ...lifted.map(({ atMs }) => atMs),
    );
    times.push({
      accountId: event.account,
      fromMs: startMs + event.atMs + graceMs,
      toMs: startMs + endMs,
      why: 'paused',
    });
  }
  return times;
}

function checkRequest(entry: LedgerEntry, closed: readonly ClosedTime[], say: (words: string) => void): void {
  for (const { accountId, fromMs, toMs, why } of closed) {
    const concerns = accountId === null || accountId === entry.accountId;
    if (concerns && entry.atMs > fromMs && entry.atMs < toMs) {
      say(`${String(entry.details?.['path'])} while ${why}`);
    }
  }
}
