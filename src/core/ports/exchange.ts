import { z } from 'zod';
import type { DecimalString } from '../quantities/decimal.ts';
import { decimal, named, type OutputOf } from '../schema/parts.ts';
import type { Enumerated } from './exchange-fields.ts';
import type {
  creditLineReader,
  placedOrderReader,
  positionReader,
  spotOrderReader,
  transferReader,
} from './exchange-records.ts';

/** Validated records, and outcomes instead of exceptions; plain JSON, so that they can be stored, replayed and audited. */

export type { Enumerated };

export type OrderSide = 'buy' | 'sell';
export type PositionSide = 'LONG' | 'SHORT' | 'BOTH';
export type LiquidationState = 'margin_call' | 'liquidation';
export type OrderType = 'spot' | 'margin' | 'futures';
/** The exchange spells it `CANCELED` or `CANCELLED`; both are read as `CANCELLED`. */
export type OrderStatus = 'NEW' | 'PARTIALLY_FILLED' | 'FILLED' | 'CANCELLED';
export type TransferMethod = 'deposit' | 'withdrawal';

/** A position as the exchange sent it. */
export interface PositionRecord extends OutputOf<typeof positionReader> {
  /** It has no `positionSide`, and its market may have another position. Absent: false. */
  readonly sideDoubtful?: true;
}

export type CreditLineRecord = OutputOf<typeof creditLineReader>;
export type TransferRecord = OutputOf<typeof transferReader>;

export type PositionTpsl = NonNullable<PositionRecord['tpsl']>;
export type TransferPartial = NonNullable<TransferRecord['partial']>;

export interface SpotOrderRecord extends OutputOf<typeof spotOrderReader> {
  readonly market: string;
}

/** Specification 2.6: available balance per asset; an absent asset has zero. `null`: could not be read. */
export type MainBalance = Readonly<Record<string, DecimalString | null>>;

/** A list record that failed validation: where and why, never its values. */
export interface SetAsideRecord {
  /** Path of its first fault in the reply, e.g. `[3].amount`. */
  readonly path: string;
  readonly expected: string;
  readonly got: string;
  /** Number of further faults; absent: none. */
  readonly furtherFaults?: number;
}

/** The valid records of a reply. `complete: false`: a missing record proves nothing. */
export interface RecordList<T> {
  readonly records: readonly T[];
  /** One entry for each record set aside, up to twenty. */
  readonly setAside: readonly SetAsideRecord[];
  /** Number of records set aside beyond those in `setAside`; absent: none. */
  readonly furtherSetAside?: number;
  readonly complete: boolean;
  /** Why a history ends early: `limit`: more exist than were requested; `period`: the exchange shows none older. */
  readonly cut?: 'limit' | 'period';
}

/** A position that an order is about to open; the live service lists it with nulls. */
export interface OpeningPosition {
  readonly positionId: string;
  readonly market: string;
}

export interface PositionList extends RecordList<PositionRecord> {
  /** Listed without an amount yet: neither a record nor a fault, and no proof that a position of this id closed. */
  readonly notOpenYet?: readonly OpeningPosition[];
  /** Last prices of its markets, as far as they are shown, from a request sent `sentBeforeMs` before the list's. */
  readonly lastPrices?: { readonly sentBeforeMs: number; readonly prices: LastPrices };
}

/** The last price of each market, from public data that the specification does not have: never relied upon. */
export type LastPrices = Readonly<Record<string, DecimalString>>;

export type PlacedOrderReply = OutputOf<typeof placedOrderReader>;

/** An order as confirmed by the exchange. */
export interface PlacedOrder
  extends Pick<PlacedOrderReply, 'orderId' | 'market' | 'amount'>,
    Readonly<PlacedOrderReply['optional']> {
  readonly clientOrderId: string;
  /** False if the reply did not repeat the client order id: contract drift. */
  readonly clientOrderIdEchoed: boolean;
  readonly side: OrderSide;
  /** By what is left and dealt; as labelled only in a reply without these numbers. */
  readonly status: Enumerated<OrderStatus>;
  /** The requested amount, if the exchange accepted another one (specification 4.4, rule 2). */
  readonly adjustedFrom?: DecimalString;
}

/** Whether the request may have changed anything at the exchange. */
export type PossibleEffect = 'none' | 'possible';

/** `name` is a stable key of the client's error catalogue; `message` contains no secrets or personal data. */
export interface ExchangeError {
  readonly name: string;
  readonly endpoint: string;
  readonly message: string;
  readonly effect: PossibleEffect;
  readonly httpStatus?: number;
  readonly code?: number;
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  /** From errors of public endpoints (specification 7). */
  readonly params?: readonly string[];
  readonly retryAfterMs?: number;
  /** The body is no JSON: a gateway answered, not the exchange, so it says nothing about key or account. */
  readonly gateway?: true;
}

export interface ReplyTiming {
  /** Monotonic time at which the last attempt was sent; the reply cannot be older. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** From the HTTP Date header, Unix milliseconds (whole seconds); absent if the header was. */
  readonly serverDateMs?: number;
  readonly attempts: number;
}

export type ReadOutcome<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly timing: ReplyTiming }
  | { readonly kind: 'failed'; readonly error: ExchangeError; readonly attempts: number };

/** Outcome of a request that changes something, sent once. `unknown`: only a later read can tell. */
export type CommandOutcome<T> =
  | { readonly kind: 'accepted'; readonly value: T; readonly timing: ReplyTiming }
  | { readonly kind: 'rejected'; readonly error: ExchangeError }
  | { readonly kind: 'unknown'; readonly error: ExchangeError };

/**
 * `protective`: may use the reserved budget and goes ahead of reads. `watching`: reads what may be past a threshold;
 * continues slowly while a gateway blocks polls.
 */
export type CallPriority = 'normal' | 'watching' | 'protective';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Limit of the whole call, including waiting and retries. */
  readonly timeoutMs?: number;
  readonly priority?: CallPriority;
  /**
   * Checked right before each attempt is sent: false ends the call without effect, for rights that may be lost while it
   * waits. `timeoutMs`: how long the request may take from now.
   */
  readonly mayLeave?: (timeoutMs: number) => boolean;
  /** Timeout of each request, if shorter than the usual one; waiting does not count. */
  readonly answerWithinMs?: number;
}

export interface TransferQuery {
  readonly method?: TransferMethod;
  readonly ticker?: string;
  readonly addresses?: readonly string[];
  readonly uniqueId?: string;
  /** Codes of one method; only together with `method` (specification 4.2). */
  readonly status?: readonly number[];
  /** Stop paging at the first record older than this, Unix seconds (records come newest first). */
  readonly since?: number;
  /** Maximum number of records; the list is incomplete if more exist. */
  readonly maxRecords?: number;
}

export interface SpotOrderQuery {
  readonly market?: string;
  readonly since?: number;
  readonly maxRecords?: number;
}

export const cancelRequestSchema = named('CancelAllRequest', () => ({
  market: z.string().exactOptional().describe('Absent: all markets.'),
  types: z
    .array(z.enum(['spot', 'margin', 'futures']))
    .exactOptional()
    .describe('Absent: all.'),
}));
export type CancelAllRequest = OutputOf<typeof cancelRequestSchema>;

/** The only order the daemon can send: it can reduce or close a position, never open or grow one. */
export const stopRequestSchema = named('StopRequest', () => ({
  market: z.string(),
  side: z.enum(['buy', 'sell']),
  amount: decimal(),
  price: decimal(),
  activationPrice: decimal(),
  clientOrderId: z.string(),
  positionSide: z.enum(['LONG', 'SHORT', 'BOTH']),
  /** Never sent: the exchange infers it from the side of the market on which the activation lies. */
  inFavour: z
    .literal(true)
    .exactOptional()
    .describe("Activates when the market moves in the position's favour."),
}));
export type ReduceOnlyStopRequest = OutputOf<typeof stopRequestSchema>;

export interface ExchangeReads {
  ping(options?: CallOptions): Promise<ReadOutcome<true>>;
  openPositions(
    query?: { readonly market?: string },
    options?: CallOptions,
  ): Promise<ReadOutcome<PositionList>>;
  /** Every open credit line; complete and empty for an account without one. */
  creditLines(options?: CallOptions): Promise<ReadOutcome<RecordList<CreditLineRecord>>>;
  mainBalance(options?: CallOptions): Promise<ReadOutcome<MainBalance>>;
  transfers(query?: TransferQuery, options?: CallOptions): Promise<ReadOutcome<RecordList<TransferRecord>>>;
  spotOrders(
    query?: SpotOrderQuery,
    options?: CallOptions,
  ): Promise<ReadOutcome<RecordList<SpotOrderRecord>>>;
}

/** The exchange as the daemon sees it: reads, and the two commands that cannot make things worse. */
export interface GuardedExchange extends ExchangeReads {
  cancelAll(request: CancelAllRequest, options?: CallOptions): Promise<CommandOutcome<null>>;
  reduceOnlyStop(request: ReduceOnlyStopRequest, options?: CallOptions): Promise<CommandOutcome<PlacedOrder>>;
}

/** Separate from `GuardedExchange`, which has the reads and the two commands only. */
export interface CallPrefetch {
  /** Fetches nonce and permit ahead for a protective call that follows soon. Sends nothing. */
  prefetch(call: 'openPositions' | 'cancelAll' | 'reduceOnlyStop'): void;
}

/** Any order of specification 4.4; it can open or grow a position. Never available to the daemon. */
export interface StopLimitRequest
  extends Omit<ReduceOnlyStopRequest, 'clientOrderId' | 'positionSide' | 'inFavour'>,
    Partial<Pick<ReduceOnlyStopRequest, 'clientOrderId' | 'positionSide'>> {
  readonly stopLoss?: DecimalString;
  readonly takeProfit?: DecimalString;
  readonly reduceOnly?: boolean;
}

/** The payer, for USD and EUR with the card provider (specification 4.1). Personal data: never logged. */
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
  /** Return addresses: https, on domains allowed by the exchange's support. */
  readonly successLink?: string;
  readonly failureLink?: string;
  /** Target of the back link on the result page: any web address. */
  readonly returnLink?: string;
}

/** A personal, single-use payment link. With the card provider the page that opens it must send a Referer header. */
export interface FiatDepositLink {
  readonly url: string;
}

export interface FiatDeposit {
  /** `unknown`: the unique id may be spent; use a new one. */
  link(request: FiatDepositRequest, options?: CallOptions): Promise<CommandOutcome<FiatDepositLink>>;
}

/** Every endpoint of specification 4, for operators. */
export interface FullExchange extends GuardedExchange, CallPrefetch {
  /** Public data without a key; the reply may be a second old. */
  lastPrices(options?: CallOptions): Promise<ReadOutcome<LastPrices>>;
  stopLimit(request: StopLimitRequest, options?: CallOptions): Promise<CommandOutcome<PlacedOrder>>;
  /** Specification 4.7: true allows long and short positions at once, false is one-way mode. */
  setHedgeMode(hedgeMode: boolean, options?: CallOptions): Promise<CommandOutcome<null>>;
  fiatDepositLink(
    request: FiatDepositRequest,
    options?: CallOptions,
  ): Promise<CommandOutcome<FiatDepositLink>>;
}
