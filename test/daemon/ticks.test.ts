import { describe, expect, test } from 'vitest';
import type { Daemon } from '../../src/app/daemon.ts';
import type { AccountView } from '../../src/core/view/account-view.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { startWorkingTime } from '../support/working-time.ts';
import { startChild } from './child.ts';
import { drift, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

/** Accounts are watched whatever becomes of the ticks in the queue; checked by the simulated exchange's ledger. */

const HALVE = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

async function open(more = '') {
  const server = await startRedisServer({ args: ['--save', ''] });
  closeAfterTest(() => server.stop());
  const chat = await startReceiver();
  closeAfterTest(() => chat.close());
  const simulator = await openScene();
  // In profit, so that no rule fires yet.
  move(simulator, 0.02);
  const world = await openDaemonWorld(
    simulator,
    {
      accounts: { long: { rules: ['rule'] } },
      rules: HALVE,
      more: `channels: { chat: { type: webhook, url: "${chat.url}" } }\n${more}`,
    },
    { redis: { url: server.url, prefix: 'bw' } },
  );
  const wait = (isSo: () => boolean | Promise<boolean>, what: string) =>
    eventually(isSo, what, () => troubles(world.events));
  const told = (words: string) =>
    wait(() => chat.received.some(({ raw }) => raw.includes(words)), `a notice: ${words}`);
  /** Longest working time without a poll of the account from now until the end of `during`, milliseconds. */
  const longestBlind = async (during: () => Promise<void>): Promise<number> => {
    const from = world.events.length;
    const workedMs = startWorkingTime();
    let [polled, lastMs, longestMs] = [0, 0, 0];
    const timer = setInterval(() => {
      const now = world.events.slice(from).filter(({ kind }) => kind === 'evaluated').length;
      longestMs = Math.max(longestMs, workedMs() - lastMs);
      if (now > polled) [polled, lastMs] = [now, workedMs()];
    }, 20);
    closeAfterTest(async () => clearInterval(timer));
    await during();
    return longestMs;
  };
  return { server, simulator, world, wait, told, longestBlind };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Sets the wall clock of this host; the exchange, Redis and all monotonic clocks go on. */
const TRUE_NOW = Date.now;
function stepWallClock(byMs: number): void {
  Date.now = () => TRUE_NOW() + byMs;
  closeAfterTest(async () => void (Date.now = TRUE_NOW));
}

async function actsOnce({ simulator, world }: Opened): Promise<void> {
  await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.251, 'a fill', world);
  await polls(world, 'long', 4);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
}

const SLOW_MACHINE_MS = 2_000;

describe.runIf(hasRedisServer())('an account is polled and protected', () => {
  /** Each stops all ticks, and some stand in the way of a repair. */
  const CAUSES: Readonly<Record<string, (daemon: Daemon) => Promise<unknown>>> = {
    'the queue takes no job at a time': ({ shared }) =>
      shared!.redis.hset(shared!.queues.poll.toKey('meta'), 'concurrency', '0'),
    'the queue takes one job in 31 years': ({ shared }) =>
      shared!.redis.hset(shared!.queues.poll.toKey('meta'), { max: '1', duration: '1000000000000' }),
    'the next tick is an hour ahead': async ({ shared }) => {
      const { queues, redis } = shared!;
      const [id = ''] = await redis.zrange(queues.poll.toKey('repeat'), '0', '-1');
      await queues.poll.removeJobScheduler(id);
      await redis.zadd(queues.poll.toKey('repeat'), Date.now() + 3_600_000, id);
    },
  };

  test.each(Object.keys(CAUSES))(
    'although %s, and people are told of a queue that was limited',
    async (cause) => {
      const scene = await open();
      const daemon = await scene.world.start();
      await polls(scene.world, 'long', 3);
      const blindMs = await scene.longestBlind(async () => {
        await CAUSES[cause]?.(daemon);
        if (cause.startsWith('the queue')) await scene.told('built-in/queue-paused');
        await actsOnce(scene);
      });
      expect(blindMs).toBeLessThan(3_000 + SLOW_MACHINE_MS);
    },
  );

  test('although no worker can take a tick from the queue, and people are told when that begins and ends', async () => {
    const scene = await open();
    const { shared } = await scene.world.start();
    const { queues, redis } = shared!;
    await polls(scene.world, 'long', 3);
    const blindMs = await scene.longestBlind(async () => {
      await redis.set(queues.poll.toKey('wait'), 'not a list');
      await actsOnce(scene);
      await scene.told('built-in/own-ticks');
    });
    expect(blindMs).toBeLessThan(3_000 + SLOW_MACHINE_MS);
    await redis.del(queues.poll.toKey('wait'));
    await scene.told('Resolved: built-in/own-ticks');
  });

  test.each([60, 600])('although the wall clock of the host steps back by %i s', async (seconds) => {
    const scene = await open();
    await scene.world.start();
    await polls(scene.world, 'long', 3);
    const blindMs = await scene.longestBlind(async () => {
      stepWallClock(-1_000 * seconds);
      await actsOnce(scene);
    });
    expect(blindMs).toBeLessThan(3_000 + SLOW_MACHINE_MS);
  });

  test('although the wall clock of the host was an hour ahead for 8 s', async () => {
    const scene = await open();
    await scene.world.start();
    await polls(scene.world, 'long', 3);
    stepWallClock(3_600_000);
    const workedMs = startWorkingTime();
    await scene.wait(() => workedMs() > 8_000, '8 s');
    const blindMs = await scene.longestBlind(async () => {
      stepWallClock(0);
      await actsOnce(scene);
    });
    expect(blindMs).toBeLessThan(3_000 + SLOW_MACHINE_MS);
  });

  test.each([3_600_000, -3_600_000])(
    'beside a host whose clock is off by %i ms, and after its end',
    async (byMs) => {
      const scene = await open();
      const other = startChild(scene.world, { args: ['--instance', '1'], clockOffMs: byMs });
      await other.watching;
      await scene.world.start();
      const workedMs = startWorkingTime();
      const requests = () =>
        scene.simulator
          .requestLog({ account: 'long' })
          .filter(({ endpoint }) => endpoint === 'openPositions');
      const from = requests().length;
      await scene.wait(() => workedMs() > 10_000, '10 s');
      const rate = (requests().length - from) / 10;
      // Its cadence is 300 ms while calm, 100 ms in an alert.
      expect(rate).toBeGreaterThan(1);
      expect(rate).toBeLessThan(12);
      other.child.kill('SIGKILL');
      await other.ended;
      const blindMs = await scene.longestBlind(() => actsOnce(scene));
      expect(blindMs).toBeLessThan(6_000 + SLOW_MACHINE_MS);
    },
  );
});

test('a wall clock that steps back by 600 s does not hide that nobody polls', async () => {
  const scene = await open();
  const { world, wait } = scene;
  const poller = await world.start({ roles: ['poll', 'act', 'notify'] });
  await polls(world, 'long', 3);
  const url = (await world.start({ roles: ['web'], ordinal: 1 })).webUrl() ?? '';
  const isReady = async () => (await fetch(`${url}/readyz`)).status === 200;
  const stateOf = async () => {
    const view = (await (await fetch(`${url}/api/v1/accounts/long`)).json()) as AccountView;
    return view.state?.cause;
  };
  await wait(isReady, 'ready');
  expect(await stateOf()).toBe('nothing');
  await poller.stop('it ends', 30_000);
  stepWallClock(-600_000);
  const workedMs = startWorkingTime();
  await wait(async () => !(await isReady()), 'not ready');
  await wait(async () => (await stateOf()) === 'overdue', 'overdue');
  // Hidden, it would last as long as the step.
  expect(workedMs()).toBeLessThan(20_000 + SLOW_MACHINE_MS);
  // Who looks for the first time learns the age from then on.
  const scrape = async () => await (await fetch(`${url}/metrics`)).text();
  await wait(async () => (await scrape()).includes('cause="overdue"} 1'), 'overdue in the metrics');
});
