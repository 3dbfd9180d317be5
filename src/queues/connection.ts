import type { RedisOptions } from 'bullmq';
import type { RedisOptions as IoredisOptions } from 'ioredis';

/** PEM texts. */
export interface TlsTexts {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where Redis is and how it is reached: what all connections have in common, in the words of ioredis. */
export type RedisTarget = {
  readonly username?: string;
  readonly password?: string;
  readonly family?: number;
  readonly db?: number;
  /** Absent: no TLS. */
  readonly tls?: TlsTexts;
} & (
  | { readonly host?: string; readonly port?: number; readonly kind?: never }
  | (Following & { readonly kind: 'cluster' })
  | (Following & {
      readonly kind: 'sentinel';
      readonly sentinels: { host: string; port: number }[];
      /** Of the primary. */
      readonly name: string;
    } & SentinelAccess)
);

/** Which server it is may change. */
interface Following {
  readonly Connector: NonNullable<IoredisOptions['Connector']>;
  readonly reconnectOnError: (error: Error) => boolean;
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
/** A server that is silent for so long has hung. */
const SILENCE_MS = 3_000;
/** The same for a connection that waits for jobs, which BullMQ does for up to 10 s. */
const SILENCE_OF_WORKERS_MS = 30_000;

export function reconnectPause(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 6), LONGEST_PAUSE_MS);
}

export type ReconnectPause = (times: number) => number | null;

/** Options, not a connection: BullMQ owns what it opens. Workers wait for Redis, producers fail at once. */
export function workerConnection(target: RedisTarget, pause: ReconnectPause = reconnectPause): RedisOptions {
  return {
    ...target,
    ...reconnecting(target, pause, SILENCE_OF_WORKERS_MS),
    maxRetriesPerRequest: null,
  };
}

/** For calls that must be answered at once or fail. */
export function promptConnection(target: RedisTarget, pauseOfLookUps: ReconnectPause = reconnectPause) {
  return {
    ...target,
    ...reconnecting(target, reconnectPause, SILENCE_MS),
    sentinelRetryStrategy: pauseOfLookUps,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
  };
}

/** For a connection that is made once, with its first command, and asks little. */
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
 * Without Sentinels or a cluster there is only the one server to wait for. With them a connection that has hung is given up:
 * another server may be the primary by now. (The look-up of a cluster's node pauses like that of Sentinels.)
 */
function reconnecting({ kind }: RedisTarget, pause: ReconnectPause, silenceMs: number) {
  return {
    retryStrategy: pause,
    sentinelRetryStrategy: pause,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(kind === undefined ? {} : { socketTimeout: silenceMs }),
  };
}
