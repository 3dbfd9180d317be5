import type { Redis } from 'ioredis';
import type { RedisTarget } from '../queues/connection.ts';
import { inTime } from '../web/in-time.ts';

/** One attempt: a person waits, and a store that was asked for is not silently gone without. */
export async function connectRedisOnce(target: RedisTarget): Promise<Redis> {
  const { Redis } = await import('ioredis');
  const redis = new Redis({
    ...target,
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
    // A server that accepts connections and says nothing is as good as none.
    await inTime(redis.ping(), 3000);
    return redis;
  } catch (error) {
    redis.disconnect();
    const why = reason || (error as Error).message;
    throw Object.assign(new Error(`the Redis server cannot be used: ${why}`), { code: 'redis-unreachable' });
  }
}
