import type { Redis } from 'ioredis';
import type { RedisTarget } from '../queues/connection.ts';
import { makeContact } from './first-contact.ts';

/** Tries once: a person is waiting, and a requested store must not be silently skipped. */
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
