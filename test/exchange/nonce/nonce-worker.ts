import { Redis } from 'ioredis';
import { createExchangeClient } from '../../../src/exchange/client.ts';
import type { NonceMode } from '../../../src/exchange/nonce/nonce-modes.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { createRedisNonceStore } from '../../../src/state/nonce/nonce-redis.ts';

/** One of several processes that use one key at once: makes its calls, reports their outcomes, and ends. */
export interface WorkerTask {
  readonly baseUrl: string;
  readonly redisUrl: string;
  readonly mode: NonceMode;
  readonly ordinal: number;
  readonly calls: number;
}

export interface WorkerResult {
  readonly ok: number;
  readonly noncesRefused: number;
  readonly failures: readonly string[];
}

process.once('message', (task: WorkerTask) => void run(task));

async function run({ baseUrl, redisUrl, mode, ordinal, calls }: WorkerTask): Promise<void> {
  const redis = new Redis(redisUrl);
  const store = createRedisNonceStore({ redis });
  const limiterStore = createMemoryRateLimitStore(systemClock);
  let noncesRefused = 0;
  const client = createExchangeClient({
    baseUrls: [baseUrl],
    credentials: { apiKey: 'shared-key', apiSecret: 'shared-secret' },
    nonce: { mode, store, ordinal },
    limiter: {
      store: limiterStore,
      fallback: limiterStore,
      limits: { 'main-account': { limit: 1_000_000 } },
    },
    timeouts: { callMs: 60_000, storeMs: 10_000, attemptMs: 30_000 },
    observer: {
      onCall: (event) => {
        noncesRefused += event.noncesRefused;
      },
    },
  });
  const outcomes = await Promise.all(Array.from({ length: calls }, () => client.mainBalance()));
  const failures = outcomes.flatMap((outcome) => (outcome.kind === 'failed' ? [outcome.error.name] : []));
  await client.close();
  await store.close();
  redis.disconnect();
  process.send?.({ ok: calls - failures.length, noncesRefused, failures } satisfies WorkerResult);
  process.disconnect();
}
