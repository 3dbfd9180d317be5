import type { RedisOptions } from 'bullmq';

const LONGEST_PAUSE_MS = 1_000;
const CONNECT_TIMEOUT_MS = 3_000;

export function reconnectPause(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 6), LONGEST_PAUSE_MS);
}

/** Options, not a connection: BullMQ owns what it opens. Workers wait for Redis, producers fail at once. */
export function workerConnection(
  url: string,
  retryStrategy: (times: number) => number | null = reconnectPause,
): RedisOptions {
  return { url, maxRetriesPerRequest: null, retryStrategy, connectTimeout: CONNECT_TIMEOUT_MS };
}

export function producerConnection(url: string): RedisOptions {
  return {
    url,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    retryStrategy: reconnectPause,
    connectTimeout: CONNECT_TIMEOUT_MS,
  };
}
