import { readVersion } from '../app/read-version.ts';
import type {
  CallOptions,
  CommandOutcome,
  FiatDepositLink,
  FiatDepositRequest,
  FullExchange,
  PlacedOrder,
  ReduceOnlyStopRequest,
  StopLimitRequest,
} from '../core/ports/exchange.ts';
import type { NonceStore } from '../core/ports/nonce-store.ts';
import type { RateLimitStore } from '../core/ports/rate-limit-store.ts';
import type { DecimalString } from '../core/quantities/decimal.ts';
import type { ExchangeObserver } from '../exchange/call/observer.ts';
import { createExchangeClient } from '../exchange/client.ts';
import { systemClock } from '../exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../state/nonce/nonce-memory.ts';

/** `breakwater/client`. Others build on every name here: what changes follows the rules of Semantic Versioning. */

export type {
  CallOptions,
  CallPriority,
  CancelAllRequest,
  CommandOutcome,
  CreditLineRecord,
  DepositCustomer,
  Enumerated,
  ExchangeError,
  FiatDepositLink,
  FiatDepositRequest,
  LiquidationState,
  MainBalance,
  OpeningPosition,
  OrderSide,
  OrderStatus,
  OrderType,
  PlacedOrder,
  PositionList,
  PositionRecord,
  PositionSide,
  PositionTpsl,
  PossibleEffect,
  ReadOutcome,
  RecordList,
  ReduceOnlyStopRequest,
  ReplyTiming,
  SetAsideRecord,
  SpotOrderQuery,
  SpotOrderRecord,
  StopLimitRequest,
  TransferMethod,
  TransferPartial,
  TransferQuery,
  TransferRecord,
} from '../core/ports/exchange.ts';
export type { NonceStore } from '../core/ports/nonce-store.ts';
export type { RateLimitStore } from '../core/ports/rate-limit-store.ts';
export type { DecimalString } from '../core/quantities/decimal.ts';
export type { CallEvent, DriftEvent, ExchangeObserver, PathFailure } from '../exchange/call/observer.ts';

export interface ClientOptions {
  /** Addresses of the exchange, the preferred one first: the next one is used where it does not answer. */
  readonly baseUrls: readonly string[];
  readonly credentials: { readonly apiKey: string; readonly apiSecret: string };
  /**
   * `unique` (default): every nonce is new. `increasing`: and larger than all before, so that one request of a key is
   * under way at a time. `window`: near the exchange's time, as `nonceWindow` asks.
   */
  readonly nonce?: 'unique' | 'increasing' | 'window';
  /** Shared by all that use the key; default: the memory of this process, for all its clients. */
  readonly nonceStore?: NonceStore;
  /** Shared by all behind one IP address; default: the memory of this process, for all its clients. */
  readonly limitStore?: RateLimitStore;
  /** Changes to the table of limits, by name: `{ order: { limit: 500 } }`. */
  readonly limits?: Readonly<
    Record<
      string,
      { readonly limit?: number; readonly periodMs?: number; readonly paths?: readonly string[] }
    >
  >;
  /** The part of each limit, from 0 to below 1, that only calls of priority `protective` may use; default 0. */
  readonly reservedShare?: number;
  /** Spelling of request fields: of the specification (default), or camelCase as the live service takes it. */
  readonly dialect?: 'spec' | 'camel';
  readonly timeouts?: {
    /** One request and its reply; default 5000. */
    readonly attemptMs?: number;
    /** A call with waiting and repeating; default 15000. */
    readonly callMs?: number;
    /** A shared store; default 250. */
    readonly storeMs?: number;
  };
  readonly retry?: {
    /** Requests of one call at most; default 5. */
    readonly maxAttempts?: number;
    /** Wait before the first repetition; it doubles. Default 100. */
    readonly firstBackoffMs?: number;
    /** Longest wait between two; default 5000. */
    readonly maxBackoffMs?: number;
  };
  readonly pool?: {
    /** Most requests in flight, each on a connection of its own; default 128. */
    readonly connections?: number;
    /** Longest reply accepted; default 16 MiB. */
    readonly maxReplyBytes?: number;
  };
  /** `http://[user:password@]host:port`. */
  readonly proxy?: string;
  /** PEM certificates trusted instead of the system's. */
  readonly ca?: string | readonly string[];
  /** Providers with which USD and EUR deposits need customer data. */
  readonly cardProviders?: readonly string[];
  /** Hears of every call, without secrets or personal data: for metrics and logs. */
  readonly observer?: ExchangeObserver;
}

/** A request as a caller writes it: amounts and prices are plain texts, checked before anything is sent. */
export type AsText<Request> = {
  readonly [Name in keyof Request]: Request[Name] extends DecimalString | undefined ? string : Request[Name];
};

/** All endpoints of the V4 API, for one account. No method throws for what the exchange or the network does. */
export interface Client
  extends Omit<FullExchange, 'fiatDepositLink' | 'prefetch' | 'reduceOnlyStop' | 'stopLimit'> {
  /** Can reduce or close a position, never open or grow one. */
  reduceOnlyStop(
    request: AsText<ReduceOnlyStopRequest>,
    options?: CallOptions,
  ): Promise<CommandOutcome<PlacedOrder>>;
  /** Any stop-limit order: it can open or grow a position. */
  stopLimit(request: AsText<StopLimitRequest>, options?: CallOptions): Promise<CommandOutcome<PlacedOrder>>;
  fiatDepositLink(
    request: AsText<FiatDepositRequest>,
    options?: CallOptions,
  ): Promise<CommandOutcome<FiatDepositLink>>;
  /** Refuses new calls, lets those in flight end, and closes connections. May be called again. */
  close(): Promise<void>;
}

/** Of the whole process: no client takes a nonce, or a place in a limit, that another one has taken. */
const processNonces = createMemoryNonceStore(systemClock);
const processLimits = createMemoryRateLimitStore(systemClock);

/**
 * A client for one account. Nothing is sent before the first call.
 * @throws an Error with code `EXCHANGE_OPTIONS` for options that cannot work; it never names a secret
 */
export function createClient(options: ClientOptions): Client {
  const { nonce = 'unique', nonceStore, limitStore, limits, reservedShare = 0, ...others } = options;
  return createExchangeClient({
    ...others,
    version: readVersion(),
    nonce: { mode: nonce, store: nonceStore ?? processNonces },
    limiter: {
      store: limitStore ?? processLimits,
      fallback: processLimits,
      egress: egressTo(others.baseUrls),
      reservedShare,
      ...(limits === undefined ? {} : { limits }),
    },
  });
}

/** One budget for each exchange: its addresses in any order, with any path. */
function egressTo(baseUrls: readonly string[]): string {
  const origins = baseUrls.map((url) => (URL.canParse(url) ? new URL(url).origin : url));
  return [...new Set(origins)].sort().join(' ');
}
