import { formatDecimal } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { type Reply, success } from '../http/reply.ts';
import { type EndpointParts, emptyResult } from './parts.ts';

/** Specification 4.8 and 2.6; assets with a zero balance are left out. */
export function mainBalanceEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'mainBalance',
    httpMethod: 'POST',
    path: '/api/v4/main-account/balance',
    handle: ({ accountId, staleMs }): Reply => {
      const balances = Object.entries(parts.reads(accountId, staleMs).mainBalance());
      if (balances.length === 0) return success(emptyResult(parts.model));
      const entries = balances.map(
        ([ticker, amount]) => [ticker, { main_balance: formatDecimal(amount) }] as const,
      );
      return success(Object.fromEntries(entries));
    },
  };
}
