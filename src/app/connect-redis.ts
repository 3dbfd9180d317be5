import { Redis } from 'ioredis';
import type { Clock } from '../core/ports/clock.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import {
  promptConnection,
  type ReconnectPause,
  type RedisTarget,
  reconnectPause,
} from '../queues/connection.ts';
import { makeContact } from './first-contact.ts';

/** Redis cannot be used; the message says why and names no password. */
export class RedisUnusableError extends Error {
  readonly code = 'redis-unusable';
  constructor(message: string) {
    super(message);
    this.name = 'RedisUnusableError';
  }
}

/** A connection for calls that must be answered at once or fail. */
export async function connectRedis(target: RedisTarget, onError: (error: unknown) => void): Promise<Redis> {
  let isMade = false;
  // A daemon that cannot reach Redis at its start says so; later it goes on asking.
  const pauseOfSentinels: ReconnectPause = (times) => (isMade ? reconnectPause(times) : null);
  const redis = new Redis({ ...promptConnection(target, pauseOfSentinels), lazyConnect: true });
  const why = await makeContact(redis, target);
  if (why !== undefined) throw new RedisUnusableError(`the Redis server cannot be used: ${why}`);
  isMade = true;
  redis.on('error', onError);
  return redis;
}

/** Samples worse than this say too little. */
const WORST_ROUND_TRIP_MS = 100;

/** Measures the store's clock once. */
export async function followClock(redis: Redis, clock: Clock, time: SharedTime): Promise<void> {
  const askedAtMs = clock.monotonicMs();
  const [seconds, micros] = (await redis.time()).map(Number);
  const answeredAtMs = clock.monotonicMs();
  if (seconds === undefined || micros === undefined || answeredAtMs - askedAtMs > WORST_ROUND_TRIP_MS) return;
  time.adopt({ storeMs: seconds * 1_000 + micros / 1_000, askedAtMs, answeredAtMs });
}

const REPORTS_APART_MS = 1_000;

/**
 * Reports one error per second of an outage. Meanwhile polls by the queue stop; the watchdog repairs schedules later.
 */
export function onRedisLost(telemetry: Telemetry, clock: Clock): (error: unknown) => void {
  let reportedMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - reportedMs < REPORTS_APART_MS) return;
    reportedMs = nowMs;
    telemetry.emit({ kind: 'redis', available: false, error });
  };
}
