import type { Redis } from 'ioredis';
import type { RedisTarget } from '../queues/connection.ts';
import { inTime } from '../web/in-time.ts';
import { NoClusterNodeError } from './cluster-connector.ts';

const CONNECT_MS = 10_000;
const ANSWER_MS = 3_000;
const AWAY: ReadonlySet<string | undefined> = new Set([
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
]);
const AWAY_WORDS = /^(?:no answer within|LOADING|MASTERDOWN|Connection is closed|connect ETIMEDOUT)/;
const WRONG_ACCESS = /NOAUTH|WRONGPASS|NOPERM|certificate|SSL/i;
const NO_SENTINEL = 'no Sentinel names the primary';

/**
 * A reset mostly counts as away: a proxy resets connections while its server is away. A server that speaks TLS only
 * does so, too, but a daemon that does not start watches nothing. With TLS and no certificate, it more likely wants
 * one.
 */
function isAway({ code, message }: NodeJS.ErrnoException, why: string, { tls }: RedisTarget): boolean {
  if (code === 'ECONNRESET') return tls === undefined || tls.cert !== undefined;
  if (why.startsWith(NO_SENTINEL)) return !WRONG_ACCESS.test(why);
  if (AWAY_WORDS.test(message)) return true;
  return AWAY.has(code);
}

/** Why a server cannot be used; names no password. */
export interface ContactProblem {
  readonly why: string;
  /** It does not answer now and may later; otherwise it answers, and the configuration is wrong. */
  readonly isAway: boolean;
}

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
    await inTime(redis.connect(), CONNECT_MS);
    // A server that accepts connections but never answers cannot be used.
    await inTime(redis.ping(), ANSWER_MS);
    if (target.kind !== undefined || !(await inTime(isOfCluster(redis), ANSWER_MS))) return undefined;
    redis.disconnect();
    return { why: OF_CLUSTER, isAway: false };
  } catch (error) {
    redis.disconnect();
    if (error instanceof NoClusterNodeError) return { why: error.message, isAway: error.isAway };
    const cause = first ?? (error as NodeJS.ErrnoException);
    const why = noSentinel(error as Error, target, [...ofSentinels]) ?? reasonOf(cause, target);
    return { why, isAway: isAway(cause, why, target) };
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

function reasonOf({ code, message }: NodeJS.ErrnoException, { tls }: RedisTarget): string {
  if (code === undefined) return message;
  if (code === 'ECONNRESET' && tls === undefined) return `${code} (does it speak TLS only? then rediss://)`;
  if (/ECONNRESET|ALERT/.test(code) && tls?.cert === undefined) {
    return `${code} (does it want a certificate? then redis.cert)`;
  }
  if (/CERT|SIGNATURE|SSL/.test(code)) return `${message} (redis.ca names an authority of your own)`;
  return code;
}
