import { createHash, randomUUID } from 'node:crypto';
import type { Clock, Random, Timers } from '../core/ports/clock.ts';
import type { FullExchange } from '../core/ports/exchange.ts';
import { foreignWords } from '../core/redaction/foreign-words.ts';
import { BaseUrls } from './call/base-urls.ts';
import type { ScopeTime } from './call/call-scope.ts';
import { Caller, type RetrySettings } from './call/caller.ts';
import { SHOWN_OF_ERRORS } from './call/errors.ts';
import { type ExchangeObserver, safely } from './call/observer.ts';
import { signingKey } from './call/signer.ts';
import { type Connections, createTransport } from './call/transport.ts';
import { createOperations } from './endpoint-operations.ts';
import { isWebAddress } from './endpoints.ts';
import { Limiter, type LimiterSettings } from './limits/limiter.ts';
import { overrideLimits, type RateLimit } from './limits/rate-limit-table.ts';
import { Slots, withReserve } from './limits/slots.ts';
import { createNonceSource, type NonceSettings } from './nonce/nonce-modes.ts';
import type { Dialect } from './requests.ts';
import { systemClock, systemTimers } from './system-clock.ts';

export interface ExchangeClientOptions {
  /** Addresses of the exchange, in order of preference, e.g. `https://exchange.example`. */
  readonly baseUrls: readonly string[];
  readonly credentials: { readonly apiKey: string; readonly apiSecret: string };
  /** Defaults: start 0, ordinal 0 of 10, a lease of 3000 ms, a random owner. */
  readonly nonce: Pick<NonceSettings, 'mode' | 'store'> &
    Partial<Pick<NonceSettings, 'start' | 'ordinal' | 'ordinals' | 'leaseMs' | 'owner'>>;
  /** Defaults: egress `default`, of which 0.1 is reserved. */
  readonly limiter: Pick<LimiterSettings, 'store' | 'fallback'> &
    Partial<Pick<LimiterSettings, 'egress' | 'reservedShare'>> & {
      /** Changes to the table of limits, by name. */
      readonly limits?: Readonly<Record<string, Partial<RateLimit>>>;
    };
  /** Program version, sent as `User-Agent: breakwater/<version>`. */
  readonly version?: string;
  /** Spelling of request fields; default `spec`. */
  readonly dialect?: Dialect;
  readonly timeouts?: {
    /** One request and its reply, ms; default 5000. */
    readonly attemptMs?: number;
    /** A call, waiting and retries included, ms; default 15000. */
    readonly callMs?: number;
    /** One request to a shared store, ms; default 250. */
    readonly storeMs?: number;
  };
  readonly retry?: Partial<RetrySettings>;
  readonly pool?: {
    /** Most requests in flight, each on its own connection; default 128. A tenth more is for protective ones. */
    readonly connections?: number;
    /** Longest reply accepted, in bytes; an endpoint's lower bound takes precedence. Default 16 MiB. */
    readonly maxReplyBytes?: number;
  };
  /** `http://[user:password@]host:port`. */
  readonly proxy?: string;
  /** PEM certificates trusted instead of the system's. */
  readonly ca?: string | readonly string[];
  /** Providers whose USD and EUR deposits need customer data. */
  readonly cardProviders?: readonly string[];
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
  readonly observer?: ExchangeObserver;
  /** Shared with other clients that have the same `limiter` options, so that permits for all come in one block. */
  readonly sharedLimiter?: Limiter;
  /** Shared with other clients; default: own connections. */
  readonly sharedConnections?: Connections;
}

/** Creates one limiter for all clients of a process behind one IP address. */
export function createSharedLimiter(
  options: Pick<ExchangeClientOptions, 'limiter' | 'timeouts' | 'clock' | 'timers' | 'observer'>,
): Limiter {
  return createLimiter(options, timeOf(options), options.observer ?? {});
}

export interface ExchangeClient extends FullExchange {
  /** Refuses new calls, lets those in flight end and closes connections, but not the stores. May be called again. */
  close(): Promise<void>;
}

/** Invalid options. The message names the option and its rule, never a secret. */
export class ExchangeOptionsError extends Error {
  readonly code = 'EXCHANGE_OPTIONS';
}

/**
 * Creates a client of the V4 API (specification 4) for one account. Expected failures are returned, not thrown. The
 * credentials live in closures and a key object, so the client object does not reveal them.
 * @throws ExchangeOptionsError
 */
export function createExchangeClient(options: ExchangeClientOptions): ExchangeClient {
  checkOptions(options);
  const { credentials, random = Math.random, observer = {}, timeouts = {}, pool = {} } = options;
  const { connections = 128, maxReplyBytes = 16 * 1024 * 1024 } = pool;
  const time = timeOf(options);
  const redact = foreignWords([credentials.apiKey, credentials.apiSecret], SHOWN_OF_ERRORS);
  const nonces = createNonces(options, time, observer);
  const transport = createTransport(
    {
      baseUrls: options.baseUrls,
      // Shared connections are unbounded here: the slots of all clients bound them.
      ...(options.sharedConnections === undefined ? { connections: withReserve(connections) } : {}),
      maxReplyBytes,
      proxy: options.proxy,
      ca: options.ca,
    },
    time.clock,
    options.sharedConnections,
  );
  const caller = new Caller({
    apiKey: credentials.apiKey,
    userAgent: options.version === undefined ? 'breakwater' : `breakwater/${options.version}`,
    signingKey: signingKey(credentials.apiSecret),
    transport,
    baseUrls: new BaseUrls(options.baseUrls.length, time.clock, random),
    limiter: options.sharedLimiter ?? createLimiter(options, time, observer),
    nonces,
    slots: new Slots(connections),
    ...time,
    random,
    attemptTimeoutMs: timeouts.attemptMs ?? 5000,
    callTimeoutMs: timeouts.callMs ?? 15_000,
    retry: { maxAttempts: 5, firstBackoffMs: 100, maxBackoffMs: 5000, ...options.retry },
    observer,
    redact,
  });
  const { dialect = 'spec', cardProviders = [] } = options;
  let closing: Promise<void> | undefined;
  const end = async () => {
    caller.close();
    await transport.close();
    nonces.close();
  };
  return Object.freeze({
    ...createOperations(caller, { dialect, cardProviders, redact }),
    close: () => (closing ??= end()),
  });
}

function timeOf({
  clock = systemClock,
  timers = systemTimers,
}: Pick<ExchangeClientOptions, 'clock' | 'timers'>): ScopeTime {
  return { clock, timers };
}

function createNonces(options: ExchangeClientOptions, time: ScopeTime, observer: ExchangeObserver) {
  const { nonce, credentials, timeouts } = options;
  return createNonceSource(time, {
    start: 0,
    ordinal: 0,
    ordinals: 10,
    leaseMs: 3000,
    ...nonce,
    random: options.random ?? Math.random,
    owner: nonce.owner ?? randomUUID(),
    key: createHash('sha256').update(credentials.apiKey).digest('hex').slice(0, 32),
    storeTimeoutMs: timeouts?.storeMs ?? 250,
    onStoreChange: (available) => safely(() => observer.onStore?.({ store: 'nonce', available })),
  });
}

function createLimiter(
  options: Pick<ExchangeClientOptions, 'limiter' | 'timeouts'>,
  time: ScopeTime,
  observer: ExchangeObserver,
): Limiter {
  const { limiter, timeouts } = options;
  return new Limiter(time, {
    egress: 'default',
    reservedShare: 0.1,
    ...limiter,
    table: overrideLimits(limiter.limits),
    storeTimeoutMs: timeouts?.storeMs ?? 250,
    onStoreChange: (available) => safely(() => observer.onStore?.({ store: 'limiter', available })),
  });
}

function checkOptions(options: ExchangeClientOptions): void {
  const { baseUrls, credentials } = options;
  const fail = (text: string): never => {
    throw new ExchangeOptionsError(text);
  };
  if (baseUrls.length === 0) fail('baseUrls: name at least one address');
  baseUrls.forEach((url, index) => {
    if (!isWebAddress(url))
      fail(`baseUrls[${index}]: must be an http or https address without user or query`);
  });
  if (!HEADER_TEXT.test(credentials.apiKey)) fail('credentials.apiKey: must be visible ASCII characters');
  if (credentials.apiSecret.length === 0) fail('credentials.apiSecret: must not be empty');
  if (options.proxy !== undefined && !isProxyAddress(options.proxy)) {
    fail('proxy: must be an http or https address, [user:password@]host:port');
  }
  checkNumbers(options, fail);
}

/** Rejects numbers with which calls would hang, end at once or never be sent. */
function checkNumbers(options: ExchangeClientOptions, fail: (text: string) => never): void {
  const { nonce, limiter, retry = {} } = options;
  const { ordinal = 0, ordinals = 10, start = 0, leaseMs = 1 } = nonce;
  if (!Number.isInteger(ordinals) || ordinals < 1 || ordinals > 50) fail('nonce.ordinals: must be 1 to 50');
  if (!Number.isInteger(ordinal) || ordinal < 0 || ordinal >= ordinals) {
    fail(`nonce.ordinal: must be a whole number from 0 to ${ordinals - 1}`);
  }
  if (!(start >= 0 && start < Infinity)) fail('nonce.start: must be a number of at least 0');
  if (!(Number.isInteger(leaseMs) && leaseMs > 0)) {
    fail('nonce.leaseMs: must be whole milliseconds greater than zero');
  }
  const { reservedShare = 0 } = limiter;
  if (!(reservedShare >= 0 && reservedShare < 1))
    fail('limiter.reservedShare: must be at least 0 and below 1');
  for (const [name, ms] of Object.entries(options.timeouts ?? {})) {
    if (ms !== undefined && !(ms > 0)) fail(`timeouts.${name}: must be milliseconds greater than zero`);
  }
  const { connections = 1, maxReplyBytes = 1 } = options.pool ?? {};
  if (!(Number.isInteger(connections) && connections > 0)) {
    fail('pool.connections: must be a whole number greater than zero');
  }
  if (!(maxReplyBytes > 0)) fail('pool.maxReplyBytes: must be greater than zero');
  const { maxAttempts = 1, firstBackoffMs = 0, maxBackoffMs = 0 } = retry;
  if (!(maxAttempts >= 1)) fail('retry.maxAttempts: must be at least 1');
  for (const [name, ms] of Object.entries({ firstBackoffMs, maxBackoffMs })) {
    if (!(ms >= 0)) fail(`retry.${name}: must be milliseconds, at least 0`);
  }
}

const HEADER_TEXT = /^[\x21-\x7e]+$/;

const isProxyAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
