import { type Decimal, decimal, formatDecimal, maxDecimal, ZERO } from '../../src/core/quantities/decimal.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { isOurs } from '../support/own-orders.ts';
import type { AuditTrail } from './audit-trail.ts';

const OWN_REDUCTIONS: ReadonlySet<string> = new Set(['auto_deleverage', 'settlement', 'liquidation']);

interface HeldPosition {
  readonly accountId: string;
  readonly market: string;
  readonly direction: 'long' | 'short';
  size: Decimal;
}

interface OpenOrder {
  readonly positionId: number;
  readonly clientOrderId: string;
  left: Decimal;
}

interface Closed {
  readonly atMs: number;
  readonly base: Decimal;
}

interface Books {
  readonly positions: Map<number, HeldPosition>;
  /** Reductions of the daemon that may still fill, by order id. */
  readonly orders: Map<number, OpenOrder>;
  /** Amounts that others closed so far, by position. */
  readonly closedByOthers: Map<number, readonly Closed[]>;
  /** When an order of the daemon was sent, at the earliest, by order id. */
  readonly sentMs: Map<number, number>;
  /** Positions that somebody else reduced: earlier orders may then add up. */
  readonly disturbed: Set<number>;
  /** Orders audited as overshoot and not cancelled, with their positions: they may add up with others. */
  readonly overshoots: Map<number, number>;
  /** Orders with at least a partial fill. */
  readonly filled: Set<number>;
  /** Net exposures so far, by account and market. */
  readonly nets: Map<string, { readonly atMs: number; readonly net: Decimal }[]>;
  /** The larger net exposure of its market when an order was placed and in the list that it went by, by order id. */
  readonly netAtPlacing: Map<number, Decimal>;
  /** Amounts closed by covers so far, by position; and that amount when a reduction was sent, by order id. */
  readonly closedByCovers: Map<number, readonly Closed[]>;
  readonly coversAtPlacing: Map<number, Decimal>;
  readonly say: (entry: LedgerEntry, words: string) => void;
  readonly trail: AuditTrail;
  readonly hosts: Hosts;
}

/** What hosts could know: of each other, and of the exchange. */
export interface Hosts {
  readonly mayBeApart: boolean;
  /** Whether, at this time, one host did not reach the store, or has not handed back since, while another did. */
  readonly isOneSided: (atMs: number) => boolean;
  /** When the account's newest list that an order sent at this time may go by was read. */
  readonly listedMs: (accountId: string, sentMs: number) => number;
}

export const APART: Hosts = { mayBeApart: true, isOneSided: () => false, listedMs: (_, sentMs) => sentMs };

/**
 * Violations of invariants 1 and 4 by the ledger, in words: an order of the daemon that is not reduce-only; its fill
 * opening something, or leaving a larger net exposure of its market than before it, than when it was placed and than in
 * the list that it went by; a position below the lowest target committed so far; and orders that could take it there.
 * The last two exclude covers and audited overshoot. What a cover closes after a reduction was sent may add to it
 * (design section 4: once it triggers, its target is 0). Where hosts may have acted apart, everything after an overshoot
 * is excluded too. In a one-sided partition the orders of each side must fit by themselves (design: invariant 4 exempts
 * their sum).
 */
export function ledgerViolations(
  entries: Iterable<LedgerEntry>,
  trail: AuditTrail,
  startMs: number,
  hosts: Hosts = APART,
): readonly string[] {
  const found: string[] = [];
  const books: Books = {
    positions: new Map(),
    orders: new Map(),
    closedByOthers: new Map(),
    sentMs: new Map(),
    disturbed: new Set(),
    overshoots: new Map(),
    filled: new Set(),
    nets: new Map(),
    netAtPlacing: new Map(),
    closedByCovers: new Map(),
    coversAtPlacing: new Map(),
    say: (entry, words) => {
      found.push(`${entry.atMs - startMs} ms, ${entry.accountId ?? '-'}: ${words}`);
    },
    trail,
    hosts,
  };
  for (const entry of entries) follow(books, entry);
  return found;
}

function follow(books: Books, entry: LedgerEntry): void {
  if (entry.kind === 'order_placed') followPlaced(books, entry);
  else if (entry.kind === 'fill') followFill(books, entry);
  else if (entry.kind === 'order_cancelled') followCancelled(books, entry);
  else if (entry.kind === 'position_seeded' || OWN_REDUCTIONS.has(entry.kind)) {
    const { positionId } = adopt(books, entry) ?? {};
    if (positionId !== undefined && entry.kind !== 'position_seeded') disturb(books, positionId, entry);
  }
}

function disturb({ disturbed, closedByOthers }: Books, positionId: number, entry: LedgerEntry): void {
  disturbed.add(positionId);
  if (entry.details?.['reduced'] !== true) return;
  const closed = { atMs: entry.atMs, base: decimal(entry.amount ?? '0') };
  closedByOthers.set(positionId, [...(closedByOthers.get(positionId) ?? []), closed]);
}

function followCancelled({ orders, overshoots, filled, hosts }: Books, { orderId = -1 }: LedgerEntry): void {
  orders.delete(orderId);
  // A partly filled order: its rest was cancelled, its fill counts.
  if (!hosts.mayBeApart && !filled.has(orderId)) overshoots.delete(orderId);
}

function isExcused({ disturbed, overshoots }: Books, positionId: number): boolean {
  return disturbed.has(positionId) || [...overshoots.values()].includes(positionId);
}

function adopt(books: Books, entry: LedgerEntry): { readonly positionId: number } | undefined {
  const { positionId, accountId, market, details } = entry;
  const { positions } = books;
  const direction = details?.['direction'];
  if (positionId === undefined || accountId === null || market === undefined) return undefined;
  if (direction !== 'long' && direction !== 'short') return undefined;
  const size = decimal(String(details?.['sizeAfter'] ?? '0'));
  // A trade that turns a position around names only the new one.
  if (details?.['positionSide'] === 'BOTH')
    for (const [id, held] of positions)
      if (held.accountId === accountId && held.market === market) positions.set(id, { ...held, size: ZERO });
  positions.set(positionId, { accountId, market, direction, size });
  const key = `${accountId} ${market}`;
  const nets = books.nets.get(key) ?? [];
  nets.push({ atMs: entry.atMs, net: netOf(books, accountId, market) });
  books.nets.set(key, nets);
  return { positionId };
}

function reducedBy({ positions }: Books, entry: LedgerEntry): number | undefined {
  const direction = entry.side === 'sell' ? 'long' : 'short';
  for (const [id, held] of positions) {
    if (
      held.accountId === entry.accountId &&
      held.market === entry.market &&
      held.direction === direction &&
      held.size.gt(ZERO)
    )
      return id;
  }
  return undefined;
}

function followPlaced(books: Books, entry: LedgerEntry): void {
  const { orderId, details, amount = '0', clientOrderId = '' } = entry;
  if (!isOurs(entry) || orderId === undefined) return;
  if (details?.['reduceOnly'] !== true) books.say(entry, `order ${orderId} is not reduce-only`);
  const { trail } = books;
  books.sentMs.set(orderId, trail.sentFromMs(clientOrderId, entry.atMs));
  if (entry.accountId !== null && entry.market !== undefined) {
    const listed = netAt(books, entry.accountId, entry.market, listedMs(books, orderId, entry.accountId));
    books.netAtPlacing.set(orderId, maxDecimal(listed, netOf(books, entry.accountId, entry.market)));
  }
  const positionId = reducedBy(books, entry);
  if (positionId === undefined) return;
  if (trail.covers.has(clientOrderId)) return;
  if (trail.overshoots.has(clientOrderId)) {
    books.overshoots.set(orderId, positionId);
    return;
  }
  books.orders.set(orderId, { positionId, clientOrderId, left: decimal(amount) });
  const whenSent = closedByCovers(books, positionId, books.sentMs.get(orderId));
  books.coversAtPlacing.set(orderId, whenSent);
  const target = trail.lowestTarget(positionId, entry.atMs);
  const closedSince = closedByCovers(books, positionId).minus(whenSent);
  const size = (books.positions.get(positionId)?.size ?? ZERO).plus(closedSince);
  // Several reduce-only orders together cannot take a position past 0.
  if (target === undefined || target.eq(ZERO) || isExcused(books, positionId)) return;
  const open = openFor(books, positionId);
  if (size.minus(open).gte(target)) return;
  if (books.hosts.isOneSided(entry.atMs)) {
    const isAlone = (id: string): boolean => trail.alone.has(id);
    const sides = [openFor(books, positionId, isAlone), openFor(books, positionId, (id) => !isAlone(id))];
    if (sides.every((side) => size.minus(side).gte(target))) {
      books.overshoots.set(orderId, positionId);
      return;
    }
  }
  books.say(
    entry,
    `position ${positionId}: ${formatDecimal(open)} is to be closed of ${formatDecimal(size)}, the target is ${formatDecimal(target)}`,
  );
}

function closedByCovers(books: Books, positionId: number, untilMs = Number.POSITIVE_INFINITY): Decimal {
  const fills = books.closedByCovers.get(positionId) ?? [];
  return fills.reduce((sum, { atMs, base }) => (atMs <= untilMs ? sum.plus(base) : sum), ZERO);
}

function openFor(
  { orders }: Books,
  positionId: number,
  counts: (clientOrderId: string) => boolean = () => true,
): Decimal {
  let open = ZERO;
  for (const order of orders.values()) {
    if (order.positionId === positionId && counts(order.clientOrderId)) open = open.plus(order.left);
  }
  return open;
}

function followFill(books: Books, entry: LedgerEntry): void {
  const { orderId, accountId, market, details, amount = '0', clientOrderId = '' } = entry;
  if (accountId === null || market === undefined) return;
  const views = viewsOf(books, entry, accountId);
  const netIn = (view: View): Decimal => netOf(books, accountId, market, view);
  // What the owner added, or others closed of the other side, since the order was placed, the fill did not raise.
  const net = netIn(AS_IT_IS);
  const before = maxDecimal(net, books.netAtPlacing.get(orderId ?? -1) ?? net);
  const most = views.map((view) => maxDecimal(netIn(view), before));
  const adopted = adopt(books, entry);
  if (adopted === undefined) return;
  const { positionId } = adopted;
  if (!isOurs(entry)) {
    disturb(books, positionId, entry);
    return;
  }
  books.filled.add(orderId ?? -1);
  const order = books.orders.get(orderId ?? -1);
  if (order !== undefined) {
    order.left = order.left.minus(decimal(amount));
    if (order.left.lte(ZERO)) books.orders.delete(orderId ?? -1);
  }
  if (details?.['reduced'] !== true) books.say(entry, `a fill of order ${orderId} opened something`);
  if (views.every((view, index) => netIn(view).gt(most[index] ?? before))) {
    books.say(
      entry,
      `a fill raised the net exposure of ${market} from ${formatDecimal(before)} to ${formatDecimal(netIn(AS_IT_IS))}`,
    );
  }
  const { trail } = books;
  if (trail.covers.has(clientOrderId)) {
    const fill = { atMs: entry.atMs, base: decimal(amount) };
    books.closedByCovers.set(positionId, [...(books.closedByCovers.get(positionId) ?? []), fill]);
    return;
  }
  const closed = closedByCovers(books, positionId);
  const target = trail.lowestTarget(positionId, entry.atMs);
  const size = books.positions.get(positionId)?.size ?? ZERO;
  const byCovers = closed.minus(books.coversAtPlacing.get(orderId ?? -1) ?? closed);
  if (target !== undefined && size.plus(byCovers).lt(target) && !isExcused(books, positionId)) {
    books.say(
      entry,
      `position ${positionId} was reduced to ${formatDecimal(size)}, the target is ${formatDecimal(target)}`,
    );
  }
}

/** Added to a position, as if it had not been closed. */
type View = (positionId: number) => Decimal;

const AS_IT_IS: View = () => ZERO;

/** A market as it is, and without what others closed behind an order's back, of its side or of both. */
function viewsOf(books: Books, { orderId, positionId }: LedgerEntry, accountId: string): readonly View[] {
  const fromMs = listedMs(books, orderId, accountId);
  const behind: View = (id) => closedSince(books, id, fromMs);
  return [AS_IT_IS, (id) => (id === positionId ? behind(id) : ZERO), behind];
}

function listedMs({ hosts, sentMs }: Books, orderId: number | undefined, accountId: string): number {
  return hosts.listedMs(accountId, sentMs.get(orderId ?? -1) ?? Infinity);
}

function netAt({ nets }: Books, accountId: string, market: string, atMs: number): Decimal {
  return nets.get(`${accountId} ${market}`)?.findLast((one) => one.atMs <= atMs)?.net ?? ZERO;
}

/** What others closed of a position after the list that an order went by. */
function closedSince({ closedByOthers }: Books, positionId: number, fromMs: number): Decimal {
  const closings = (closedByOthers.get(positionId) ?? []).filter(({ atMs }) => atMs > fromMs);
  return closings.reduce((sum, { base }) => sum.plus(base), ZERO);
}

/** Absolute net size of both sides. */
function netOf({ positions }: Books, accountId: string, market: string, behind = AS_IT_IS): Decimal {
  let net = ZERO;
  for (const [id, held] of positions) {
    if (held.accountId !== accountId || held.market !== market) continue;
    const size = held.size.plus(behind(id));
    net = held.direction === 'long' ? net.plus(size) : net.minus(size);
  }
  return net.abs();
}
