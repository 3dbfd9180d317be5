import type { Decimal } from '../../core/quantities/decimal.ts';
import type { PriceSource } from '../prices/price-source.ts';
import type { LedgerDetail, LedgerEntry, LedgerFilter } from './ledger-entry.ts';
import type { ConditionWindow, MarketCondition } from './market-condition.ts';
import type { Readings } from './readings.ts';
import type {
  AccountSheet,
  AssetStatus,
  CollateralLimitRequest,
  CreditLineView,
  DepositLinkRequest,
  IssuedDepositLink,
  MarketSheet,
  OpeningSheet,
  OpenLoan,
  OrderClass,
  OrderView,
  Outcome,
  PositionSheet,
  SeedAccount,
  SpotOrderRequest,
  StopLimitPlacement,
  TransferRequest,
  TransferView,
  WalletName,
} from './types.ts';

/**
 * The simulated exchange behind its API: synchronous, deterministic, in virtual time. A mutating call takes
 * effect at `nowMs()`; call `advanceTo` first to bring the world up to the present. Unknown account ids are
 * bugs of the caller and throw; everything a customer can get wrong is a `Rejection`.
 */
export interface ExchangeModel {
  nowMs(): number;
  /** Plays prices, triggers, fills, funding and liquidations up to `toMs`; earlier times are ignored. */
  advanceTo(toMs: number): void;

  readings(): Readings;
  /** Takes effect for what happens from now on; `marginModel` cannot change while positions are open. */
  setReadings(readings: Readings): Outcome<{ readonly readings: Readings }>;

  markets(): readonly MarketSheet[];
  market(name: string): MarketSheet | undefined;
  /** Sets prices by hand, at once and as a gap; a walk goes on from here. `last` and `mark` override `price`. */
  setPrice(
    market: string,
    price: Decimal,
    options?: { readonly mark?: Decimal; readonly last?: Decimal },
  ): void;
  setFundingRate(market: string, rate: Decimal): void;
  /** Depth, basis, auto-deleveraging and all else that befalls a market; refusals name what is wrong with it. */
  setCondition(condition: MarketCondition, window?: ConditionWindow): Outcome<object>;
  /** Replaces the price source of a market; null stops it. */
  setPriceSource(market: string, source: PriceSource | null): void;

  createAccount(seed: SeedAccount): void;
  accountIds(): readonly string[];
  account(accountId: string): AccountSheet;
  setLeverage(accountId: string, leverage: number): void;

  /** Specification 4.4; a reduce-only amount may come back trimmed. */
  placeCollateralStopLimit(
    accountId: string,
    request: StopLimitPlacement,
  ): Outcome<{ readonly order: OrderView }>;
  placeCollateralLimit(
    accountId: string,
    request: CollateralLimitRequest,
  ): Outcome<{ readonly order: OrderView }>;
  placeSpotOrder(accountId: string, request: SpotOrderRequest): Outcome<{ readonly order: OrderView }>;
  /** Specification 4.6; types omitted = all. Answers the orders cancelled. */
  cancelAll(
    accountId: string,
    filter: { readonly market?: string; readonly types?: readonly OrderClass[] },
  ): Outcome<{ readonly cancelled: readonly OrderView[] }>;
  cancelOrder(accountId: string, orderId: number): Outcome<{ readonly order: OrderView }>;
  /** Specification 4.7; 113 while collateral positions or orders are open. */
  setHedgeMode(accountId: string, hedgeMode: boolean): Outcome<{ readonly hedgeMode: boolean }>;

  openOrders(accountId: string, market?: string): readonly OrderView[];
  order(accountId: string, orderId: number): OrderView | undefined;
  /** Finished and partly executed spot orders, newest first (specification 2.1, 4.5). */
  spotOrderHistory(accountId: string, market?: string): readonly OrderView[];
  openPositions(accountId: string, market?: string): readonly PositionSheet[];
  /** Empty unless the readings say that such positions are listed. */
  openingPositions(accountId: string, market?: string): readonly OpeningSheet[];

  creditLines(accountId: string): readonly CreditLineView[];
  openLoan(accountId: string, loan: OpenLoan): Outcome<{ readonly loan: CreditLineView }>;
  /** Repays from the main balance; everything repaid closes the loan and returns the collateral. */
  repayLoan(
    accountId: string,
    loanId: number,
    amount: Decimal,
  ): Outcome<{ readonly loan: CreditLineView | null }>;
  /** Moves main balance into the loan's collateral. */
  addLoanCollateral(
    accountId: string,
    loanId: number,
    amount: Decimal,
  ): Outcome<{ readonly loan: CreditLineView }>;

  /** Non-zero main balances by ticker (specification 2.6). */
  mainBalance(accountId: string): Readonly<Record<string, Decimal>>;
  /** Newest first (specification 2.3). */
  transfers(accountId: string): readonly TransferView[];
  deposit(accountId: string, request: TransferRequest): Outcome<{ readonly transfer: TransferView }>;
  withdraw(accountId: string, request: TransferRequest): Outcome<{ readonly transfer: TransferView }>;
  /** Moves money between the wallets of one account. */
  moveFunds(
    accountId: string,
    move: {
      readonly from: WalletName;
      readonly to: WalletName;
      readonly ticker: string;
      readonly amount: Decimal;
    },
  ): Outcome<{ readonly balance: Decimal }>;

  assets(): readonly AssetStatus[];
  /** Specification 4.1, the checks that need state (ticker, provider, amount bounds, unique id for ever). */
  createFiatDeposit(
    accountId: string,
    request: DepositLinkRequest,
  ): Outcome<{ readonly link: IssuedDepositLink }>;
  fiatDeposit(token: string): IssuedDepositLink | undefined;
  /** The customer pays at the provider: the deposit arrives. Paying twice is refused. */
  payFiatDeposit(token: string): Outcome<{ readonly transfer: TransferView }>;

  ledger(filter?: LedgerFilter): readonly LedgerEntry[];
  /** Entries ever written, and how many of the oldest are no longer kept. */
  ledgerTotals(): { readonly total: number; readonly dropped: number };
  /** Puts a request into the same sequence as its effects; free-form, JSON-ready. */
  recordRequest(accountId: string | null, details: Readonly<Record<string, LedgerDetail>>): LedgerEntry;
}
