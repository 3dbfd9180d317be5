import type { RedisOptions } from 'bullmq';
import type { RedisOptions as IoredisOptions } from 'ioredis';

/** PEM texts. */
export interface TlsTexts {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where Redis is and how to reach it: the ioredis options that all connections share. */
export type RedisTarget = {
  readonly username?: string;
  readonly password?: string;
  readonly family?: number;
  readonly db?: number;
  readonly reconnectOnError?: (error: Error) => boolean;
  /** Absent: no TLS. */
  readonly tls?: TlsTexts;
} & (
  | { readonly host?: string; readonly port?: number; readonly path?: string; readonly kind?: never }
  | (Following & { readonly kind: 'cluster' })
  | (Following & {
      readonly kind: 'sentinel';
      readonly sentinels: { host: string; port: number }[];
      readonly name: string;
    } & SentinelAccess)
);

/** Options of a target whose server can change (failover). */
interface Following {
  readonly Connector: NonNullable<IoredisOptions['Connector']>;
}

interface SentinelAccess {
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  readonly sentinelTLS?: TlsTexts;
  readonly enableTLSForSentinelMode: boolean;
  readonly sentinelCommandTimeout: number;
}

const LONGEST_PAUSE_MS = 1_000;
const CONNECT_TIMEOUT_MS = 3_000;
/** A server that is silent for this long has hung. */
const SILENCE_MS = 3_000;
/** The same for worker connections: BullMQ blocks on them for up to 10 s while it waits for jobs. */
const SILENCE_OF_WORKERS_MS = 12_000;

export function reconnectPause(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 6), LONGEST_PAUSE_MS);
}

export type ReconnectPause = (times: number) => number | null;

/** Returns options, not a connection: BullMQ owns what it opens. Workers wait for Redis; producers fail at once. */
export function workerConnection(target: RedisTarget, pause: ReconnectPause = reconnectPause): RedisOptions {
  return {
    ...target,
    ...reconnecting(pause, SILENCE_OF_WORKERS_MS),
    maxRetriesPerRequest: null,
  };
}

/** Options for calls that must be answered at once or fail. */
export function promptConnection(target: RedisTarget, pauseOfLookUps: ReconnectPause = reconnectPause) {
  return {
    ...target,
    ...reconnecting(reconnectPause, SILENCE_MS),
    sentinelRetryStrategy: pauseOfLookUps,
    maxRetriesPerRequest: 1,
    // What a lost connection had not answered waits for the next one: beside a server that hangs, for ever.
    commandTimeout: SILENCE_MS,
    enableOfflineQueue: false,
  };
}

/** Options for a short-lived connection: it connects with its first command, once, and does not reconnect. */
export function singleAttempt(timeoutMs: number) {
  return {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  };
}

/**
 * A hung connection is dropped: it may hang alone, and another server may be the primary by now, also behind the same
 * address. `sentinelRetryStrategy` also paces the look-up of a cluster's node.
 */
function reconnecting(pause: ReconnectPause, silenceMs: number) {
  return {
    retryStrategy: pause,
    sentinelRetryStrategy: pause,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: silenceMs,
  };
}
