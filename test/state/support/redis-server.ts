import type { Redis } from 'ioredis';
import { startRedisServer } from '../../support/redis.ts';
import { connectTo } from './place.ts';

export interface PrivateRedis {
  readonly url: string;
  connect(): Redis;
  stop(): Promise<void>;
}

/** A Redis server for one test file, on a free loopback port, without persistence. */
export async function startRedis(): Promise<PrivateRedis> {
  const server = await startRedisServer();
  const connections: Redis[] = [];
  return {
    url: server.url,
    connect() {
      const redis = connectTo(server.url);
      connections.push(redis);
      return redis;
    },
    async stop() {
      for (const redis of connections) redis.disconnect();
      await server.stop();
    },
  };
}
