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
import { createExchangeClient, type ExchangeClientOptions } from '../exchange/client.ts';
import { systemClock } from '../exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../state/nonce/nonce-memory.ts';

/** `breakwater/client`. Every name here is public API: changes follow Semantic Versioning. */

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

type Kept =
  | 'baseUrls'
  | 'ca'
  | 'cardProviders'
  | 'credentials'
  | 'dialect'
  | 'observer'
  | 'pool'
  | 'proxy'
  | 'retry'
  | 'timeouts';

export interface ClientOptions extends Pick<ExchangeClientOptions, Kept> {
  /**
   * `unique` (default): every nonce is new. `increasing`: each one is also larger than all before, so only one request
   * of a key is under way at a time. `window`: near the exchange's time, as `nonceWindow` requires.
   */
  readonly nonce?: 'unique' | 'increasing' | 'window';
  /** Shared by all users of the key; default: the memory of this process, for all its clients. */
  readonly nonceStore?: NonceStore;
  /** Shared by everything behind one IP address; default: the memory of this process, for all its clients. */
  readonly limitStore?: RateLimitStore;
  /** Changes to the table of limits, by name: `{ order: { limit: 500 } }`. */
  readonly limits?: NonNullable<ExchangeClientOptions['limiter']['limits']>;
  /** The part of each limit, from 0 to below 1, that only calls of priority `protective` may use; default 0. */
  readonly reservedShare?: number;
}

/** A request as a caller writes it: amounts and prices are plain texts, which are checked before anything is sent. */
export type AsText<Request> = {
  readonly [Name in keyof Request]: Request[Name] extends DecimalString | undefined ? string : Request[Name];
};

/** All endpoints of the V4 API, for one account. Failures of the exchange or the network are returned, not thrown. */
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

/** Shared by the whole process: no client takes a nonce, or a place in a limit, that another client has taken. */
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

/** One budget per exchange: the order and the paths of its addresses do not matter. */
function egressTo(baseUrls: readonly string[]): string {
  const origins = baseUrls.map((url) => (URL.canParse(url) ? new URL(url).origin : url));
  return [...new Set(origins)].sort().join(' ');
}
