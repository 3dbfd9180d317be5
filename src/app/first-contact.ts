import { Redis } from 'ioredis';
import { within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import type { RedisTarget } from '../queues/connection.ts';
import { NoClusterNodeError } from './cluster-connector.ts';
import { type ContactProblem, contactProblem } from './contact-problem.ts';

const CONNECT_MS = 10_000;
const ANSWER_MS = 3_000;
const WRONG_ACCESS = /NOAUTH|WRONGPASS|NOPERM|certificate|SSL/i;
const NO_SENTINEL = 'no Sentinel names the primary';

/** Connects a lazy connection; resolves to the problem, if any. A failed one is disconnected. */
export async function makeContact(redis: Redis, target: RedisTarget): Promise<ContactProblem | undefined> {
  let first: NodeJS.ErrnoException | undefined;
  const note = (error: NodeJS.ErrnoException): void => {
    first = error;
  };
  const ofSentinels = new Set<string>();
  const noteSentinel = ({ message }: Error): void => void ofSentinels.add(message);
  redis.on('error', note);
  redis.on('sentinelError', noteSentinel);
  try {
    // A server that is loading its data may take long to be ready.
    await within(systemTimers, CONNECT_MS, redis.connect());
    // A server that accepts connections but never answers cannot be used.
    await within(systemTimers, ANSWER_MS, redis.ping());
    if (target.kind !== undefined || !(await within(systemTimers, ANSWER_MS, isOfCluster(redis))))
      return undefined;
    redis.disconnect();
    return { why: OF_CLUSTER, isAway: false };
  } catch (error) {
    redis.disconnect();
    if (error instanceof NoClusterNodeError) return { why: error.message, isAway: error.isAway };
    const cause = first ?? (error as NodeJS.ErrnoException);
    const problem = contactProblem(cause, target);
    const why = noSentinel(error as Error, target, [...ofSentinels]);
    if (why === undefined) return problem;
    const isAway = cause.code !== 'ECONNRESET' && why.startsWith(NO_SENTINEL);
    return { why, isAway: isAway ? !WRONG_ACCESS.test(why) : problem.isAway };
  } finally {
    redis.off('error', note);
    redis.off('sentinelError', noteSentinel);
    // Later errors of an abandoned connection interest nobody.
    redis.on('error', () => undefined);
  }
}

const OF_CLUSTER = 'it is a node of a Redis Cluster (then redis+cluster:// or rediss+cluster://)';

/** Also false if the server does not say. */
async function isOfCluster(redis: Redis): Promise<boolean> {
  const info = await redis.info('server').catch(() => '');
  return /^redis_mode:cluster/m.test(info);
}

/** `undefined`: a Sentinel has named a server. */
function noSentinel({ message }: Error, target: RedisTarget, said: readonly string[]): string | undefined {
  if (target.kind !== 'sentinel' || !message.startsWith('All sentinels are unreachable')) return undefined;
  const isUnknown = said.some((words) => words.endsWith('got an invalid reply: null'));
  const name = isUnknown ? `no Sentinel knows a primary named ${target.name}` : NO_SENTINEL;
  const others = said.filter((words) => !words.endsWith('got an invalid reply: null'));
  return [name, ...others].join('; ');
}

/** Tries once: a person is waiting, and a requested store must not be silently skipped. */
export async function connectRedisOnce(target: RedisTarget): Promise<Redis> {
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
