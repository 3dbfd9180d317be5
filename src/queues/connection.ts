import type { RedisOptions } from 'bullmq';

/** Where Redis is and how it is reached: what all connections have in common. */
export interface RedisTarget {
  readonly host?: string;
  readonly port?: number;
  readonly username?: string;
  readonly password?: string;
  readonly family?: number;
  readonly db?: number;
  /** PEM texts; absent: no TLS. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

const LONGEST_PAUSE_MS = 1_000;
const CONNECT_TIMEOUT_MS = 3_000;

export function reconnectPause(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 6), LONGEST_PAUSE_MS);
}

/** Options, not a connection: BullMQ owns what it opens. Workers wait for Redis, producers fail at once. */
export function workerConnection(
  target: RedisTarget,
  retryStrategy: (times: number) => number | null = reconnectPause,
): RedisOptions {
  return { ...target, maxRetriesPerRequest: null, retryStrategy, connectTimeout: CONNECT_TIMEOUT_MS };
}

export function producerConnection(target: RedisTarget): RedisOptions {
  return {
    ...target,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    retryStrategy: reconnectPause,
    connectTimeout: CONNECT_TIMEOUT_MS,
  };
}
