import type { DecimalString } from '../quantities/decimal.ts';
import type { Direction } from '../rules/subject.ts';

/**
 * What is known of one order of ours that closed something: facts, from which `costFigures` computes. Plain JSON. The
 * same `id` stands in up to three records of the audit, each with all that is known by then; the last one counts.
 */
export interface ActionCost {
  readonly id: string;
  readonly clientOrderId: string;
  readonly role: 'reduce' | 'cover';
  readonly direction: Direction;
  /** What it closed, base currency. */
  readonly amountBase: DecimalString;
  /** Currency of all figures. */
  readonly money: string;
  /** Of the read that first showed it. */
  readonly filledMs: number;
  /** What the decision was made at: the mark when the rule fired, or a standing stop's activation. Null: unknown. */
  readonly decidedPrice: DecimalString | null;
  /** No fill is worse than the order's limit price. */
  readonly limitPrice: DecimalString;
  readonly fill: FillPrice | null;
  /** A rate, a fraction of what was traded, or what the exchange charged. Null: neither is known. */
  readonly fee:
    | { readonly from: 'config'; readonly rate: number }
    | { readonly from: 'orderHistory'; readonly paid: DecimalString }
    | null;
  /** Of its position, by the last read before the fill; null: none, or unknown. */
  readonly liquidationPrice: DecimalString | null;
  /** What the market did afterwards; absent: the hour is not over. */
  readonly nextHour?: NextHour;
}

/** Average price, by what a partial close realized, or by the exchange's history of orders. */
export interface FillPrice {
  readonly price: DecimalString;
  readonly from: 'realizedPnl' | 'orderHistory';
}

export interface NextHour {
  /** An hour after the fill; null: no read showed it. */
  readonly markPrice: DecimalString | null;
  /** Whether a mark within the hour was past the liquidation price of before; null: nobody can tell. */
  readonly passedLiquidation: boolean | null;
}

/** What a lane remembers of an order that closed something, until what became of the price is known. */
export interface PendingCost {
  readonly cost: ActionCost;
  readonly positionId: string;
  readonly key: string;
  readonly ruleId: string;
  /** Whether it left nothing of its position. Absent: an older version wrote it. */
  readonly closed?: boolean;
  /** A mark past the liquidation price of before was seen. */
  readonly passedLiquidation: boolean;
}

/** In money currency; null: not known, which is never zero. A loss is positive in the first three. */
export interface ActionFigures {
  /** By what the average fill was worse than the price at the decision. */
  readonly slippage: number | null;
  /** The same if it had filled at the limit price: what it was at most. */
  readonly slippageAtMost: number | null;
  readonly fee: number | null;
  /** What the closed part would have lost within the next hour (kept), or gained (negative: given up). */
  readonly kept: number | null;
}

export function costFigures(cost: ActionCost): ActionFigures {
  const { direction, fill, fee } = cost;
  const sign = direction === 'long' ? 1 : -1;
  const amount = Number(cost.amountBase);
  const decided = cost.decidedPrice === null ? null : Number(cost.decidedPrice);
  const lost = (price: DecimalString | null | undefined): number | null =>
    decided === null || price === null || price === undefined
      ? null
      : sign * (decided - Number(price)) * amount;
  const price = fill === null ? decided : Number(fill.price);
  return {
    slippage: lost(fill?.price),
    slippageAtMost: lost(fill?.price ?? cost.limitPrice),
    fee:
      fee === null
        ? null
        : fee.from === 'orderHistory'
          ? Number(fee.paid)
          : price === null
            ? null
            : fee.rate * amount * price,
    kept: lost(cost.nextHour?.markPrice),
  };
}

export const HOUR_MS = 3_600_000;
