import { Redis } from 'ioredis';
import { startPrivateRedis } from '../support/redis.ts';
import { hostileRedis } from './hostile-redis.ts';
import { below, type Draw, drawFrom, oneOf } from './mutate.ts';
import { changeOf, storedKeys } from './redis-keys.ts';
import { openStores, type Stores, seedRedis } from './redis-seed.ts';
import { judgeFailure, judgeReplyFailure, USES } from './redis-uses.ts';
import type { Boundary } from './target.ts';

const NAMES = Object.keys(USES);

/** Data in Redis of any origin is used within bounds, or refused with words. */
export const REDIS: Boundary = {
  name: 'redis',
  async open() {
    const server = await startPrivateRedis();
    const redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
    const prefix = `${server.prefix}f`;
    await seedRedis(redis, prefix);
    const stored = await storedKeys(redis, prefix);
    return {
      make(draw) {
        const changes = Array.from({ length: 1 + below(draw, 3) }, () => changeOf(draw, stored));
        const uses = usesOf(draw);
        return {
          text: `${changes.map(({ words }) => words).join('\n')}\n${uses.join(', ')}`,
          async run() {
            await stored.restore();
            const pipeline = redis.pipeline();
            for (const { apply } of changes) apply(pipeline);
            await pipeline.exec();
            await useAll(openStores(redis, prefix), uses, judgeFailure);
          },
        };
      },
      async close() {
        redis.disconnect();
        await server.stop();
      },
    };
  },
};

/** Changed replies: each is used within bounds, or causes an error. */
export const SCRIPTS: Boundary = {
  name: 'scripts',
  async open() {
    const server = await startPrivateRedis();
    const redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
    const prefix = `${server.prefix}s`;
    await seedRedis(redis, prefix);
    const stored = await storedKeys(redis, prefix);
    let since = 0;
    return {
      make(draw) {
        const uses = usesOf(draw);
        const seed = below(draw, 2 ** 32);
        return {
          text: `${uses.join(', ')} with replies changed by ${seed}`,
          async run() {
            // Keys written by the uses themselves accumulate.
            if (since++ % 20 === 0) await stored.restore();
            const stores = openStores(hostileRedis(redis, drawFrom(seed)), prefix);
            await useAll(stores, uses, judgeReplyFailure);
          },
        };
      },
      async close() {
        redis.disconnect();
        await server.stop();
      },
    };
  },
};

async function useAll(
  stores: Stores,
  uses: readonly string[],
  judge: (error: unknown) => void,
): Promise<void> {
  try {
    for (const name of uses) await USES[name]?.(stores).catch(judge);
  } finally {
    stores.state.close();
    await stores.nonces.close();
  }
}

const usesOf = (draw: Draw): readonly string[] =>
  Array.from({ length: 1 + below(draw, 2) }, () => oneOf(draw, NAMES));
