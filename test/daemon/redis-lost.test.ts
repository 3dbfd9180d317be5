import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { drift, hasFilled, move, openScene, ours, polls, priceOf, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const HALVE = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const ACCOUNTS = { long: { rules: ['rule'] } };
const hasServer = hasRedisServer();

test.runIf(hasServer)(
  'Redis is killed in the middle of an order and restarted: the target is reached, not passed',
  async () => {
    const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'everysec'] });
    const simulator = await openScene();
    closeAfterTest(() => server.stop());
    const world = await openDaemonWorld(
      simulator,
      { accounts: ACCOUNTS, rules: HALVE },
      { redis: { url: server.url, prefix: 'bw' } },
    );
    // The store disappears while the order is under way.
    simulator.injectFault({
      effect: { kind: 'latency', delayMs: 600, at: 'reply' },
      target: { endpoint: 'stopLimit' },
      count: 1,
    });
    await world.start();
    await eventually(
      () => ours(simulator, 'long').length > 0,
      'an order',
      () => troubles(world.events),
    );
    await server.kill();
    await eventually(
      () => world.events.some((event) => event.kind === 'redis' && !event.available),
      'the loss told',
    );
    await server.start();
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
    await polls(world, 'long', 6);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    await eventually(
      () => simulator.model.openOrders('long').length === 0,
      'no order left',
      () => troubles(world.events),
    );
  },
);

/** Removes every key of the installation, as FLUSHALL does, under a daemon that goes on. */
async function empty(world: Awaited<ReturnType<typeof openDaemonWorld>>): Promise<void> {
  const redis = new Redis(world.redisUrl);
  closeAfterTest(async () => redis.disconnect());
  await redis.unlink(...(await redis.keys(`${world.prefix}*`)));
}

test('Redis is emptied under `by: 50%` while its order stands: half is closed, and not the rest', async () => {
  const simulator = await openScene();
  const acting = '{ fillWithin: 1s }';
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE, acting });
  const daemon = await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  const before = await daemon.state.store.read('long');
  await empty(world);
  await polls(world, 'long', 4);
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
  await polls(world, 'long', 6);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
  await eventually(
    () => world.events.some((event) => event.kind === 'standby' && event.state === 'shared'),
    'what it knew in Redis again',
    () => troubles(world.events),
  );
  const after = await daemon.state.store.read('long');
  if (before.load.kind !== 'loaded' || after.load.kind !== 'loaded') throw new Error('refused');
  expect(after.load.account.epoch.id).toBe(before.load.account.epoch.id);
  expect(simulator.model.openOrders('long')).toHaveLength(0);
});

test.each([
  ['everything', null],
  ['an account', 'long'],
])('Redis is emptied while a pause of %s is in force: it stays in force', async (_, accountId) => {
  const simulator = await openScene();
  const rules = HALVE.replace(
    'amount: { above: 0.3 }',
    `markPrice: { below: ${priceOf(simulator) * 0.998} }`,
  );
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules });
  const daemon = await world.start();
  await polls(world, 'long', 2);
  const pause = { kind: 'pause', accountId, expiresAtMs: null, author: 'ann', reason: 'exams' } as const;
  await daemon.state.controls.put(pause);
  await polls(world, 'long', 2);
  await empty(world);
  move(simulator, -0.004);
  await eventually(
    () => world.events.some((event) => event.kind === 'standby' && event.state === 'shared'),
    'what it knew in Redis again',
    () => troubles(world.events),
  );
  await polls(world, 'long', 4);
  expect(ours(simulator, 'long')).toEqual([]);
  expect(await daemon.state.controls.list()).toMatchObject([{ kind: 'pause', author: 'ann', accountId }]);
});

test.runIf(hasServer)('a Redis that hangs delays nothing for longer than it hangs', async () => {
  const server = await startRedisServer();
  const simulator = await openScene();
  closeAfterTest(() => server.stop());
  const world = await openDaemonWorld(
    simulator,
    { accounts: ACCOUNTS, rules: HALVE },
    { redis: { url: server.url, prefix: 'bw' } },
  );
  await world.start();
  await polls(world, 'long', 2);
  server.pause();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  server.resume();
  await polls(world, 'long', 4);
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

describe.runIf(hasServer)('a daemon that is stopped while Redis is lost', () => {
  async function lose() {
    const server = await startRedisServer({ persistent: true });
    closeAfterTest(() => server.stop());
    const simulator = await openScene();
    const redis = { url: server.url, prefix: 'bw' };
    const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE }, { redis });
    const daemon = await world.start();
    await polls(world, 'long', 2);
    await server.kill();
    // Long enough that every connection has retried, and waits for the next attempt.
    await eventually(
      () => world.events.filter((event) => event.kind === 'workerError').length > 8,
      'connections that are made anew',
    );
    return { server, world, daemon };
  }

  // The check after each test would find a leftover timer or connection.
  test('ends within its bound although Redis stays away', async () => {
    const { daemon } = await lose();
    expect(await daemon.stop('Redis is gone', 20_000)).toBe(true);
  });

  test('ends gracefully when Redis comes back meanwhile, and the next one polls at once', async () => {
    const { server, world, daemon } = await lose();
    const stopped = daemon.stop('Redis is away', 20_000);
    await server.start();
    expect(await stopped).toBe(true);
    await world.start();
    await polls(world, 'long', 3);
  });
});

test('cannot set up its schedules at the start: it says so, and sets them up when it can', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE });
  const redis = new Redis(world.redisUrl);
  closeAfterTest(async () => redis.disconnect());
  const key = `${world.prefix}:{queues}:poll:repeat`;
  await redis.set(key, 'not a list of schedules');
  await world.start();
  expect(troubles(world.events)).toContainEqual(
    expect.objectContaining({ kind: 'workerError', error: expect.stringContaining('WRONGTYPE') }),
  );
  await redis.del(key);
  await polls(world, 'long', 3);
});
