import { z } from 'zod';
import type { Decimal } from '../../core/quantities/decimal.ts';
import { decimalText, milliseconds, positiveDecimal } from '../schemas.ts';
import type { Readings } from './readings.ts';

/**
 * Times are Unix milliseconds of virtual time, amounts in base, prices in quote, rates fractions. Inputs of the control
 * API are schemas.
 */
const SIDE = z.enum(['buy', 'sell']);
export const POSITION_LEG = z.enum(['LONG', 'SHORT', 'BOTH']);
/** Named as in cancel-all (specification 4.6). */
export const ORDER_CLASS = z.enum(['spot', 'margin', 'futures']);
const WALLET = z.enum(['main', 'spot', 'collateral']);
export type Side = z.infer<typeof SIDE>;
export type PositionLeg = z.infer<typeof POSITION_LEG>;
export type OrderClass = z.infer<typeof ORDER_CLASS>;
export type WalletName = z.infer<typeof WALLET>;
export type LiquidationStage = 'margin_call' | 'liquidation';

const OPTIONAL_TEXT = z.string().exactOptional();
const OPTIONAL_FLAG = z.boolean().exactOptional();
const OPTIONAL_DECIMAL = positiveDecimal.exactOptional();
const AMOUNTS = z.record(z.string(), positiveDecimal);
export const LEVERAGE = z.number().int().min(1).max(100);

export interface MarketSpec {
  /** `BASE_QUOTE` (spot and margin) or `BASE_PERP` (futures). */
  readonly name: string;
  readonly base: string;
  /** Asset of pnl, fees and funding; `USDT` for `BTC_PERP`. */
  readonly quote: string;
  readonly kind: 'spot' | 'perpetual';
  readonly price: Decimal;
  readonly amountStep: Decimal;
  readonly priceStep: Decimal;
  readonly minAmount: Decimal;
  readonly takerFee: Decimal;
  readonly makerFee: Decimal;
  readonly maintenanceMargin: Decimal;
  readonly liquidationFee: Decimal;
  /** Mark price minus last price. */
  readonly basis: Decimal;
  /** Perpetual: paid per `fundingIntervalMs` by longs to shorts. Spot: paid per day on the borrowed amount. */
  readonly fundingRate: Decimal;
  readonly fundingIntervalMs: number;
  /** Synthetic order book: `amountPerLevel` at every level on both sides, renewed every `renewMs`. */
  readonly depth: {
    /** Distance from the last price to the best bid and to the best ask. */
    readonly halfSpread: Decimal;
    /** Distance between two levels; a multiple of the price step. */
    readonly levelStep: Decimal;
    readonly amountPerLevel: Decimal;
    /** Number of levels per side; there is no depth beyond them. */
    readonly levels: number;
    readonly renewMs: number;
  };
  /** Largest notional of a position (code 111) and of pending opening orders (code 112) per account. */
  readonly maxPositionValue?: Decimal;
  readonly maxPendingValue?: Decimal;
  /** Follows the prices of this market unless it has its own price source (`BTC_PERP` follows `BTC_USDT`). */
  readonly follows?: string;
}

export interface AssetSpec {
  readonly ticker: string;
  /** Full name, the `currency` of transfer records. */
  readonly name: string;
  readonly fiat: boolean;
  readonly canDeposit: boolean;
  readonly canWithdraw: boolean;
  /** Fiat providers of the deposit link (specification 4.1); empty for coins. */
  readonly providers: readonly string[];
  readonly networks: readonly string[];
  readonly minDeposit: Decimal;
  readonly depositFee: Decimal;
  readonly withdrawalFee: Decimal;
  readonly confirmationsRequired: number;
  /** Share of its value that counts as collateral, 0 to 1. */
  readonly collateralWeight: Decimal;
}

export interface LiquidationPolicy {
  /** `margin_call` when equity <= this multiple of the maintenance margin. */
  readonly marginCallRatio: Decimal;
  /** Fraction of a position's size closed by one step of a liquidation. */
  readonly part: Decimal;
  /** Steps go on until equity exceeds this multiple of the maintenance margin. */
  readonly restoreRatio: Decimal;
  readonly stepMs: number;
  /** Share of the debt taken as a fee when the collateral of a credit line is sold. */
  readonly loanFee: Decimal;
}

export interface ModelConfig {
  readonly seed: number;
  readonly startMs: number;
  readonly markets: readonly MarketSpec[];
  readonly assets: readonly AssetSpec[];
  /** Asset in which collateral is valued: asset X has a value if there is a market `X_REFERENCE`. */
  readonly referenceAsset: string;
  readonly readings: Readings;
  readonly liquidation: LiquidationPolicy;
  /** Least number of ledger entries kept; 250,000 if absent. */
  readonly ledgerCapacity?: number;
}

export const OWN_POSITION = z.strictObject({
  market: z.string(),
  direction: z.enum(['long', 'short']),
  amount: positiveDecimal,
});
/** `basePrice` defaults to the market's last price. */
const SEED_POSITION = OWN_POSITION.extend({ basePrice: OPTIONAL_DECIMAL });
export type SeedPosition = z.infer<typeof SEED_POSITION>;

export const SEED_ACCOUNT = z.strictObject({
  id: z.string(),
  hedgeMode: z.boolean().default(false),
  leverage: LEVERAGE.default(10),
  collateral: AMOUNTS,
  main: AMOUNTS.exactOptional(),
  spot: AMOUNTS.exactOptional(),
  positions: z.array(SEED_POSITION).exactOptional(),
});
export type SeedAccount = z.infer<typeof SEED_ACCOUNT>;

/** A refusal in the words of the exchange (specification 7, codes of the live notes). */
export interface Rejection {
  readonly ok: false;
  readonly code: number;
  readonly message: string;
  readonly errors: Readonly<Record<string, readonly string[]>>;
}
export type Outcome<T> = ({ readonly ok: true } & T) | Rejection;

const ORDER = {
  market: z.string(),
  side: SIDE,
  amount: positiveDecimal,
  /** Absent for a market order. */
  price: OPTIONAL_DECIMAL,
};

export const SPOT_ORDER = z.strictObject({
  ...ORDER,
  clientOrderId: OPTIONAL_TEXT,
  postOnly: OPTIONAL_FLAG,
  ioc: OPTIONAL_FLAG,
});
export type SpotOrderRequest = z.infer<typeof SPOT_ORDER>;

export const COLLATERAL_ORDER = z.strictObject({
  ...ORDER,
  /** Absent for an order that is not a stop. */
  activationPrice: OPTIONAL_DECIMAL,
  stopLoss: OPTIONAL_DECIMAL,
  takeProfit: OPTIONAL_DECIMAL,
  clientOrderId: OPTIONAL_TEXT,
  positionSide: POSITION_LEG.exactOptional(),
  reduceOnly: OPTIONAL_FLAG,
});
export type CollateralOrder = z.infer<typeof COLLATERAL_ORDER>;

/** Current state of an order, the source of specification 2.1 and 2.2 records. */
export interface OrderView {
  readonly orderId: number;
  readonly accountId: string;
  readonly clientOrderId: string;
  readonly market: string;
  readonly orderClass: OrderClass;
  readonly type: 'limit' | 'market' | 'stop limit' | 'stop market';
  readonly side: Side;
  readonly positionSide: PositionLeg;
  readonly reduceOnly: boolean;
  /** After any trimming of a reduce-only order at placement. */
  readonly amount: Decimal;
  readonly left: Decimal;
  /** ZERO for a market order. */
  readonly price: Decimal;
  readonly activationPrice: Decimal | null;
  /** Whether a stop has been triggered; true for orders that are not stops. */
  readonly active: boolean;
  readonly status: 'NEW' | 'PARTIALLY_FILLED' | 'FILLED' | 'CANCELLED' | 'AUTO_CANCELED_LIQUIDATION';
  readonly dealStock: Decimal;
  readonly dealMoney: Decimal;
  readonly dealFee: Decimal;
  readonly takerFee: Decimal;
  readonly makerFee: Decimal;
  readonly postOnly: boolean;
  readonly ioc: boolean;
  readonly feeAsset: string;
  /** With microseconds. */
  readonly createdMs: number;
  /** When the order left the book; null while open. */
  readonly finishedMs: number | null;
  readonly oto: {
    readonly otoId: number;
    readonly stopLoss: Decimal | null;
    readonly takeProfit: Decimal | null;
  } | null;
}

export type OrderOutcome = Outcome<{ readonly order: OrderView }>;

export const LOAN = z.strictObject({
  asset: z.string(),
  amount: positiveDecimal,
  collateralAsset: z.string(),
  collateralAmount: positiveDecimal,
  initialLtv: OPTIONAL_DECIMAL,
  marginCallLtv: OPTIONAL_DECIMAL,
  liquidationLtv: OPTIONAL_DECIMAL,
  fundingPerDay: decimalText.exactOptional(),
});
export type OpenLoan = z.infer<typeof LOAN>;

/** Source of a specification 2.3 record. */
export interface TransferView {
  readonly transactionId: string;
  readonly accountId: string;
  readonly method: 'deposit' | 'withdrawal';
  readonly address: string;
  readonly uniqueId: string | null;
  readonly createdMs: number;
  readonly currency: string;
  readonly ticker: string;
  readonly amount: Decimal;
  readonly description: string;
  readonly memo: string;
  readonly fee: Decimal;
  readonly status: number;
  readonly network: string | null;
  readonly transactionHash: string;
  readonly partial: {
    readonly requestAmount: Decimal;
    readonly processedAmount: Decimal;
    readonly processedFee: Decimal;
    readonly normalizeTransaction: string;
  } | null;
  readonly confirmations: { readonly actual: number; readonly required: number };
}

export const TRANSFER = z.strictObject({
  ticker: z.string(),
  amount: positiveDecimal,
  address: OPTIONAL_TEXT,
  memo: OPTIONAL_TEXT,
  network: OPTIONAL_TEXT,
  uniqueId: OPTIONAL_TEXT,
  description: OPTIONAL_TEXT,
  /** Virtual time for which the transfer is pending. 0 (default): none. */
  settleAfterMs: milliseconds.exactOptional(),
  /** Processed part of a withdrawal (status 18, partial); the rest is returned. */
  processedAmount: OPTIONAL_DECIMAL,
  /** 3 by default, 18 if partial. Only 3 and 7 credit a deposit; 4 and 9 return a withdrawal. */
  finalStatus: z.number().int().min(1).max(99).exactOptional(),
});
export type TransferRequest = z.infer<typeof TRANSFER>;

export const WALLET_MOVE = z.strictObject({
  from: WALLET,
  to: WALLET,
  ticker: z.string(),
  amount: positiveDecimal,
});
export type WalletMove = z.infer<typeof WALLET_MOVE>;

export interface DepositLinkRequest {
  readonly ticker: string;
  readonly provider: string;
  readonly amount: Decimal;
  readonly uniqueId: string;
  /** Addresses to which the deposit page leads afterwards. */
  readonly successLink?: string;
  readonly failureLink?: string;
  readonly returnLink?: string;
}

export interface IssuedDepositLink extends DepositLinkRequest {
  /** Part of the returned URL: opaque, and unguessable enough for tests. */
  readonly token: string;
  readonly accountId: string;
  readonly createdMs: number;
  readonly paid: boolean;
}

/** `halted`: maintenance; nothing trades and no order is accepted. */
export type MarketStatus = 'open' | 'halted' | 'delisted';
