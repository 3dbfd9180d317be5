import type { DecimalString } from '../../core/quantities/decimal.ts';
import type { Side } from './types.ts';

export type LedgerKind =
  | 'account_created'
  | 'position_seeded'
  | 'order_placed'
  | 'order_rejected'
  | 'stop_triggered'
  | 'fill'
  | 'order_cancelled'
  | 'hedge_mode'
  | 'margin_call'
  | 'margin_call_cleared'
  | 'liquidation_started'
  | 'liquidation'
  | 'liquidation_ended'
  | 'auto_deleverage'
  | 'settlement'
  | 'borrow_repaid'
  | 'insurance'
  | 'funding'
  | 'deposit'
  | 'withdrawal'
  | 'internal_transfer'
  | 'fiat_link'
  | 'loan_opened'
  | 'loan_repaid'
  | 'loan_collateral'
  | 'loan_margin_call'
  | 'loan_margin_call_cleared'
  | 'loan_liquidation'
  | 'price_set'
  | 'market_condition'
  | 'request';

/** One leg of a journal entry; the legs of an entry sum to zero in every asset. */
export interface Posting {
  /**
   * `main:<account>`, `spot:`, `collateral:`, `position:<id>`, `margin:<id>`, `pledge:<id>`, `transit:<id>`,
   * `exchange:*`, `outside`.
   */
  readonly book: string;
  readonly asset: string;
  readonly amount: DecimalString;
}

export type LedgerDetail = string | number | boolean | null;

/** One event, in order. JSON-ready: amounts are decimal strings. */
export interface LedgerEntry {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: LedgerKind;
  readonly accountId: string | null;
  readonly market?: string;
  readonly orderId?: number;
  readonly clientOrderId?: string;
  readonly positionId?: number;
  readonly side?: Side;
  readonly amount?: DecimalString;
  readonly price?: DecimalString;
  readonly fee?: DecimalString;
  /** Reason of a cancel, a trimming, a liquidation or a refusal. */
  readonly reason?: string;
  readonly details?: Readonly<Record<string, LedgerDetail>>;
  readonly postings: readonly Posting[];
}

export interface LedgerFilter {
  readonly accountId?: string | undefined;
  readonly kinds?: readonly LedgerKind[] | undefined;
  /** Only entries with a larger sequence number. */
  readonly afterSeq?: number | undefined;
  readonly limit?: number | undefined;
}
