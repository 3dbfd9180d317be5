import type { AuditEvent } from '../audit/audit-event.ts';
import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import { toDecimal } from '../quantities/decimal.ts';
import type { ObservedDigest } from './digest.ts';

/** Orders and cancels that would have been sent, by rule and market. The audit has each order once. */
export function observedIn(events: readonly AuditEvent[]): readonly ObservedDigest[] {
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
