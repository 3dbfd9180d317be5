import {
  type Decimal,
  decimal,
  divide,
  formatDecimal,
  maxDecimal,
  ZERO,
} from '../../src/core/quantities/decimal.ts';
import type { SimulatedExchange } from '../../src/simulator/simulated-exchange.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import type { AuditTrail } from './audit-trail.ts';
import { isUnclosable } from './breach.ts';
import type { FaultWorld } from './parts.ts';

/** Near enough to its target: a reduction need not close the rest. */
const TOLERANCE = decimal('0.1');

/** Invariant 5: every intent has ended, at its target or in a failure, or an order for the rest stands. */
export function endViolations(
  exchange: SimulatedExchange,
  { observed, spec }: FaultWorld,
  trail: AuditTrail,
): readonly string[] {
  const sinceMs = exchange.model.nowMs() - ANSWERED_WITHIN_MS;
  return trail.open.flatMap(({ accountId, positionId, target, openedMs }) => {
    if (openedMs >= sinceMs || observed.includes(accountId) || losesOrdersUnseen(spec, accountId)) return [];
    if (mayNotReplace(spec, accountId, trail)) return [];
    const positions = exchange.model.openPositions(accountId);
    const position = positions.find((one) => one.positionId === positionId);
    if (position === undefined || target === undefined || isUnclosable(exchange, position)) return [];
    if (isMovedSince(exchange, position, sinceMs) || isToldToWait(position, openedMs, trail)) return [];
    const { amount, market, direction } = position;
    // Of the two sides of a market the larger one is reduced to the other at most.
    const other = positions.find((one) => one.market === market && one.direction !== direction);
    const closing = direction === 'long' ? 'sell' : 'buy';
    const ordered = exchange.model
      .openOrders(accountId, market)
      .filter((order) => order.side === closing && isOurs(order))
      .reduce((sum, order) => sum.plus(order.left), cancelledSince(exchange, position, sinceMs));
    const least = leastOf(exchange, position);
    const otherBase = other?.amount ?? lastOfOther(exchange, position);
    const allowed = maxDecimal(target, otherBase).plus(maxDecimal(amount.times(TOLERANCE), least));
    return amount.minus(ordered).lte(allowed) || isAsLargeAsOneMayBe(exchange, ordered, position)
      ? []
      : [
          `5: position ${positionId} of ${accountId} has ${formatDecimal(amount)} at the end, its target is ${formatDecimal(target)}: nothing has ended it, and no order stands`,
        ];
  });
}

/** A cancel, a read and an order answer what happens to a position. */
const ANSWERED_WITHIN_MS = 3_000;

/** The exchange or the owner has changed it a moment ago: its orders go, and others follow. */
function isMovedSince({ model }: SimulatedExchange, { accountId, positionId }: Position, sinceMs: number) {
  return model
    .ledger({ accountId })
    .some(
      (entry) =>
        entry.positionId === positionId &&
        entry.atMs >= sinceMs &&
        entry.details?.['sizeAfter'] !== undefined &&
        !isOurs(entry),
    );
}

/**
 * Amount of our orders that we took down a moment ago: a read and others follow, after the end of the world. Only what
 * had stood until then counts: orders that come and go all the time do not pass for one that stands.
 */
function cancelledSince({ model }: SimulatedExchange, position: Position, sinceMs: number): Decimal {
  const own = model
    .ledger({ accountId: position.accountId, kinds: ['order_placed', 'order_cancelled'] })
    .filter((entry) => entry.market === position.market && isOurs(entry));
  const stood = new Set(
    own.filter(({ kind, atMs }) => kind === 'order_placed' && atMs < sinceMs).map(({ orderId }) => orderId),
  );
  return own
    .filter(
      ({ kind, atMs, reason, side, orderId }) =>
        kind === 'order_cancelled' &&
        atMs >= sinceMs &&
        reason === BY_CUSTOMER &&
        side === (position.direction === 'long' ? 'sell' : 'buy') &&
        stood.has(orderId),
    )
    .reduce((sum, { amount = '0' }) => sum.plus(decimal(amount)), ZERO);
}

/** Of a cancel that was asked for; the exchange gives other reasons for its own. */
const BY_CUSTOMER = 'cancelled by the customer';

/**
 * Behind an unanswered cancel, what may still stand of a side takes the whole room of its hedge: nothing goes beside it,
 * and no other cancel before an order was accepted. People are told.
 */
function isToldToWait(
  { accountId, positionId, positionSide, market }: Position,
  openedMs: number,
  { events }: AuditTrail,
): boolean {
  if (positionSide === 'BOTH') return false;
  const since = events.filter((event) => event.accountId === accountId && event.atMs >= openedMs);
  const unanswered = since.find(
    (event) =>
      event.market === market &&
      event.kind === 'doubt' &&
      event.words.startsWith('a cancel was not answered'),
  );
  return since.some(
    (event) =>
      unanswered !== undefined &&
      event.atMs >= unanswered.atMs &&
      event.positionId === String(positionId) &&
      event.kind === 'standingOrder' &&
      event.reason === 'exceedsNetExposure',
  );
}

/**
 * No endpoint shows open stops: a stop taken down by the owner or the exchange is noticed when the price passes its
 * activation.
 */
function losesOrdersUnseen({ events = [], faults = [] }: WorldSpec, accountId: string): boolean {
  // The reply that says so may be lost, or damaged by another fault.
  if (faults.some(({ fault }) => fault.effect.kind === 'orderCancelled')) return true;
  return events.some(
    (event) =>
      (event.kind === 'cancelAll' && event.account === accountId) ||
      (event.kind === 'condition' && event.condition.kind === 'dropOrders'),
  );
}

/**
 * Where the config forbids cancels, an order that may still stand is not replaced before the market passes its
 * activation. A stale order then stays, and the audit says so (design section 4).
 */
function mayNotReplace({ daemons }: WorldSpec, accountId: string, { events }: AuditTrail): boolean {
  return (
    daemons.some(({ config }) => config.includes('cancel: never')) &&
    events.some((event) => event.accountId === accountId && event.reason === 'cancelForbidden')
  );
}

/**
 * What a list last showed of the other side of the market, at most, if it was closed. A side that lists do not show any
 * more counts as held for three minutes, which is longer than a world.
 */
function lastOfOther({ model }: SimulatedExchange, { accountId, market, direction }: Position): Decimal {
  const moves = model
    .ledger({ accountId })
    .filter(
      ({ details, ...entry }) =>
        entry.market === market &&
        details?.['reduced'] === true &&
        details['direction'] !== direction &&
        details['positionSide'] !== 'BOTH',
    );
  const closed = moves.findLast(({ details }) => details?.['sizeAfter'] === '0');
  return moves
    .filter(
      ({ atMs }) => closed !== undefined && atMs <= closed.atMs && atMs >= closed.atMs - LISTED_WITHIN_MS,
    )
    .map(({ amount = '0', details }) => decimal(amount).plus(decimal(String(details?.['sizeAfter']))))
    .reduce(maxDecimal, ZERO);
}

/** A list is asked for and answered within this time. */
const LISTED_WITHIN_MS = 5_000;

/** The exchange takes no smaller order: what is missing beside one that stands may be less. */
function leastOf({ model }: SimulatedExchange, { market, markPrice }: Position): Decimal {
  const { minTotal } = model.readings();
  const least = model.market(market)?.spec.minAmount ?? ZERO;
  const price = markPrice.times(LIMIT_PART);
  return minTotal === 'none' ? least : maxDecimal(least, divide(decimal(minTotal), price, 12, 'up'));
}

/** What one order may not take follows once it has filled. */
function isAsLargeAsOneMayBe({ model }: SimulatedExchange, ordered: Decimal, { markPrice }: Position) {
  const { maxTotal } = model.readings();
  return maxTotal !== 'none' && ordered.times(markPrice).gte(decimal(maxTotal).times(LARGE));
}

/** A sell's limit price is this part of the mark, at least. */
const LIMIT_PART = decimal('0.95');
/** An order is sized by its limit price, which may lie beyond the mark, and once for all later ones. */
const LARGE = decimal('0.8');

type Position = ReturnType<SimulatedExchange['model']['openPositions']>[number];
