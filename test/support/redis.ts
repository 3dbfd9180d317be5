import process from 'node:process';
import { redisTarget } from '../../src/app/redis-target.ts';
import { Secret } from '../../src/config/secret.ts';
import type { RedisTarget } from '../../src/queues/connection.ts';
import { type PrivateRedis, startPrivateRedis as start } from '../../src/redis-server/private-redis.ts';
import { serverProgram } from '../../src/redis-server/redis-server.ts';
import { closeAfterFile } from './after-test.ts';

export type { PrivateRedis } from '../../src/redis-server/private-redis.ts';
export { freePort } from './free-port.ts';

import { startRedisServer } from './redis-server.ts';

export { type RedisServer, type RedisServerOptions, startRedisServer } from './redis-server.ts';

/** Reserves a key prefix for this test alone, in the Redis that REDIS_URL, REDIS_SERVER or the PATH offers: on a port. */
export async function startPrivateRedis(): Promise<PrivateRedis> {
  const { env } = process;
  if (env['REDIS_URL'] !== undefined) return await start({ env, name: 'test' });
  const server = await startRedisServer();
  const part = await start({ env: { ...env, REDIS_URL: server.url }, name: 'test' });
  return { ...part, stop: () => server.stop() };
}

let ofFile: Promise<PrivateRedis> | undefined;

/** The same, in one server for all tests of a file; the first use starts it. */
export async function shareRedis(): Promise<PrivateRedis> {
  ofFile ??= startForFile();
  const { url } = await ofFile;
  return await start({ env: { ...process.env, REDIS_URL: url }, name: 'test' });
}

async function startForFile(): Promise<PrivateRedis> {
  // Files share the module.
  closeAfterFile(async () => {
    const server = ofFile;
    ofFile = undefined;
    await (await server)?.stop();
  });
  return await startPrivateRedis();
}

/** Connection settings of the project for a server. */
export function targetOf(url: string, prefix = 'breakwater'): RedisTarget {
  return redisTarget({ url: new Secret(url), prefix });
}

/** Whether `startRedisServer` works here; with only a REDIS_URL it does not. */
export function hasRedisServer(): boolean {
  return serverProgram() !== undefined;
}
