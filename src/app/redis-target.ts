import type { RedisSettings } from '../config/redis.ts';
import { readRedisAddress } from '../config/redis-address.ts';
import type { RedisTarget, TlsTexts } from '../queues/connection.ts';
import { createFollowingConnector } from './sentinel-connector.ts';

/** What says where Redis is and how it is reached. */
export type RedisPlace = Pick<RedisSettings, 'url'> & Partial<Pick<RedisSettings, 'tls' | 'sentinel'>>;

/** What every connection to Redis has in common, for ioredis and BullMQ. @throws TypeError for what is no address */
export function redisTarget({ url, tls = {}, sentinel = {} }: RedisPlace): RedisTarget {
  const { address, texts } = addressIn(url, tls);
  const { hosts, primary, username, password, family, database: db } = address;
  const shared = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(family === undefined ? {} : { family }),
    db,
    ...(texts === undefined ? {} : { tls: texts }),
  };
  if (primary === undefined) return { ...shared, ...hosts[0] };
  return {
    ...shared,
    sentinels: hosts.map(({ host, port }) => ({ host, port })),
    name: primary,
    ...(sentinel.username === undefined ? {} : { sentinelUsername: sentinel.username }),
    ...(sentinel.password === undefined ? {} : { sentinelPassword: sentinel.password.reveal() }),
    ...(texts === undefined ? {} : { sentinelTLS: texts }),
    enableTLSForSentinelMode: texts !== undefined,
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    Connector: createFollowingConnector(),
    reconnectOnError: askAgain(),
  };
}

function addressIn(url: RedisSettings['url'], { ca, cert, key }: RedisSettings['tls']) {
  const reading = readRedisAddress(url.reveal());
  if (reading.kind === 'none') throw new TypeError(`expected an address of Redis, got ${reading.got}`);
  const { address } = reading;
  const texts: TlsTexts = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key: key.reveal() }),
  };
  return { address, texts: address.tls ? texts : undefined };
}

/** A Sentinel that takes longer has hung, and the next one is asked. */
const SENTINEL_TIMEOUT_MS = 1_000;
const ASK_AGAIN_EVERY_MS = 5_000;

/** Whether a refusal is a reason to ask the Sentinels again: a server that takes no writes may be the primary no more. */
function askAgain(): (error: Error) => boolean {
  let askedMs = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    if (!/\b(?:READONLY|NOREPLICAS)\b/.test(message)) return false;
    const nowMs = performance.now();
    if (nowMs - askedMs < ASK_AGAIN_EVERY_MS) return false;
    askedMs = nowMs;
    return true;
  };
}
