import type { Decimal } from '../../core/quantities/decimal.ts';
import type { PositionLeg } from './types.ts';

/** What happens to a market in a crash, besides its price. */
export type MarketCondition =
  /** The amounts of the book times `factor` (0: nobody there); `spread`: bid to ask, a fraction of the price, at least. */
  | { readonly kind: 'depth'; readonly market: string; readonly factor?: Decimal; readonly spread?: Decimal }
  /** Mark minus last, as a fraction of the last price; reached in a straight line within `overMs`. */
  | { readonly kind: 'basis'; readonly market: string; readonly ratio: Decimal; readonly overMs?: number }
  /** The exchange closes a position, or an amount of it, at mark and without a fee. */
  | {
      readonly kind: 'deleverage';
      readonly account: string;
      readonly market: string;
      readonly positionSide?: PositionLeg;
      readonly amount?: Decimal;
    }
  | ({ readonly kind: 'terms'; readonly market: string } & MarketTermsChange)
  /** Maintenance: no order is taken and none trades; liquidation goes on. */
  | { readonly kind: 'halt' | 'reopen'; readonly market: string }
  /** Orders vanish, positions are settled at mark, and the market does not exist any more for customers. */
  | { readonly kind: 'delist'; readonly market: string }
  /** Open orders vanish without a word, of everybody or of one account. */
  | { readonly kind: 'dropOrders'; readonly market: string; readonly account?: string }
  | { readonly kind: 'rename'; readonly market: string; readonly to: string };

export interface MarketTermsChange {
  readonly amountStep?: Decimal;
  readonly priceStep?: Decimal;
  readonly minAmount?: Decimal;
  readonly maintenanceMargin?: Decimal;
}

/** Unix milliseconds of exchange time; from now on and for good where left out. */
export interface ConditionWindow {
  readonly fromMs?: number;
  readonly untilMs?: number;
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
