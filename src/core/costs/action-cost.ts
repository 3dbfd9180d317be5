import { z } from 'zod';
import type { DecimalString } from '../quantities/decimal.ts';
import { decimal, named, type OutputOf } from '../schema/parts.ts';

/**
 * Facts about one of our orders that closed something; `costFigures` computes from them. Plain JSON. The audit may have
 * several records with the same `id`, each with everything known by then; the last one counts.
 */
export const actionCostSchema = named('ActionCost', () => ({
  id: z.string(),
  clientOrderId: z.string(),
  role: z.enum(['reduce', 'cover']).describe('`cover`: a standing stop.'),
  direction: z.enum(['long', 'short']).describe('Of the position.'),
  amountBase: decimal().describe('What it closed, base currency.'),
  money: z.string().describe('Currency of all figures.'),
  filledMs: z.number().describe('Time of the read that first showed it, Unix milliseconds.'),
  decidedPrice: decimal()
    .nullable()
    .describe('The mark when the rule fired, or the activation of a standing stop; null: unknown.'),
  limitPrice: decimal().describe('No fill is worse.'),
  fill: z
    .strictObject({ price: decimal(), from: z.enum(['realizedPnl', 'orderHistory']) })
    .nullable()
    .describe(
      'Average price, from the realized profit of a partial close or from the order history; null: unknown.',
    ),
  fee: z
    .union([
      z.strictObject({
        from: z.literal('config'),
        rate: z.number().describe('A fraction of the traded value.'),
      }),
      z.strictObject({
        from: z.literal('orderHistory'),
        paid: decimal().describe('What the exchange charged.'),
      }),
    ])
    .nullable()
    .describe('null: unknown.'),
  liquidationPrice: decimal()
    .nullable()
    .describe('Of the position in the last read before the fill; null: none, or unknown.'),
}));
export type ActionCost = OutputOf<typeof actionCostSchema>;
export type FillPrice = NonNullable<ActionCost['fill']>;

/** Kept by the lane for an hour: notices and the order history still need it. */
export interface RecentCost {
  readonly cost: ActionCost;
  readonly positionId: string;
  readonly key: string;
  readonly ruleId: string;
  /** Whether it closed the whole position. Absent: written by an older version. */
  readonly closed?: boolean;
}

/** In money currency; null: unknown, which is never zero. A positive figure is a loss. */
export function costFigures(cost: ActionCost) {
  const { direction, fill, fee } = cost;
  const sign = direction === 'long' ? 1 : -1;
  const amount = Number(cost.amountBase);
  const decided = cost.decidedPrice === null ? null : Number(cost.decidedPrice);
  const lost = (price: DecimalString | undefined): number | null =>
    decided === null || price === undefined ? null : sign * (decided - Number(price)) * amount;
  const price = fill === null ? decided : Number(fill.price);
  return {
    /** How much worse the average fill was than the price of the decision. */
    slippage: lost(fill?.price),
    /** The same at the limit price: the most it can have been. */
    slippageAtMost: lost(fill?.price ?? cost.limitPrice),
    fee:
      fee === null
        ? null
        : fee.from === 'orderHistory'
          ? Number(fee.paid)
          : price === null
            ? null
            : fee.rate * amount * price,
  };
}

export type ActionFigures = Readonly<ReturnType<typeof costFigures>>;
