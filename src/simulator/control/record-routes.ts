import { z } from 'zod';
import type { LedgerFilter, LedgerKind } from '../model/ledger-entry.ts';
import { type ControlRoute, route } from './route.ts';

/** Numbers of a query string are text. */
const OPTIONAL_INTEGER = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number)
  .exactOptional();
const OPTIONAL_TEXT = z.string().exactOptional();

const LEDGER_QUERY = z.strictObject({
  account: OPTIONAL_TEXT,
  /** Several kinds, separated by commas. */
  kind: OPTIONAL_TEXT,
  after: OPTIONAL_INTEGER,
  limit: OPTIONAL_INTEGER,
});

const REQUEST_QUERY = z.strictObject({
  account: OPTIONAL_TEXT,
  endpoint: OPTIONAL_TEXT,
  outcome: z.enum(['served', 'refused', 'unseen', 'pending']).exactOptional(),
  status: OPTIONAL_INTEGER,
  nonce: OPTIONAL_TEXT,
  clientOrderId: OPTIONAL_TEXT,
  after: OPTIONAL_INTEGER,
  limit: OPTIONAL_INTEGER,
});

const LIMITS = z.array(
  z.strictObject({
    path: z.string().min(1),
    requests: z.number().int().min(0).max(10_000_000),
    periodMs: z.number().int().min(1).max(3_600_000),
  }),
);

/** What happened, and the limits. */
export const RECORD_ROUTES: readonly ControlRoute[] = [
  route({
    endpoint: 'GET /ledger',
    doc: 'What happened, in order: orders, fills, cancels, liquidations, transfers, commands. ?account= &kind=a,b &after=SEQ &limit=N',
    input: LEDGER_QUERY,
    run: ({ exchange, input }) => {
      exchange.catchUp();
      return { ...exchange.model.ledgerTotals(), entries: exchange.model.ledger(ledgerFilter(input)) };
    },
  }),
  route({
    endpoint: 'GET /requests',
    doc: 'Every request with nonce, endpoint, outcome and time. ?account= &endpoint= &outcome= &status= &nonce= &clientOrderId= &after=SEQ &limit=N',
    input: REQUEST_QUERY,
    run: ({ exchange: { log }, input }) => ({
      total: log.total,
      dropped: log.dropped,
      requests: log.list(input),
    }),
  }),
  route({
    endpoint: 'GET /limits',
    doc: 'The rate limits in force.',
    run: ({ exchange }) => exchange.limiter.rules,
  }),
  route({
    endpoint: 'PUT /limits',
    doc: 'Replaces the rate limits; an empty list lifts them all. "*" is for paths that no other rule names.',
    input: LIMITS,
    example: [{ path: '/api/v4/main-account/*', requests: 1000, periodMs: 10_000 }],
    run: ({ exchange, input }) => {
      exchange.limiter.replace(input);
      return exchange.limiter.rules;
    },
  }),
];

function ledgerFilter({ account, kind, after, limit }: z.infer<typeof LEDGER_QUERY>): LedgerFilter {
  return {
    ...(account === undefined ? {} : { accountId: account }),
    ...(kind === undefined ? {} : { kinds: kind.split(',') as LedgerKind[] }),
    ...(after === undefined ? {} : { afterSeq: after }),
    ...(limit === undefined ? {} : { limit }),
  };
}
