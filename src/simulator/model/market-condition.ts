import { z } from 'zod';
import {
  decimalText,
  milliseconds,
  nonNegativeDecimal,
  positiveDecimal,
  unixMilliseconds,
} from '../schemas.ts';
import { POSITION_LEG } from './types.ts';

const OPTIONAL_DECIMAL = positiveDecimal.exactOptional();
const market = z.string();

/** Default: from now on and for good. */
const WHEN = {
  fromMs: unixMilliseconds.exactOptional(),
  untilMs: unixMilliseconds.exactOptional(),
  afterMs: milliseconds.exactOptional(),
  forMs: milliseconds.min(1).exactOptional(),
};

function kind<const Kind extends string, Fields extends z.ZodRawShape>(name: Kind, fields: Fields) {
  return z.strictObject({ kind: z.literal(name), market, ...fields, ...WHEN });
}

/** What can happen to a market in a crash, apart from its price, and when. `CONDITION_KINDS` explains each kind. */
export const CONDITION = z.discriminatedUnion('kind', [
  kind('depth', { factor: nonNegativeDecimal.exactOptional(), spread: nonNegativeDecimal.exactOptional() }),
  kind('basis', { ratio: decimalText, overMs: milliseconds.exactOptional() }),
  kind('deleverage', {
    account: z.string(),
    positionSide: POSITION_LEG.exactOptional(),
    amount: OPTIONAL_DECIMAL,
  }),
  kind('terms', {
    amountStep: OPTIONAL_DECIMAL,
    priceStep: OPTIONAL_DECIMAL,
    minAmount: OPTIONAL_DECIMAL,
    maintenanceMargin: OPTIONAL_DECIMAL,
  }),
  kind('halt', {}),
  kind('reopen', {}),
  kind('delist', {}),
  kind('dropOrders', { account: z.string().exactOptional() }),
  kind('rename', { to: z.string() }),
]);

type WithoutWhen<T> = T extends unknown ? Readonly<Omit<T, keyof typeof WHEN>> : never;

export type MarketCondition = WithoutWhen<z.infer<typeof CONDITION>>;

/** Unix milliseconds of exchange time. Default: from now on and for good. */
export interface ConditionWindow {
  readonly fromMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

export const CONDITION_KINDS: Readonly<Record<MarketCondition['kind'], string>> = {
  depth:
    'the amounts in the book times factor (0: nobody there), the spread at least the fraction spread of the price',
  basis:
    'the mark price is apart from the last one by the fraction ratio of it; overMs: reached in a straight line',
  deleverage:
    'the exchange closes a position of account, or amount of it, at the mark price and without a fee; positionSide in hedge mode',
  terms: 'another amountStep, priceStep, minAmount or maintenanceMargin',
  halt: 'maintenance: no order is taken (code 31), none triggers or fills; liquidation goes on',
  reopen: 'the end of a halt',
  delist:
    'orders vanish, positions are settled at mark without a fee, the market is no longer known (code 31)',
  dropOrders: 'open orders vanish without a word, of everybody or of account',
  rename: 'the market is called to from now on; _PERP markets only',
};
