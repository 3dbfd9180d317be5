import { Redis } from 'ioredis';
import type { Clock } from '../core/ports/clock.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import {
  promptConnection,
  type ReconnectPause,
  type RedisTarget,
  reconnectPause,
} from '../queues/connection.ts';
import { makeContact } from './first-contact.ts';
import { InstanceTakenError } from './instance-claim.ts';

/** Redis cannot be used; the message says why and names no password. */
export class RedisUnusableError extends Error {
  readonly code = 'redis-unusable';
  override name = 'RedisUnusableError';
}

/**
 * Does a step of the start in Redis. Resolves to why Redis counts as lost from then on, in words, if it fails for any
 * reason but a set-up that must be refused. @throws RedisUnusableError, InstanceTakenError
 */
export async function lostBy(step: () => Promise<unknown>, mayBeLost: boolean): Promise<string | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    if (error instanceof RedisUnusableError || error instanceof InstanceTakenError) throw error;
    const words = `Redis failed while the daemon started: ${error instanceof Error ? error.message : String(error)}`;
    if (!mayBeLost) throw new RedisUnusableError(words);
    return words;
  }
}

export interface ConnectOptions {
  readonly onError: (error: unknown) => void;
  /** Waits for a server that is away; a wrong password, for example, is still refused. */
  readonly mayBeLost: boolean;
  /** The write probe uses a key under this prefix. */
  readonly prefix: string;
}

/**
 * A connection for calls that must be answered at once or fail. `lost`: why the server cannot be used now, in words; the
 * connection keeps trying. @throws RedisUnusableError
 */
export async function connectRedis(target: RedisTarget, options: ConnectOptions) {
  const { onError, mayBeLost, prefix } = options;
  let isMade = false;
  // A daemon that cannot reach Redis at its start reports it; later it keeps asking.
  const pauseOfLookUps: ReconnectPause = (times) => (isMade ? reconnectPause(times) : null);
  const redis = new Redis({ ...promptConnection(target, pauseOfLookUps), lazyConnect: true });
  const problem = await makeContact(redis, target);
  if (problem === undefined) {
    isMade = true;
    redis.on('error', onError);
    const refused = mayBeLost ? await refusedWrite(redis, prefix) : undefined;
    return refused === undefined ? { redis } : { redis, lost: refused };
  }
  const words = `the Redis server cannot be used: ${problem.why}`;
  if (!mayBeLost || !problem.isAway) throw new RedisUnusableError(words);
  const waiting = new Redis(promptConnection(target));
  waiting.on('error', onError);
  return { redis: waiting, lost: words };
}

/** Writes a key that expires at once: a server that only answers reads counts as lost. */
export async function probeRedis(redis: Redis, prefix: string): Promise<void> {
  try {
    await redis.set(`${prefix}:probe`, '1', 'PX', 1);
  } catch (error) {
    // Only this key is denied to the user; the server works.
    if (!(error instanceof Error && error.message.startsWith('NOPERM'))) throw error;
  }
}

const PROBE_MS = 1_000;

/** Does not count a replica as lost: it works, but the config must name another server. */
async function refusedWrite(redis: Redis, prefix: string): Promise<string | undefined> {
  try {
    await within(systemTimers, PROBE_MS, probeRedis(redis, prefix));
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return message.startsWith('READONLY') ? undefined : `Redis takes no writes: ${message}`;
  }
}

const LOOK_MS = 200;

/** Resolves once the server has not answered for `silentMs`, or when `isOver`. */
export async function untilSilent(
  { redis, prefix, clock }: { readonly redis: Redis; readonly prefix: string; readonly clock: Clock },
  silentMs: number,
  isOver: () => boolean,
): Promise<void> {
  let answeredMs = clock.monotonicMs();
  while (!isOver() && clock.monotonicMs() - answeredMs < silentMs) {
    const answer = probeRedis(redis, prefix).then(() => (answeredMs = clock.monotonicMs()));
    await within(systemTimers, LOOK_MS, answer).catch(() => undefined);
    await clock.sleep(LOOK_MS);
  }
}

/** Samples with a longer round trip are too inaccurate. */
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
 * Reports one error per second of an outage. During it the queue makes no polls; the watchdog repairs schedules later.
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
