import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { drift, openScene, ours, polls, sizeOf } from './scene.ts';
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
  'Redis killed in the middle of an order and started again: the target is reached, not passed',
  { timeout: 120_000 },
  async () => {
    const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'everysec'] });
    const simulator = await openScene();
    closeAfterTest(() => server.stop());
    const world = await openDaemonWorld(
      simulator,
      { accounts: ACCOUNTS, rules: HALVE },
      { redis: { url: server.url, prefix: 'bw' } },
    );
    // The order is under way while its store goes away.
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
    await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.5, 'a fill', world);
    await polls(world, 'long', 6);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    await eventually(
      () => simulator.model.openOrders('long').length === 0,
      'no order left',
      () => troubles(world.events),
    );
  },
);

test('Redis emptied: a new life, in which nothing adds up with the orders of the old one', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE });
  const daemon = await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  const before = await daemon.state.store.read('long');
  const redis = new Redis(world.redisUrl);
  closeAfterTest(async () => redis.disconnect());
  const keys = await redis.keys(`${world.prefix}*`);
  await redis.unlink(...keys);
  await eventually(
    () => ours(simulator, 'long').length > 1,
    'an order of the new life',
    () => troubles(world.events),
  );
  const after = await daemon.state.store.read('long');
  if (before.load.kind !== 'loaded' || after.load.kind !== 'loaded') throw new Error('refused');
  expect(after.load.account.life.id).not.toBe(before.load.account.life.id);
  // The old order was cancelled before the new one was placed.
  expect(simulator.model.openOrders('long')).toHaveLength(1);
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.5, 'a fill', world);
  await polls(world, 'long', 6);
  // A new life knows no earlier target: what it halves is what it finds.
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
});

test.runIf(hasServer)(
  'a Redis that hangs holds nothing up for longer than it hangs',
  {
    timeout: 120_000,
  },
  async () => {
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
  },
);
