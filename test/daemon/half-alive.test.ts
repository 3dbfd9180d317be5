import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { POINT_PREFIX } from '../../src/pipeline/points.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import {
  hasRedisServer,
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
} from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { type SlowRedis, startSlowRedis } from '../support/slow-redis.ts';
import { startWorkingTime } from '../support/working-time.ts';
import { drift, hasFilled, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles, verdictOf } from './world.ts';

/** A Redis that is reachable but does not work counts as lost; checked by the simulated exchange's ledger. */

const HALVE = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
/** Noticed within 2 s on an idle machine; here other load may delay it. */
const NOTICED_WITHIN_MS = 5_000;

interface Parts {
  readonly server: RedisServer;
  readonly proxy: SlowRedis;
  /** Directly, not through the proxy. */
  readonly redis: Redis;
}

interface Fault {
  readonly options?: RedisServerOptions;
  readonly begins: (parts: Parts) => Promise<unknown> | void;
  readonly ends: (parts: Parts) => Promise<unknown> | void;
}

const LOADED_KEYS = 120;
/** Resolves when it has loaded. */
let loaded: Promise<void> | undefined;

const FAULTS: Readonly<Record<string, Fault>> = {
  'has no memory for writes': {
    begins: ({ redis }) => redis.config('SET', 'maxmemory', '100kb'),
    ends: ({ redis }) => redis.config('SET', 'maxmemory', '0'),
  },
  'cannot save to its disk': {
    async begins({ redis }) {
      const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-full-'));
      await redis.config('SET', 'dir', folder);
      await rm(folder, { recursive: true });
      await redis.config('SET', 'save', '3600 1');
      await redis.bgsave();
      await eventually(
        async () => (await redis.info('persistence')).includes('rdb_last_bgsave_status:err'),
        'a save that failed',
      );
    },
    async ends({ redis }) {
      await redis.config('SET', 'stop-writes-on-bgsave-error', 'no');
    },
  },
  'has become a replica': {
    begins: ({ redis }) => redis.replicaof('127.0.0.1', 1),
    ends: ({ redis }) => redis.replicaof('NO', 'ONE'),
  },
  'loads its data after a restart': {
    // Two megabytes, and a tenth of a second for each key: meanwhile it answers, but refuses commands.
    options: {
      persistent: true,
      args: [
        '--appendfsync',
        'always',
        '--key-load-delay',
        '100000',
        '--loading-process-events-interval-bytes',
        '1024',
      ],
    },
    async begins({ redis, server }) {
      for (let key = 0; key < LOADED_KEYS; key++) await redis.set(`ballast-${key}`, 'x'.repeat(10_000));
      // Only a rewritten file is loaded key by key.
      await redis.bgrewriteaof();
      await eventually(
        async () => (await redis.info('persistence')).includes('aof_rewrite_in_progress:0'),
        'all is on disk',
      );
      await server.kill();
      loaded = server.start();
      await eventually(
        async () => (await redis.ping().catch(String)).includes('LOADING'),
        'it answers that it is loading',
      );
    },
    ends: async () => await loaded,
  },
  'answers after seconds': {
    begins: ({ proxy }) => proxy.setRoundTrip(3_000),
    ends: ({ proxy }) => proxy.setRoundTrip(0),
  },
  'is behind a network that swallows everything': {
    begins: ({ proxy }) => proxy.close(),
    ends: ({ proxy }) => proxy.open(),
  },
};

const SOME = sliceOf(Object.keys(FAULTS), 3, 'ways of Redis to be half alive');

describe.runIf(hasRedisServer())('while Redis', () => {
  test.each(SOME)('%s, the daemon acts on a breach, once', async (name) => {
    const { begins, ends, options } = FAULTS[name]!;
    const server = await startRedisServer(
      options ?? { args: ['--enable-protected-configs', 'yes', '--save', ''] },
    );
    closeAfterTest(() => server.stop());
    const proxy = await startSlowRedis(server.url, 0);
    closeAfterTest(() => proxy.stop());
    const redis = new Redis(server.url, { enableReadyCheck: false });
    closeAfterTest(async () => redis.disconnect());
    const parts: Parts = { server, proxy, redis };
    const simulator = await openScene();
    // In profit, so that no rule fires yet.
    move(simulator, 0.02);
    const world = await openDaemonWorld(
      simulator,
      { accounts: { long: { rules: ['rule'] } }, rules: HALVE },
      { redis: { url: proxy.url, prefix: 'bw' } },
    );
    const daemon = await world.start();
    await polls(world, 'long', 3);
    const said = (state: string): boolean =>
      world.events.some((event) => event.kind === 'standby' && event.state === state);
    const workedMs = startWorkingTime();
    await begins(parts);
    await eventually(
      () => said('alone'),
      'the loss noticed',
      () => troubles(world.events),
    );
    expect(workedMs()).toBeLessThan(NOTICED_WITHIN_MS);
    const overview = await (await fetch(`${daemon.webUrl()}/api/v1/overview`)).json();
    expect(overview).toMatchObject({ degradedWords: { redis: expect.stringContaining('goes on alone') } });
    await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
    expect(said('shared')).toBe(false);
    await ends(parts);
    await eventually(
      () => said('shared'),
      'all handed back',
      () => troubles(world.events),
    );
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.251), 'a fill', world);
    await polls(world, 'long', 4);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
    const records = await daemon.state.audit.tail('long', 1_000);
    const opened = records.filter(
      ({ record: { content } }) => content.kind === 'action' && content.event.kind === 'intentOpened',
    );
    expect(opened).toHaveLength(1);
  });

  test('falls silent while people are notified of a breach, the daemon acts on it', async () => {
    const server = await startRedisServer({ args: ['--save', ''] });
    closeAfterTest(() => server.stop());
    const proxy = await startSlowRedis(server.url, 0);
    closeAfterTest(() => proxy.stop());
    const simulator = await openScene();
    move(simulator, 0.02);
    const world = await openDaemonWorld(
      simulator,
      {
        accounts: { long: { rules: ['rule'] } },
        rules: HALVE.replace('do: [', 'do: [{ notify: {} }, '),
      },
      { redis: { url: proxy.url, prefix: 'bw' } },
    );
    await world.start();
    await polls(world, 'long', 3);
    let isSilent = false;
    const fallSilent = (): void => {
      isSilent = true;
      proxy.close();
    };
    const point = `${POINT_PREFIX}notice.handing`;
    subscribe(point, fallSilent);
    closeAfterTest(async () => void unsubscribe(point, fallSilent));
    await drift(simulator, -0.004, () => isSilent, 'people to tell', world);
    await drift(simulator, -0.0005, () => ours(simulator, 'long').length > 0, 'an order', world);
    const isBack = world.events.some((event) => event.kind === 'standby' && event.state === 'shared');
    expect(isBack).toBe(false);
    proxy.open();
  });
});
