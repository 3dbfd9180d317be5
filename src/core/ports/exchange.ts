import type { DecimalString } from '../quantities/decimal.ts';

/**
 * Validated records, and outcomes instead of exceptions; plain JSON, to be stored, replayed and audited. Names and
 * units of fields are the API's (specification section 2); times are Unix seconds.
 */

/** A value of an open enumeration: one of the documented ones, or kept verbatim and marked. */
export type Enumerated<T extends string | number> =
  | { readonly known: true; readonly value: T }
  | { readonly known: false; readonly raw: string | number };

export type OrderSide = 'buy' | 'sell';
export type PositionSide = 'LONG' | 'SHORT' | 'BOTH';
export type LiquidationState = 'margin_call' | 'liquidation';
export type OrderType = 'spot' | 'margin' | 'futures';
/** Both spellings of the exchange, `CANCELED` and `CANCELLED`, are read as `CANCELLED`. */
export type OrderStatus = 'NEW' | 'PARTIALLY_FILLED' | 'FILLED' | 'CANCELLED';
export type TransferMethod = 'deposit' | 'withdrawal';

/** A position as the exchange sent it (specification 2.4). Optional fields are ones the exchange left out: unknown, never zero. */
export interface PositionRecord {
  readonly positionId: string;
  readonly market: string;
  readonly openDate?: number;
  readonly modifyDate?: number;
  /** Signed as received: negative for a short in one-way mode on exchanges that sign it. */
  readonly amount: DecimalString;
  readonly basePrice?: DecimalString;
  /** `null`: the exchange says that there is none. Absent: it said nothing. */
  readonly liquidationPrice?: DecimalString | null;
  readonly liquidationState?: Enumerated<LiquidationState> | null;
  readonly pnl?: DecimalString;
  readonly pnlPercent?: DecimalString;
  readonly margin?: DecimalString;
  readonly freeMargin?: DecimalString;
  readonly funding?: DecimalString;
  readonly unrealizedFunding?: DecimalString;
  readonly unrealizedPnl?: DecimalString;
  /** `null`: none attached. Absent: the exchange said nothing. */
  readonly tpsl?: PositionTpsl | null;
  readonly positionSide?: Enumerated<PositionSide>;
  /** It has no `positionSide`, and its market may have another position. Absent: no. */
  readonly sideDoubtful?: true;
}

export interface PositionTpsl {
  readonly takeProfitId?: string;
  readonly takeProfit?: DecimalString;
  readonly stopLossId?: string;
  readonly stopLoss?: DecimalString;
}

/** Specification 2.5, LTVs in the exchange's unit as received (percent or fraction). */
export interface CreditLineRecord {
  readonly asset: string;
  readonly amount: DecimalString;
  readonly totalFunding?: DecimalString;
  readonly currentLtv?: DecimalString;
  readonly initialLtv?: DecimalString;
  readonly marginCallLtv?: DecimalString;
  readonly liquidationLtv?: DecimalString;
  readonly createdAt: number;
}

/** Specification 2.6: available balance per asset; an asset that is absent has zero. */
export type MainBalance = Readonly<Record<string, DecimalString>>;

/** Specification 2.3. Personal: address, memo, description, ids of the chain; see `knownTransfers`. */
export interface TransferRecord {
  readonly transactionId?: string;
  readonly uniqueId: string | null;
  readonly createdAt: number;
  readonly ticker: string;
  readonly currency?: string;
  readonly method: Enumerated<TransferMethod>;
  readonly amount: DecimalString;
  readonly fee?: DecimalString;
  /** The exchange's code, as received; names live in one table of the client. */
  readonly status: number;
  readonly network: string | null;
  readonly address?: string;
  readonly memo?: string;
  readonly description?: string;
  readonly transactionHash?: string;
  readonly partial?: TransferPartial;
  readonly confirmations?: { readonly actual: number; readonly required: number };
}

export interface TransferPartial {
  readonly requestAmount: DecimalString;
  readonly processedAmount: DecimalString;
  readonly processedFee: DecimalString;
  readonly normalizeTransaction: string;
}

/** Specification 2.1. */
export interface SpotOrderRecord {
  readonly market: string;
  readonly orderId: string;
  readonly clientOrderId: string;
  readonly side: Enumerated<OrderSide>;
  readonly type: string;
  readonly status: Enumerated<OrderStatus>;
  readonly amount: DecimalString;
  readonly price?: DecimalString;
  readonly ctime: number;
  readonly ftime?: number;
  readonly dealStock?: DecimalString;
  readonly dealMoney?: DecimalString;
  readonly dealFee?: DecimalString;
  readonly takerFee?: DecimalString;
  readonly makerFee?: DecimalString;
  readonly feeAsset?: string;
  readonly postOnly?: boolean;
  readonly ioc?: boolean;
  readonly stp?: string;
  readonly rpi?: boolean;
  readonly reduceOnly?: boolean;
  /** The live service's own, of stops and of orders of a position: trigger, when it was reached, and side. */
  readonly activationPrice?: DecimalString;
  readonly activationCondition?: string;
  readonly activated?: number;
  readonly positionSide?: Enumerated<PositionSide>;
}

/** A record of a list that failed validation: where and why, never its values. */
export interface SetAsideRecord {
  /** Place of its first fault in the reply, e.g. `[3].amount`. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
  /** How many more faults it has; absent for none. */
  readonly furtherFaults?: number;
}

/** The valid records of a reply. `complete: false` means that an absence proves nothing. */
export interface RecordList<T> {
  readonly records: readonly T[];
  /** One entry for each record that was set aside, up to twenty. */
  readonly setAside: readonly SetAsideRecord[];
  /** How many more were set aside than `setAside` tells of; absent for none. */
  readonly furtherSetAside?: number;
  readonly complete: boolean;
  /** Why a history ends early: `limit`, more than was asked for; `period`, the exchange shows none older. */
  readonly cut?: 'limit' | 'period';
}

/** A position that an order is about to open: the live service lists it with nulls. */
export interface OpeningPosition {
  readonly positionId: string;
  readonly market: string;
}

export interface PositionList extends RecordList<PositionRecord> {
  /** Listed without an amount yet: no record, no fault, and no closure of a position known by this id. */
  readonly notOpenYet?: readonly OpeningPosition[];
  /** Open positions with nulls where none are documented: those fields are unknown. Up to twenty; absent for none. */
  readonly nulls?: readonly SetAsideRecord[];
}

/** Specification 2.2, as confirmed by the exchange. */
export interface PlacedOrder {
  readonly orderId: string;
  readonly clientOrderId: string;
  /** False when the reply did not repeat the client order id that was sent: contract drift. */
  readonly clientOrderIdEchoed: boolean;
  readonly market: string;
  readonly side: OrderSide;
  /** As received; `stop limit` for this endpoint. */
  readonly type?: string;
  readonly status: Enumerated<OrderStatus>;
  readonly amount: DecimalString;
  /** Present when the exchange accepted another amount than was asked for (specification 4.4, rule 2). */
  readonly adjustedFrom?: DecimalString;
  readonly left?: DecimalString;
  readonly price?: DecimalString;
  readonly activationPrice?: DecimalString;
  readonly dealStock?: DecimalString;
  readonly dealMoney?: DecimalString;
  readonly dealFee?: DecimalString;
  readonly timestamp?: number;
  readonly positionSide?: Enumerated<PositionSide>;
  readonly reduceOnly?: boolean;
  /** Self-trade prevention mode, as received. */
  readonly stp?: string;
  /** Present when stopLoss or takeProfit was given. */
  readonly oto?: {
    readonly otoId?: string;
    readonly stopLoss?: DecimalString;
    readonly takeProfit?: DecimalString;
  };
}

/** Whether the request can have changed anything at the exchange. */
export type PossibleEffect = 'none' | 'possible';

/** `name` is a stable key of the client's error catalogue; words of the exchange without secrets and personal data. */
export interface ExchangeError {
  readonly name: string;
  readonly endpoint: string;
  readonly message: string;
  readonly effect: PossibleEffect;
  readonly httpStatus?: number;
  readonly code?: number;
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  /** Of a public endpoint's error (specification 7). */
  readonly params?: readonly string[];
  readonly retryAfterMs?: number;
  /** A body that is no JSON: something in front of the exchange answered; it says nothing of key or account. */
  readonly gateway?: true;
}

export interface ReplyTiming {
  /** Monotonic time at which the last attempt was sent: the earliest moment its content can stem from. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** From the HTTP Date header, Unix milliseconds (whole seconds); absent when the header was. */
  readonly serverDateMs?: number;
  readonly attempts: number;
}

export type ReadOutcome<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly timing: ReplyTiming }
  | { readonly kind: 'failed'; readonly error: ExchangeError; readonly attempts: number };

/** The fate of a request that changes something, sent once. `unknown`: only a later read can tell. */
export type CommandOutcome<T> =
  | { readonly kind: 'accepted'; readonly value: T; readonly timing: ReplyTiming }
  | { readonly kind: 'rejected'; readonly error: ExchangeError }
  | { readonly kind: 'unknown'; readonly error: ExchangeError };

/**
 * `protective`: may use the reserved budget and goes ahead of reads. `watching`: of what may be past a threshold; goes
 * on slowly where a gateway stops polls.
 */
export type CallPriority = 'normal' | 'watching' | 'protective';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Bound on the whole call, waiting and repeating included. */
  readonly timeoutMs?: number;
  readonly priority?: CallPriority;
  /**
   * Asked right before each sending: false ends the call without effect, for rights that can be lost while it waits.
   * `timeoutMs`: how long the request may take from now on.
   */
  readonly mayLeave?: (timeoutMs: number) => boolean;
  /** A request that is not answered for so long is given up, if that is sooner than usual; waiting does not count. */
  readonly answerWithinMs?: number;
}

export interface TransferQuery {
  readonly method?: TransferMethod;
  readonly ticker?: string;
  readonly addresses?: readonly string[];
  readonly uniqueId?: string;
  /** Codes of one method: only together with `method` (specification 4.2). */
  readonly status?: readonly number[];
  /** Stop paging at the first record older than this, Unix seconds (records come newest first). */
  readonly since?: number;
  /** At most so many records; the list is incomplete when more exist. */
  readonly maxRecords?: number;
}

export interface SpotOrderQuery {
  readonly market?: string;
  readonly since?: number;
  readonly maxRecords?: number;
}

export interface CancelAllRequest {
  readonly market?: string;
  readonly types?: readonly OrderType[];
}

/** The only order the daemon can express: it can reduce or close a position, never open or grow one. */
export interface ReduceOnlyStopRequest {
  readonly market: string;
  readonly side: OrderSide;
  readonly amount: DecimalString;
  readonly price: DecimalString;
  readonly activationPrice: DecimalString;
  readonly clientOrderId: string;
  readonly positionSide: PositionSide;
  /**
   * Activates where the market moves in the position's favour. Never sent: the exchange infers it from the side of the
   * market on which the activation lies.
   */
  readonly inFavour?: true;
}

export interface ExchangeReads {
  ping(options?: CallOptions): Promise<ReadOutcome<true>>;
  openPositions(
    query?: { readonly market?: string },
    options?: CallOptions,
  ): Promise<ReadOutcome<PositionList>>;
  /** Every open credit line; an account without one has an empty, complete list. */
  creditLines(options?: CallOptions): Promise<ReadOutcome<RecordList<CreditLineRecord>>>;
  mainBalance(options?: CallOptions): Promise<ReadOutcome<MainBalance>>;
  transfers(query?: TransferQuery, options?: CallOptions): Promise<ReadOutcome<RecordList<TransferRecord>>>;
  spotOrders(
    query?: SpotOrderQuery,
    options?: CallOptions,
  ): Promise<ReadOutcome<RecordList<SpotOrderRecord>>>;
}

/** What the daemon holds: reads, and the two tools that cannot make things worse. */
export interface GuardedExchange extends ExchangeReads {
  cancelAll(request: CancelAllRequest, options?: CallOptions): Promise<CommandOutcome<null>>;
  reduceOnlyStop(request: ReduceOnlyStopRequest, options?: CallOptions): Promise<CommandOutcome<PlacedOrder>>;
}

/** Apart from `GuardedExchange`, which has the reads and the two tools and nothing else. */
export interface CallPrefetch {
  /** A protective call of this kind follows in a moment: nonce and permit are fetched ahead. Sends nothing. */
  prefetch(call: 'openPositions' | 'cancelAll' | 'reduceOnlyStop'): void;
}

/** Any order of specification 4.4: it can open or grow a position. Never in the hands of the daemon. */
export interface StopLimitRequest
  extends Omit<ReduceOnlyStopRequest, 'clientOrderId' | 'positionSide' | 'inFavour'>,
    Partial<Pick<ReduceOnlyStopRequest, 'clientOrderId' | 'positionSide'>> {
  readonly stopLoss?: DecimalString;
  readonly takeProfit?: DecimalString;
  readonly reduceOnly?: boolean;
}

/** Who pays in, for USD and EUR with the card provider (specification 4.1). Personal data: never logged. */
export interface DepositCustomer {
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  /** YYYY-MM-DD. */
  readonly birthDate: string;
  readonly address: {
    readonly line1: string;
    readonly line2?: string;
    readonly city: string;
    readonly zipCode: string;
    readonly countryCode: string;
  };
}

export interface FiatDepositRequest {
  readonly ticker: string;
  readonly provider: string;
  readonly amount: DecimalString;
  /** Never repeated. */
  readonly uniqueId: string;
  readonly customer?: DepositCustomer;
  /** Addresses to come back to: https, of domains that the exchange's support has allowed. */
  readonly successLink?: string;
  readonly failureLink?: string;
  /** Where the back option of the result page leads: any web address. */
  readonly returnLink?: string;
}

/**
 * Where a person pays in: personal, for one use. With the card provider it needs a page that sends a Referer header.
 */
export interface FiatDepositLink {
  readonly url: string;
}

export interface FiatDeposit {
  /** `unknown` means that the unique id may be spent: take a new one. */
  link(request: FiatDepositRequest, options?: CallOptions): Promise<CommandOutcome<FiatDepositLink>>;
}

/** Every endpoint of specification 4, for an operator's own hands. */
export interface FullExchange extends GuardedExchange, CallPrefetch {
  stopLimit(request: StopLimitRequest, options?: CallOptions): Promise<CommandOutcome<PlacedOrder>>;
  /** Specification 4.7: true for long and short positions at once, false for one-way mode. */
  setHedgeMode(hedgeMode: boolean, options?: CallOptions): Promise<CommandOutcome<null>>;
  fiatDepositLink(
    request: FiatDepositRequest,
    options?: CallOptions,
  ): Promise<CommandOutcome<FiatDepositLink>>;
}
