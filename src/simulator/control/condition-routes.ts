import { z } from 'zod';
import { ZERO } from '../../core/quantities/decimal.ts';
import { CONDITION_KINDS, type ConditionWindow, type MarketCondition } from '../model/market-condition.ts';
import type { Outcome } from '../model/types.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import {
  accepted,
  type ControlRoute,
  decimalText,
  marketOf,
  milliseconds,
  parseWith,
  positiveDecimal,
  unixMilliseconds,
} from './route.ts';

const WHEN = {
  fromMs: unixMilliseconds.optional(),
  untilMs: unixMilliseconds.optional(),
  afterMs: milliseconds.optional(),
  forMs: milliseconds.min(1).optional(),
};

const market = z.string();
const notNegative = decimalText.refine((value) => value.gte(ZERO), 'must not be less than 0');

const CONDITION = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('depth'),
    market,
    factor: notNegative.optional(),
    spread: notNegative.optional(),
    ...WHEN,
  }),
  z.strictObject({
    kind: z.literal('basis'),
    market,
    ratio: decimalText,
    overMs: milliseconds.optional(),
    ...WHEN,
  }),
  z.strictObject({
    kind: z.literal('deleverage'),
    account: z.string(),
    market,
    positionSide: z.enum(['LONG', 'SHORT', 'BOTH']).optional(),
    amount: positiveDecimal.optional(),
    ...WHEN,
  }),
  z.strictObject({
    kind: z.literal('terms'),
    market,
    amountStep: positiveDecimal.optional(),
    priceStep: positiveDecimal.optional(),
    minAmount: positiveDecimal.optional(),
    maintenanceMargin: positiveDecimal.optional(),
    ...WHEN,
  }),
  z.strictObject({ kind: z.enum(['halt', 'reopen']), market, ...WHEN }),
  z.strictObject({ kind: z.literal('delist'), market, ...WHEN }),
  z.strictObject({ kind: z.literal('dropOrders'), market, account: z.string().optional(), ...WHEN }),
  z.strictObject({ kind: z.literal('rename'), market, to: z.string(), ...WHEN }),
]);

/** A condition as it comes from outside: decimals as text, and when it holds. */
export type ConditionInput = z.input<typeof CONDITION>;

/**
 * Makes a condition of the market hold, now or at its time; answers whether the exchange refuses it now.
 * @throws SimulatorError for one that makes no sense, or names an account or market that does not exist
 */
export function setCondition(exchange: SimulatedExchange, value: unknown, what = 'body'): Outcome<object> {
  const { fromMs, untilMs, afterMs, forMs, ...given } = parseWith(CONDITION, value, what);
  if ((fromMs !== undefined && afterMs !== undefined) || (untilMs !== undefined && forMs !== undefined)) {
    throw new SimulatorError(
      'invalid-input',
      `${what}: give fromMs or afterMs, and untilMs or forMs, not both`,
    );
  }
  // The optional members of the parsed object may be present and undefined, which means the same here.
  const condition = withoutUndefined(given) as MarketCondition;
  marketOf(exchange, condition.market);
  const account = 'account' in condition ? condition.account : undefined;
  if (account !== undefined && !exchange.accounts.has(account)) {
    throw new SimulatorError('not-found', `${what}: no account ${JSON.stringify(account)}`);
  }
  exchange.catchUp();
  const nowMs = exchange.model.nowMs();
  const start = fromMs ?? (afterMs === undefined ? undefined : nowMs + afterMs);
  const end = untilMs ?? (forMs === undefined ? undefined : (start ?? nowMs) + forMs);
  const window = withoutUndefined({ fromMs: start, untilMs: end }) as ConditionWindow;
  return exchange.change((model) => model.setCondition(condition, window));
}

function withoutUndefined(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

/** What befalls a market besides its price. */
export function conditionRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/conditions',
      doc: 'The kinds of conditions of a market that there are; GET /ledger?kind=market_condition has those that were set.',
      run: () => ({ kinds: CONDITION_KINDS }),
    },
    {
      method: 'POST',
      path: '/conditions',
      doc: 'Sets a condition of a market: kind, market and its settings, and when: fromMs or afterMs, untilMs or forMs.',
      example: { kind: 'depth', market: 'BTC_PERP', factor: '0.02', spread: '0.01', forMs: 60_000 },
      run: ({ body }) => {
        accepted(setCondition(exchange, body));
        return exchange.model.markets();
      },
    },
  ];
}
