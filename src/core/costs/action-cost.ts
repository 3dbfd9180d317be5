import type { DecimalString } from '../quantities/decimal.ts';
import type { Direction } from '../rules/subject.ts';

/**
 * Facts about one of our orders that closed something; `costFigures` computes from them. Plain JSON. The audit has up
 * to three records with the same `id`, each with everything known by then; the last one counts.
 */
export interface ActionCost {
  readonly id: string;
  readonly clientOrderId: string;
  readonly role: 'reduce' | 'cover';
  readonly direction: Direction;
  /** Amount it closed, base currency. */
  readonly amountBase: DecimalString;
  /** Currency of all figures. */
  readonly money: string;
  /** Time of the read that first showed it. */
  readonly filledMs: number;
  /** Price of the decision: the mark when the rule fired, or the activation of a standing stop. Null: unknown. */
  readonly decidedPrice: DecimalString | null;
  /** No fill is worse than the order's limit price. */
  readonly limitPrice: DecimalString;
  readonly fill: FillPrice | null;
  /** A rate (a fraction of the traded value) or the amount the exchange charged. Null: neither is known. */
  readonly fee:
    | { readonly from: 'config'; readonly rate: number }
    | { readonly from: 'orderHistory'; readonly paid: DecimalString }
    | null;
  /** Liquidation price of the position in the last read before the fill; null: none, or unknown. */
  readonly liquidationPrice: DecimalString | null;
  /** What the market did in the following hour; absent: the hour is not over. */
  readonly nextHour?: NextHour;
}

/** Average price, from the realized profit of a partial close or from the exchange's order history. */
export interface FillPrice {
  readonly price: DecimalString;
  readonly from: 'realizedPnl' | 'orderHistory';
}

export interface NextHour {
  /** One hour after the fill; null: no read showed it. */
  readonly markPrice: DecimalString | null;
  /** Whether a mark within the hour passed the liquidation price of before the fill; null: unknown. */
  readonly passedLiquidation: boolean | null;
}

/** Kept by the lane until the hour after the fill is over. */
export interface PendingCost {
  readonly cost: ActionCost;
  readonly positionId: string;
  readonly key: string;
  readonly ruleId: string;
  /** Whether it closed the whole position. Absent: written by an older version. */
  readonly closed?: boolean;
  /** A mark past the liquidation price of before the fill was seen. */
  readonly passedLiquidation: boolean;
}

/** In money currency; null: unknown, which is never zero. In the first three a positive figure is a loss. */
export function costFigures(cost: ActionCost) {
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
    /** What the closed part would have lost within the next hour (kept) or gained (negative: given up). */
    kept: lost(cost.nextHour?.markPrice),
  };
}

export type ActionFigures = Readonly<ReturnType<typeof costFigures>>;
