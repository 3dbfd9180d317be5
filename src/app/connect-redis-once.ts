import type { Redis } from 'ioredis';
import type { RedisTarget } from '../queues/connection.ts';
import { makeContact } from './first-contact.ts';

/** One attempt: a person waits, and a store that was asked for is not silently gone without. */
export async function connectRedisOnce(target: RedisTarget): Promise<Redis> {
  const { Redis } = await import('ioredis');
  const redis = new Redis({
    ...target,
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    connectTimeout: 3000,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
  });
  const problem = await makeContact(redis, target);
  if (problem === undefined) return redis;
  throw Object.assign(new Error(`the Redis server cannot be used: ${problem.why}`), {
    code: 'redis-unreachable',
  });
}
