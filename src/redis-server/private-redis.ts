import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { type ServerOptions, startRedisServer } from './redis-server.ts';

/** A part of a Redis server for one user. */
export interface PrivateRedis {
  readonly url: string;
  /** Start of every key and BullMQ prefix: the server may be shared. */
  readonly prefix: string;
  /** Removes everything under the prefix, or the whole private server. Disconnect clients first. */
  stop(): Promise<void>;
}

/** A random prefix in the server at REDIS_URL; without that, a private server on a socket. */
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
