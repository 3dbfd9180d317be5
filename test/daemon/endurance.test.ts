import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { openScene, ours, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const NEVER = `  - id: rule
    on: position
    when: { amount: { above: 1000 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const ACCOUNTS = { long: { rules: ['rule'] } };

/** Two processes, each reading as often as it can, would read twice as often as one does. */
const LEAST_OF_ONE = 0.6;

test('two processes poll an account no more often although its exchange is slower than its ticks', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: NEVER });
  simulator.injectFault({ effect: { kind: 'latency', delayMs: 350 }, target: { endpoint: 'openPositions' } });
  // The mean time between reads from now on, without those of a start.
  const apart = async (): Promise<number> => {
    const arrivals = () =>
      simulator.requestLog({ account: 'long' }).filter(({ endpoint }) => endpoint === 'openPositions');
    const from = arrivals().length + 4;
    await eventually(() => arrivals().length > from + 20, 'the reads at the start, and twenty more');
    const read = arrivals().slice(from);
    return (read.at(-1)!.atMs - read[0]!.atMs) / (read.length - 1);
  };
  await world.start();
  const ofOneMs = await apart();
  await world.start({ ordinal: 1 });
  expect(await apart()).toBeGreaterThan(LEAST_OF_ONE * ofOneMs);
});

test('one source that hangs does not keep the others from being judged', async () => {
  const simulator = await openScene();
  const rules = NEVER.replace('above: 1000', 'above: 0.3');
  const world = await openDaemonWorld(simulator, {
    accounts: {
      long: {
        rules: ['rule'],
        more: '    watch: { creditLine: true, mainBalance: [USDT], transfers: true, spotOrders: true }',
      },
    },
    rules,
  });
  for (const endpoint of ['creditLine', 'mainBalance', 'transferHistory', 'orderHistory']) {
    simulator.injectFault({ effect: { kind: 'hang' }, target: { endpoint } });
  }
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('every endpoint that the rules need is read, the slow ones less often', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: {
      long: {
        rules: ['rule'],
        more: '    watch: { creditLine: true, mainBalance: [USDT], transfers: true, spotOrders: true }',
      },
    },
    rules: NEVER,
  });
  await world.start();
  await polls(world, 'long', 8);
  const count = new Map<string, number>();
  for (const { endpoint } of simulator.requestLog({ account: 'long' }))
    count.set(endpoint, (count.get(endpoint) ?? 0) + 1);
  expect([...count.keys()].sort()).toEqual(
    expect.arrayContaining(['creditLine', 'mainBalance', 'openPositions', 'orderHistory', 'transferHistory']),
  );
  expect(count.get('mainBalance')).toBeLessThan((count.get('openPositions') ?? 0) / 2);
});

test('the watchdog repairs a broken chain of ticks, and no account is silent for long', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: { long: { rules: ['rule'] } }, rules: NEVER });
  const { shared } = await world.start();
  const { queues, redis } = shared!;
  await polls(world, 'long', 2);
  // The state left by a process killed between taking a tick and planning the next one.
  const breakChain = async (): Promise<boolean> => {
    const planned = await redis.zrange(queues.poll.toKey('delayed'), '0', '-1');
    const taken = await Promise.all(planned.map((id) => redis.zrem(queues.poll.toKey('delayed'), id)));
    await Promise.all(planned.map((id) => redis.del(queues.poll.toKey(id))));
    return taken.some((count) => count > 0);
  };
  await eventually(breakChain, 'a chain that is broken', () => '', 1);
  const repaired = () =>
    world.events.some((event) => event.kind === 'schedulesAsserted' && event.why === 'repair');
  await eventually(repaired, 'a repair', () => troubles(world.events));
  await polls(world, 'long', 3);
});

test('a queue that somebody paused is resumed, at the start and later, and it is said', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: NEVER });
  const resumed = (queue: string): number =>
    world.events.filter((event) => event.kind === 'queueResumed' && event.queue === queue).length;
  const first = await world.start();
  await polls(world, 'long', 2);
  await first.shared!.queues.poll.pause();
  await eventually(
    () => resumed('poll') === 1,
    'a queue that is resumed',
    () => troubles(world.events),
  );
  await polls(world, 'long', 3);
  await first.shared!.queues.poll.pause();
  await first.stop('test', 30_000);
  await world.start();
  await polls(world, 'long', 3);
  expect(resumed('poll')).toBeGreaterThanOrEqual(2);
});

test('a daemon closes every connection when it stops, within its bound, and stops once', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: NEVER });
  const redis = new Redis(world.redisUrl);
  closeAfterTest(async () => redis.disconnect());
  const connections = async () => String(await redis.client('LIST')).match(/^id=\d+/gm) ?? [];
  const before = new Set<string>(await connections());
  // The server may be shared: connections of others may close meanwhile.
  const added = async () => (await connections()).filter((id) => !before.has(id));
  simulator.injectFault({ effect: { kind: 'latency', delayMs: 400 }, target: { endpoint: 'openPositions' } });
  const daemon = await world.start();
  await polls(world, 'long', 1);
  expect(await added()).not.toEqual([]);
  const [first, second] = await Promise.all([daemon.stop('a', 30_000), daemon.stop('b', 5_000)]);
  expect([first, second]).toEqual([true, true]);
  await eventually(async () => (await added()).length === 0, 'no connection left', added);
  expect(world.events.filter(({ kind }) => kind === 'stopped')).toHaveLength(1);
});

test('an operator order takes the same path, and is carried out once', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: NEVER });
  const daemon = await world.start();
  await polls(world, 'long', 2);
  await daemon.state.controls.submit('long', {
    kind: 'reduce',
    markets: ['BTC_*'],
    target: { kind: 'by', fraction: 0.5 },
    slippageSteps: [0.01],
    flatten: false,
    author: 'test',
    reason: 'test',
    expiresAtMs: Date.now() + 60_000,
  });
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await polls(world, 'long', 6);
  expect(ours(simulator, 'long')).toHaveLength(1);
  expect(ours(simulator, 'long')[0]).toMatchObject({ amount: '0.25' });
});
