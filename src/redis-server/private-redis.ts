import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { type ServerOptions, startRedisServer } from './redis-server.ts';

/** A place in a Redis that belongs to one user. */
export interface PrivateRedis {
  readonly url: string;
  /** Begins every key and BullMQ prefix: the server may be shared. */
  readonly prefix: string;
  /** Removes everything under the prefix, or the whole private server. Disconnect clients first. */
  stop(): Promise<void>;
}

/** Keys under a random prefix in the server at REDIS_URL, or else a server of its own on a free loopback port. */
export async function startPrivateRedis(
  options: ServerOptions & {
    /** First part of the prefix. */
    readonly name: string;
  },
): Promise<PrivateRedis> {
  const prefix = `${options.name}-${randomBytes(6).toString('hex')}:`;
  const shared = options.env['REDIS_URL'];
  if (shared !== undefined && shared !== '') {
    return { url: shared, prefix, stop: () => removeKeys(shared, prefix) };
  }
  return { ...(await startRedisServer(options)), prefix };
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 })) {
      const found = keys as string[];
      if (found.length > 0) await redis.unlink(...found);
    }
  } finally {
    redis.disconnect();
  }
}
