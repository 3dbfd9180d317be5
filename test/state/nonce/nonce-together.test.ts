import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createRedisNonceStore, type RedisNonceStore } from '../../../src/state/nonce/nonce-redis.ts';
import { closeAfterTest } from '../../contract/support/world.ts';
import { freePort, hasRedisServer, type RedisServer, startRedisServer } from '../../support/redis.ts';

const KEYS = Array.from({ length: 20 }, (_, index) => `key-${index}`);

describe.runIf(hasRedisServer())('nonces of many keys reserved in the same turn', () => {
  async function open(args: readonly string[] = []): Promise<{ redis: Redis; store: RedisNonceStore }> {
    const server: RedisServer = await startRedisServer({ args: [...args] });
    closeAfterTest(() => server.stop());
    const redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
    closeAfterTest(async () => redis.disconnect());
    const store = createRedisNonceStore({ redis, prefix: 'test' });
    closeAfterTest(() => store.close());
    return { redis, store };
  }

  const all = (store: RedisNonceStore, floor: number) =>
    Promise.all(KEYS.map((key, index) => store.reserve(key, floor + index, 2)));
  /** @param before the floor of the previous reservation, if there was one */
  const firsts = (floor: number, before?: number) =>
    KEYS.map((_, index) => ({
      first: floor + index,
      count: 2,
      previous: before === undefined ? 0 : before + index + 1,
    }));
  const calls = async (redis: Redis): Promise<number> =>
    Number(/cmdstat_evalsha?:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

  test('take one call, and each key gets its own values', async () => {
    const { redis, store } = await open();
    await all(store, 1_000);
    await redis.config('RESETSTAT');
    expect(await all(store, 2_000)).toEqual(firsts(2_000, 1_000));
    expect(await calls(redis)).toBe(1);
    expect(await Promise.all([store.reserve('key-0', 0, 3), store.reserve('key-0', 0, 1)])).toEqual([
      { first: 2_002, count: 3, previous: 2_001 },
      { first: 2_005, count: 1, previous: 2_004 },
    ]);
  });

  test('are reserved one by one if a cluster refuses keys of several slots', async () => {
    const { redis, store } = await open([
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(await freePort()),
    ]);
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await expect.poll(async () => await redis.call('CLUSTER', 'INFO')).toContain('cluster_state:ok');
    expect(await all(store, 1_000)).toEqual(firsts(1_000));
    expect(await all(store, 2_000)).toEqual(firsts(2_000, 1_000));
  });

  test('one key that the server refuses does not keep others from being reserved', async () => {
    const { redis, store } = await open();
    await redis.lpush('test:{nonce/key-3}:sequence', 'not a number');
    const results = await Promise.allSettled(KEYS.map((key) => store.reserve(key, 1_000, 1)));
    const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? [KEYS[index]] : []));
    expect(failed).toEqual(['key-3']);
  });
});
