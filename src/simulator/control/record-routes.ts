import { z } from 'zod';
import type { RequestFilter } from '../http/request-log.ts';
import type { LedgerFilter, LedgerKind } from '../model/ledger-entry.ts';
import type { SimulatedExchange } from '../simulated-exchange.ts';
import { type ControlRoute, parseWith, queryInteger } from './route.ts';

const LEDGER_QUERY = z.strictObject({
  account: z.string().optional(),
  /** Several kinds, separated by commas. */
  kind: z.string().optional(),
  after: queryInteger.optional(),
  limit: queryInteger.optional(),
});

const REQUEST_QUERY = z.strictObject({
  account: z.string().optional(),
  endpoint: z.string().optional(),
  outcome: z.enum(['served', 'refused', 'unseen', 'pending']).optional(),
  status: queryInteger.optional(),
  nonce: z.string().optional(),
  clientOrderId: z.string().optional(),
  after: queryInteger.optional(),
  limit: queryInteger.optional(),
});

const LIMITS = z.array(
  z.strictObject({
    path: z.string().min(1),
    requests: z.number().int().min(0).max(10_000_000),
    periodMs: z.number().int().min(1).max(3_600_000),
  }),
);

/** What happened, and the limits. */
export function recordRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/ledger',
      doc: 'What happened, in order: orders, fills, cancels, liquidations, transfers, commands. ?account= &kind=a,b &after=SEQ &limit=N',
      run: ({ query }) => {
        exchange.catchUp();
        return { ...exchange.model.ledgerTotals(), entries: exchange.model.ledger(ledgerFilter(query)) };
      },
    },
    {
      method: 'GET',
      path: '/requests',
      doc: 'Every request with nonce, endpoint, outcome and time. ?account= &endpoint= &outcome= &status= &nonce= &clientOrderId= &after=SEQ &limit=N',
      run: ({ query }) => ({
        total: exchange.log.total,
        dropped: exchange.log.dropped,
        requests: exchange.log.list(parseWith(REQUEST_QUERY, query, 'query') as RequestFilter),
      }),
    },
    { method: 'GET', path: '/limits', doc: 'The rate limits in force.', run: () => exchange.limiter.rules },
    {
      method: 'PUT',
      path: '/limits',
      doc: 'Replaces the rate limits; an empty list lifts them all. "*" is for paths that no other rule names.',
      example: [{ path: '/api/v4/main-account/*', requests: 1000, periodMs: 10_000 }],
      run: ({ body }) => {
        exchange.limiter.replace(parseWith(LIMITS, body, 'body'));
        return exchange.limiter.rules;
      },
    },
  ];
}

function ledgerFilter(query: unknown): LedgerFilter {
  const { account, kind, after, limit } = parseWith(LEDGER_QUERY, query, 'query');
  return {
    ...(account === undefined ? {} : { accountId: account }),
    ...(kind === undefined ? {} : { kinds: kind.split(',') as LedgerKind[] }),
    ...(after === undefined ? {} : { afterSeq: after }),
    ...(limit === undefined ? {} : { limit }),
  };
}
