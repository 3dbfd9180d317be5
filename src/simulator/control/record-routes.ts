import { z } from 'zod';
import { ENFORCED_LIMIT } from '../http/rate-limit.ts';
import { REQUEST_FILTER } from '../http/request-log.ts';
import type { LedgerFilter, LedgerKind } from '../model/ledger-entry.ts';
import { optional, wholeNumberText } from '../schemas.ts';
import { routes } from './route.ts';

const LEDGER_QUERY = z.strictObject(
  optional({
    account: z.string(),
    /** Several kinds, separated by commas. */
    kind: z.string(),
    after: wholeNumberText,
    limit: wholeNumberText,
  }),
);

export const RECORD_ROUTES = routes({
  'GET /ledger': {
    doc: 'What happened, in order: orders, fills, cancels, liquidations, transfers, commands. ?account= &kind=a,b &after=SEQ &limit=N',
    input: LEDGER_QUERY,
    run: ({ exchange, input }) => {
      exchange.catchUp();
      return { ...exchange.model.ledgerTotals(), entries: exchange.model.ledger(ledgerFilter(input)) };
    },
  },
  'GET /requests': {
    doc: 'Every request with nonce, endpoint, outcome and time. ?account= &endpoint= &outcome= &status= &nonce= &clientOrderId= &after=SEQ &limit=N',
    input: REQUEST_FILTER,
    run: ({ exchange: { log }, input }) => ({
      total: log.total,
      dropped: log.dropped,
      requests: log.list(input),
    }),
  },
  'GET /limits': {
    doc: 'The rate limits in force.',
    run: ({ exchange }) => exchange.limiter.rules,
  },
  'PUT /limits': {
    doc: 'Replaces the rate limits; an empty list lifts them all. "*" is for paths that no other rule names.',
    input: z.array(ENFORCED_LIMIT),
    example: [{ path: '/api/v4/main-account/*', requests: 1000, periodMs: 10_000 }],
    run: ({ exchange, input }) => exchange.limiter.replace(input),
    answer: ({ exchange }) => exchange.limiter.rules,
  },
});

function ledgerFilter({ account, kind, after, limit }: z.infer<typeof LEDGER_QUERY>): LedgerFilter {
  const kinds = kind?.split(',') as LedgerKind[] | undefined;
  return { accountId: account, kinds, afterSeq: after, limit };
}
