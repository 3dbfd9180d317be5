import type { Socket } from 'node:net';
import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis';
import type { RedisSettings } from '../config/redis.ts';
import { prefixAt, readRedisAddress } from '../config/redis-address.ts';
import type { RedisTarget, TlsTexts } from '../queues/connection.ts';
import { createClusterConnector } from './cluster-connector.ts';
import { FollowingStreams } from './following-streams.ts';

/** Where Redis is and how to reach it. */
export type RedisPlace = Pick<RedisSettings, 'url' | 'prefix'> &
  Partial<Pick<RedisSettings, 'tls' | 'sentinel'>>;

/** Options of all connections to Redis, for ioredis and BullMQ. @throws TypeError if the URL is no Redis address */
export function redisTarget({ url, prefix, tls = {}, sentinel = {} }: RedisPlace): RedisTarget {
  const { address, texts } = addressIn(url, tls);
  const { hosts, socketPath, primary, isCluster = false, username, password, family, database: db } = address;
  const shared = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(family === undefined ? {} : { family }),
    db,
    ...(texts === undefined ? {} : { tls: texts }),
    // Behind the same address there may be another server by now.
    reconnectOnError: ({ message }: Error) => HAS_MOVED.test(message),
  };
  if (isCluster) {
    const { db: _only, ...access } = shared;
    const Connector = createClusterConnector({ ...access, nodes: hosts, key: prefixAt(address, prefix) });
    return { ...shared, kind: 'cluster', Connector, reconnectOnError: askAgain() };
  }
  if (socketPath !== undefined) return { ...shared, path: socketPath };
  if (primary === undefined) return { ...shared, ...hosts[0] };
  return {
    ...shared,
    kind: 'sentinel',
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

/** A slower Sentinel counts as hung; the next one is asked. */
const SENTINEL_TIMEOUT_MS = 1_000;

/**
 * Replies of a server that may no longer be the primary, and how often each may cause a new look-up. While a slot
 * migrates (ASK, TRYAGAIN) its keys are at two servers: that ends with MOVED, and a look-up would not help.
 */
const REASONS_TO_LOOK: readonly { readonly words: RegExp; readonly everyMs: number }[] = [
  { words: /\bMOVED\b/, everyMs: 500 },
  { words: /\b(?:READONLY|NOREPLICAS|CLUSTERDOWN)\b/, everyMs: 5_000 },
];

/** Replies of a server that is no longer the primary. */
const HAS_MOVED = /\b(?:READONLY|MASTERDOWN|UNBLOCKED)\b/;

/** Returns whether an error calls for a new look-up of the primary. */
function askAgain(): (error: Error) => boolean {
  let askedMs = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    const reason = REASONS_TO_LOOK.find(({ words }) => words.test(message));
    if (reason === undefined) return false;
    const nowMs = performance.now();
    if (nowMs - askedMs < reason.everyMs) return false;
    askedMs = nowMs;
    return true;
  };
}

/** The key prefix at this address, however it was written. @throws TypeError if the URL is no Redis address */
export function prefixOf({ url, prefix }: Pick<RedisSettings, 'url' | 'prefix'>): string {
  return prefixAt(addressIn(url, {}).address, prefix);
}

/** Connects one process to the primary that Sentinels name. */
function createFollowingConnector() {
  const streams = new FollowingStreams();
  return class FollowingConnector extends SentinelConnector {
    constructor(options: unknown) {
      super(options as SentinelConnectionOptions);
    }

    override async connect(...given: Parameters<SentinelConnector['connect']>): Promise<Socket> {
      const stream = await super.connect(...given);
      streams.add(stream);
      return stream;
    }

    /** Called with the server's own report before the connection is used. */
    override check(info: { role?: string }): boolean {
      const isPrimary = super.check(info);
      if (isPrimary) streams.lead(this.stream);
      return isPrimary;
    }
  };
}
