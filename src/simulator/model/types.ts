import type { Decimal } from '../../core/quantities/decimal.ts';
import type { Readings } from './readings.ts';

/**
 * Vocabulary of the simulated exchange. Times are Unix milliseconds of virtual time, amounts are in the
 * market's base asset, prices and costs in its quote ("money") asset, rates are fractions (0.001 = 0.1 %).
 */
export type Side = 'buy' | 'sell';
export type PositionLeg = 'LONG' | 'SHORT' | 'BOTH';
/** Order classes as cancel-all names them (specification 4.6). */
export type OrderClass = 'spot' | 'margin' | 'futures';
export type LiquidationStage = 'margin_call' | 'liquidation';
export type WalletName = 'main' | 'spot' | 'collateral';

/** Synthetic order book: `amountPerLevel` at every level on both sides, renewed every `renewMs`. */
export interface DepthSpec {
  /** Distance from the last price to the best bid and to the best ask. */
  readonly halfSpread: Decimal;
  /** Distance between two levels; a multiple of the price step. */
  readonly levelStep: Decimal;
  readonly amountPerLevel: Decimal;
  /** Number of levels per side; beyond them there is nobody. */
  readonly levels: number;
  readonly renewMs: number;
}

export interface MarketSpec {
  /** `BASE_QUOTE` (spot and margin) or `BASE_PERP` (futures). */
  readonly name: string;
  readonly base: string;
  /** Money asset: pnl, fees and funding are in it; `USDT` for `BTC_PERP`. */
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
  readonly depth: DepthSpec;
  /** Largest notional of a position (code 111) and of pending opening orders (code 112) per account. */
  readonly maxPositionValue?: Decimal;
  readonly maxPendingValue?: Decimal;
  /** Takes over the prices of this market unless it has a price source of its own (`BTC_PERP` of `BTC_USDT`). */
  readonly follows?: string;
}

export interface AssetSpec {
  readonly ticker: string;
  /** Full name, as `currency` in deposit records. */
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
  /** Part of its value that counts as collateral, 0 to 1. */
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
  /** Part of the debt taken as a fee when the collateral of a credit line is sold. */
  readonly loanFee: Decimal;
}

export interface ModelConfig {
  readonly seed: number;
  readonly startMs: number;
  readonly markets: readonly MarketSpec[];
  readonly assets: readonly AssetSpec[];
  /**
   * Asset in which different collaterals are compared; an asset X counts as collateral if there is a market
   * `X_REFERENCE`. Collateral trading is offered in the markets quoted in it.
   */
  readonly referenceAsset: string;
  readonly readings: Readings;
  readonly liquidation: LiquidationPolicy;
  /** How many ledger entries are kept at least; 250,000 if absent. */
  readonly ledgerCapacity?: number;
}

export interface SeedPosition {
  readonly market: string;
  readonly direction: 'long' | 'short';
  readonly amount: Decimal;
  /** The market's last price if absent. */
  readonly basePrice?: Decimal;
}

export interface SeedAccount {
  readonly id: string;
  readonly hedgeMode: boolean;
  readonly leverage: number;
  readonly collateral: Readonly<Record<string, Decimal>>;
  readonly main?: Readonly<Record<string, Decimal>>;
  readonly spot?: Readonly<Record<string, Decimal>>;
  readonly positions?: readonly SeedPosition[];
}

/** A refusal as the exchange words it (specification 7, codes of the live notes). */
export interface Rejection {
  readonly ok: false;
  readonly code: number;
  readonly message: string;
  readonly errors: Readonly<Record<string, readonly string[]>>;
}
export type Outcome<T> = ({ readonly ok: true } & T) | Rejection;

export interface StopLimitPlacement {
  readonly market: string;
  readonly side: Side;
  readonly amount: Decimal;
  readonly price: Decimal;
  readonly activationPrice: Decimal;
  readonly stopLoss?: Decimal;
  readonly takeProfit?: Decimal;
  readonly clientOrderId?: string;
  readonly positionSide?: PositionLeg;
  readonly reduceOnly?: boolean;
}

/** A plain collateral order (opens positions through the control API); `price` absent = at market. */
export type CollateralLimitRequest = Omit<StopLimitPlacement, 'price' | 'activationPrice'> & {
  readonly price?: Decimal;
};

export interface SpotOrderRequest {
  readonly market: string;
  readonly side: Side;
  readonly amount: Decimal;
  /** Absent = market order. */
  readonly price?: Decimal;
  readonly clientOrderId?: string;
  readonly postOnly?: boolean;
  readonly ioc?: boolean;
}

export type OrderState = 'NEW' | 'PARTIALLY_FILLED' | 'FILLED' | 'CANCELLED';

/** An order as it stands; the server writes specification 2.1 and 2.2 records from it. */
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
  /** ZERO for an order at market. */
  readonly price: Decimal;
  readonly activationPrice: Decimal | null;
  /** Whether a stop has been triggered; true for orders that are not stops. */
  readonly active: boolean;
  readonly status: OrderState;
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
  /** When it left the book; null while open. */
  readonly finishedMs: number | null;
  readonly oto: {
    readonly otoId: number;
    readonly stopLoss: Decimal | null;
    readonly takeProfit: Decimal | null;
  } | null;
}

/** What a specification 2.4 record is written from. */
export interface PositionSheet {
  readonly positionId: number;
  readonly accountId: string;
  readonly market: string;
  readonly orderClass: 'margin' | 'futures';
  readonly direction: 'long' | 'short';
  /** LONG or SHORT in hedge mode, else BOTH. */
  readonly positionSide: PositionLeg;
  /** Unsigned. */
  readonly amount: Decimal;
  readonly openMs: number;
  readonly modifyMs: number;
  readonly basePrice: Decimal;
  readonly markPrice: Decimal;
  readonly liquidationPrice: Decimal | null;
  readonly liquidationState: LiquidationStage | null;
  /** Realized by partial closes. */
  readonly pnl: Decimal;
  /** Unrealized pnl in percent of the margin. */
  readonly pnlPercent: Decimal;
  readonly margin: Decimal;
  readonly freeMargin: Decimal;
  readonly funding: Decimal;
  readonly unrealizedFunding: Decimal;
  readonly unrealizedPnl: Decimal;
  readonly tpsl: {
    readonly takeProfitId: number | null;
    readonly takeProfit: Decimal | null;
    readonly stopLossId: number | null;
    readonly stopLoss: Decimal | null;
  } | null;
}

/** A position that an open order is about to open: there is nothing to say of it yet but where it will be. */
export interface OpeningSheet {
  /** The id that the position will have. */
  readonly positionId: number;
  readonly accountId: string;
  readonly market: string;
  readonly positionSide: PositionLeg;
  /** When the first of its orders was placed. */
  readonly openMs: number;
  readonly freeMargin: Decimal;
}

/** What a specification 2.5 record is written from; LTVs are fractions here. */
export interface CreditLineView {
  readonly loanId: number;
  readonly accountId: string;
  readonly asset: string;
  readonly amount: Decimal;
  readonly collateralAsset: string;
  readonly collateralAmount: Decimal;
  readonly totalFunding: Decimal;
  readonly currentLtv: Decimal;
  readonly initialLtv: Decimal;
  readonly marginCallLtv: Decimal;
  readonly liquidationLtv: Decimal;
  readonly state: LiquidationStage | null;
  readonly createdMs: number;
}

export interface OpenLoan {
  readonly asset: string;
  readonly amount: Decimal;
  readonly collateralAsset: string;
  readonly collateralAmount: Decimal;
  readonly initialLtv?: Decimal;
  readonly marginCallLtv?: Decimal;
  readonly liquidationLtv?: Decimal;
  readonly fundingPerDay?: Decimal;
}

/** What a specification 2.3 record is written from. */
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

export interface TransferRequest {
  readonly ticker: string;
  readonly amount: Decimal;
  readonly address?: string;
  readonly memo?: string;
  readonly network?: string;
  readonly uniqueId?: string;
  readonly description?: string;
  /** Virtual time until it succeeds; it stays pending meanwhile. 0 (default) = at once. */
  readonly settleAfterMs?: number;
  /** Withdrawal: only this much is processed (status 18 partial), the rest comes back. */
  readonly processedAmount?: Decimal;
  /** Status it ends in, 3 by default; only 3 and 7 credit a deposit, 4 and 9 give a withdrawal back. */
  readonly finalStatus?: number;
}

export interface DepositLinkRequest {
  readonly ticker: string;
  readonly provider: string;
  readonly amount: Decimal;
  readonly uniqueId: string;
  /** Where the pages behind the deposit link lead afterwards. */
  readonly successLink?: string;
  readonly failureLink?: string;
  readonly returnLink?: string;
}

export interface IssuedDepositLink extends DepositLinkRequest {
  /** Opaque and unguessable enough for tests: part of the returned URL. */
  readonly token: string;
  readonly accountId: string;
  readonly createdMs: number;
  readonly paid: boolean;
}

export interface AssetStatus {
  readonly ticker: string;
  readonly name: string;
  readonly canDeposit: boolean;
  readonly canWithdraw: boolean;
  readonly providers: readonly string[];
  readonly networks: readonly string[];
  readonly confirmationsRequired: number;
  readonly minDeposit: Decimal;
}

/** `halted`: for maintenance; nothing trades, and no order is taken. */
export type MarketStatus = 'open' | 'halted' | 'delisted';

export interface MarketSheet {
  readonly spec: MarketSpec;
  readonly status: MarketStatus;
  readonly last: Decimal;
  readonly mark: Decimal;
  readonly bid: Decimal;
  readonly ask: Decimal;
}

export interface AccountSheet {
  readonly accountId: string;
  readonly hedgeMode: boolean;
  readonly leverage: number;
  readonly collateral: Readonly<Record<string, Decimal>>;
  readonly main: Readonly<Record<string, Decimal>>;
  readonly spot: Readonly<Record<string, Decimal>>;
  /** In the reference asset: collateral at mark and weight + unrealized pnl - unrealized funding. */
  readonly equity: Decimal;
  readonly maintenanceMargin: Decimal;
  readonly usedMargin: Decimal;
  readonly freeMargin: Decimal;
  readonly liquidationState: LiquidationStage | null;
}
