import { readFileSync } from 'node:fs';
import type { Daemon, DaemonOptions } from './app/daemon.ts';
import type { Demo, DemoOptions } from './app/demo/demo.ts';
import type { CheckReport } from './config/check-report.ts';
import type { FullExchange } from './core/ports/exchange.ts';
import type { ExchangeClientOptions } from './exchange/client.ts';
import type { ExchangeObserver } from './exchange/observer.ts';
import type * as requests from './exchange/requests.ts';
import type { RunningSimulator, SimulatorOptions } from './simulator/start.ts';

/**
 * The composition root: the only place where parts meet. What a command line or a web page needs
 * is composed here from the layers below and handed out as one object; no layer imports another.
 * Compose inside functions and import heavy parts there (`await import(...)`), so that a command
 * loads only what it runs.
 */

export type { Daemon, DaemonOptions, Role } from './app/daemon.ts';
export type { DemoCharacter } from './app/demo/accounts.ts';
export type { Demo, DemoAccount, DemoOptions } from './app/demo/demo.ts';
export type { AccountResult, DemoResult } from './app/demo/result.ts';
export type { CheckReport } from './config/check-report.ts';
export { suggest } from './config/suggest.ts';
export { ENDPOINTS } from './exchange/endpoints.ts';
export type { ExchangeObserver } from './exchange/observer.ts';
export type { Prepared } from './exchange/requests.ts';
export type { RunningSimulator, SimulatorOptions } from './simulator/start.ts';

/** Starts the simulated exchange. @throws an error with a `code` and a message that says what to change. */
export async function simulate(options: SimulatorOptions): Promise<RunningSimulator> {
  const { startSimulatedExchange } = await import('./simulator/start.ts');
  return await startSimulatedExchange(options);
}

/** What `breakwater simulate --help` lists: names and one line each. */
export async function simulatorVocabulary(): Promise<{
  readonly scenarios: Readonly<Record<string, string>>;
  readonly faults: Readonly<Record<string, string>>;
  readonly readings: Readonly<Record<string, string>>;
}> {
  const { vocabulary } = await import('./simulator/vocabulary.ts');
  return vocabulary();
}

/**
 * The daemon on a simulated exchange with a Redis of its own; exchange time stands still until it begins.
 * @throws errors with a `code` and a message that says what to change.
 */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  const { openDemo } = await import('./app/demo/demo.ts');
  return await openDemo(options);
}

/**
 * Starts the daemon, or the part of it that the roles name.
 * @throws errors with code `config-refused` or `redis-unusable` and a message that says what to change.
 */
export async function runDaemon(options: DaemonOptions): Promise<Daemon> {
  const { startDaemon } = await import('./app/daemon.ts');
  return await startDaemon(options);
}

/** Everything that is wrong or dangerous in a config file, and its rules in words. */
export async function checkConfigFile(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CheckReport> {
  const [{ reportCheck }, { nodeSurroundings }] = await Promise.all([
    import('./config/check-report.ts'),
    import('./config/node-files.ts'),
  ]);
  return reportCheck(file, nodeSurroundings(env));
}

/** The bodies of requests as the client will send them, or what is wrong with them; nothing is sent. */
export type ExchangeRequests = typeof requests;

export async function exchangeRequests(): Promise<ExchangeRequests> {
  return await import('./exchange/requests.ts');
}

export interface ExchangeConnectionOptions {
  /** The preferred address first. */
  readonly baseUrls: readonly string[];
  /** Absent for what needs none: the public ping. */
  readonly credentials?: ExchangeClientOptions['credentials'];
  readonly nonceMode: ExchangeClientOptions['nonce']['mode'];
  readonly dialect: NonNullable<ExchangeClientOptions['dialect']>;
  /** Milliseconds; see ExchangeClientOptions. */
  readonly timeouts: { readonly attemptMs: number; readonly callMs: number };
  /** Nonces and request budgets shared with the other processes that use this Redis and prefix; else in memory. */
  readonly shared?: { readonly redisUrl: string; readonly prefix: string };
  readonly observer?: ExchangeObserver;
}

export interface ExchangeConnection {
  readonly exchange: FullExchange;
  close(): Promise<void>;
}

/**
 * Nonces of a single call end on these digits, those of daemons on smaller ones: they never meet, shared or
 * not. Only in `window` mode, where nonces are plain milliseconds, it takes the shared store to keep them apart.
 */
const SINGLE_CALLS = { ordinal: 99, ordinals: 100 };

/**
 * A client of the exchange for single calls by a person, with everything it can do.
 * @throws ExchangeOptionsError (code EXCHANGE_OPTIONS), or an error with code `redis-unreachable`.
 */
export async function connectExchange(options: ExchangeConnectionOptions): Promise<ExchangeConnection> {
  const { createExchangeClient } = await import('./exchange/client.ts');
  const stores = await connectStores(options.shared);
  try {
    const client = createExchangeClient({
      baseUrls: options.baseUrls,
      credentials: options.credentials ?? { apiKey: 'none', apiSecret: 'none' },
      nonce: { mode: options.nonceMode, store: stores.nonces, ...SINGLE_CALLS },
      limiter: { store: stores.limits, fallback: stores.fallback },
      dialect: options.dialect,
      timeouts: options.timeouts,
      ...(options.observer === undefined ? {} : { observer: options.observer }),
    });
    const close = async () => {
      await client.close();
      await stores.close();
    };
    return { exchange: client, close };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

async function connectStores(shared: ExchangeConnectionOptions['shared']) {
  const { systemClock } = await import('./exchange/system-clock.ts');
  const { createMemoryRateLimitStore } = await import('./state/limiter-memory.ts');
  const fallback = createMemoryRateLimitStore(systemClock);
  if (shared === undefined) {
    const { createMemoryNonceStore } = await import('./state/nonce-memory.ts');
    return {
      nonces: createMemoryNonceStore(systemClock),
      limits: fallback,
      fallback,
      close: async () => {},
    };
  }
  const { createRedisNonceStore } = await import('./state/nonce-redis.ts');
  const { createRedisRateLimitStore } = await import('./state/limiter-redis.ts');
  const redis = await connectRedis(shared.redisUrl);
  const nonces = createRedisNonceStore({ redis, prefix: shared.prefix });
  const limits = createRedisRateLimitStore({ redis, prefix: shared.prefix });
  const close = async () => {
    await nonces.close();
    redis.disconnect();
  };
  return { nonces, limits, fallback, close };
}

/** One attempt: a person waits, and a store that was asked for is not silently gone without. */
async function connectRedis(url: string) {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    connectTimeout: 3000,
    retryStrategy: () => null,
  });
  let reason = '';
  redis.on('error', (error: NodeJS.ErrnoException) => {
    reason = error.code ?? error.message;
  });
  try {
    await redis.connect();
    await redis.ping();
    return redis;
  } catch (error) {
    redis.disconnect();
    const why = reason || (error as Error).message;
    throw Object.assign(new Error(`the Redis server cannot be used: ${why}`), { code: 'redis-unreachable' });
  }
}

/** The version in package.json, which lies one folder up from src/ and, copied, from dist/src/. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
    return String(manifest.version);
  }
  throw new Error('package.json has no version');
}
