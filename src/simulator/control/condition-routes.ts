import { z } from 'zod';
import { CONDITION, CONDITION_KINDS } from '../model/market-condition.ts';
import type { Outcome } from '../model/types.ts';
import type { SimulatedExchange } from '../simulated-exchange.ts';
import { accepted, invalid, marketOf, missing, parseWith, routes } from './route.ts';

/** A condition as input: decimals as text, and its times. */
export type ConditionInput = z.input<typeof CONDITION>;

/**
 * Sets a condition of a market, now or at its time. Returns a rejection if the exchange refuses it now.
 * @throws SimulatorError for invalid input and for an unknown account or market
 */
export function setCondition(exchange: SimulatedExchange, value: unknown, what = 'body'): Outcome<object> {
  const { fromMs, untilMs, afterMs, forMs, ...condition } = parseWith(CONDITION, value, what);
  if ((fromMs !== undefined && afterMs !== undefined) || (untilMs !== undefined && forMs !== undefined)) {
    throw invalid(`${what}: give fromMs or afterMs, and untilMs or forMs, not both`);
  }
  marketOf(exchange, condition.market);
  const account = 'account' in condition ? condition.account : undefined;
  if (account !== undefined && !exchange.accounts.has(account)) {
    throw missing(`${what}: no account ${JSON.stringify(account)}`);
  }
  exchange.catchUp();
  const nowMs = exchange.model.nowMs();
  const start = fromMs ?? (afterMs === undefined ? undefined : nowMs + afterMs);
  const end = untilMs ?? (forMs === undefined ? undefined : (start ?? nowMs) + forMs);
  return exchange.change((model) => model.setCondition(condition, { fromMs: start, untilMs: end }));
}

export const CONDITION_ROUTES = routes({
  'GET /conditions': {
    doc: 'The kinds of conditions of a market that there are; GET /ledger?kind=market_condition has those that were set.',
    run: () => ({ kinds: CONDITION_KINDS }),
  },
  'POST /conditions': {
    doc: 'Sets a condition of a market: kind, market and its settings, and when: fromMs or afterMs, untilMs or forMs.',
    input: z.unknown(),
    example: { kind: 'depth', market: 'BTC_PERP', factor: '0.02', spread: '0.01', forMs: 60_000 },
    run: ({ exchange, input }) => {
      accepted(setCondition(exchange, input));
      return exchange.model.markets();
    },
  },
});
