import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { accountFile } from '../../src/state/mirror/mirror-text.ts';
import { closeAfterTest, holding } from '../contract/support/world.ts';
import { openLink } from '../outages/link.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { inTurn, sliceOf } from '../support/slice.ts';
import { type ChildDaemon, startChild } from './child.ts';
import { drift, hasFilled, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles, verdictOf } from './world.ts';

const plays = inTurn(['killed', 'paused'], 2, 'starts without Redis');

/** A daemon started while Redis is lost; checked by the simulated exchange's ledger. */

/** Keeps firing after the target is reached: a daemon that forgets the target halves again. */
const HALVE = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

async function open({ mirror = true, required = false, others = [] as readonly string[] } = {}) {
  const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'everysec'] });
  closeAfterTest(() => server.stop());
  const ids = ['long', ...others];
  const accounts = ids.map((id) => holding(id, ['long', decimal('0.5')]));
  const simulator = await openScene(others.length === 0 ? {} : { accounts });
  // In profit, so that no rule fires yet.
  move(simulator, 0.02);
  const world = await openDaemonWorld(
    simulator,
    { accounts: Object.fromEntries(ids.map((id) => [id, { rules: ['rule'] }])), rules: HALVE },
    { redis: { url: server.url, prefix: 'bw', required, ...(mirror ? { stateDir: 'kept' } : {}) } },
  );
  const folder = path.join(path.dirname(world.configFile), 'kept', 'instance-0');
  return { server, simulator, world, folder };
}

type Scene = Awaited<ReturnType<typeof open>>;

async function watching({ world }: Scene): Promise<ChildDaemon> {
  const child = startChild(world, { args: ['--port', '0'] });
  await child.watching;
  return child;
}

/** Without the trial order of the least amount, which a process may send that was killed before it knew of a fill. */
const reductions = (simulator: Scene['simulator']) =>
  ours(simulator, 'long').filter(({ amount }) => amount !== '0.001');

async function killed(child: ChildDaemon): Promise<void> {
  child.child.kill('SIGKILL');
  await child.ended;
}

const isAlone = (world: DaemonWorld): boolean =>
  world.events.some((event) => event.kind === 'standby' && event.state === 'alone');
const isShared = (world: DaemonWorld): boolean =>
  world.events.some((event) => event.kind === 'standby' && event.state === 'shared');

describe.runIf(hasRedisServer())('a daemon', () => {
  test.runIf(plays('killed'))(
    'killed while alone and restarted without Redis keeps its target, and hands everything back',
    async () => {
      const scene = await open();
      const { server, simulator, world } = scene;
      const first = await watching(scene);
      await server.kill();
      await eventually(() => first.output().includes('Redis is lost'), 'the loss noticed', first.output);
      await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order');
      await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.251), 'a fill');
      await killed(first);
      const before = reductions(simulator).length;
      const daemon = await world.start();
      await eventually(
        () => isAlone(world),
        'alone again',
        () => troubles(world.events),
      );
      for (let step = 0; step < 4; step += 1) {
        move(simulator, -0.002);
        await polls(world, 'long', 2);
      }
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
      expect(reductions(simulator)).toHaveLength(before);
      await server.start();
      await eventually(
        () => isShared(world),
        'all handed back',
        () => troubles(world.events),
      );
      await polls(world, 'long', 4);
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
      expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
      const records = await daemon.state.audit.tail('long', 1_000);
      const kinds = records.flatMap(({ record: { content } }) =>
        content.kind === 'action' ? [content.event.kind] : [],
      );
      expect(kinds.filter((kind) => kind === 'intentOpened')).toHaveLength(1);
      expect(kinds).toContain('filled');
      const stored = await daemon.state.store.read('long');
      expect(stored.load).toMatchObject({ kind: 'loaded', account: { isNewEpoch: false } });
    },
  );

  test.runIf(plays('paused'))(
    'started without Redis from a fresh mirror obeys the pause in force, and acts when it is lifted',
    async () => {
      const scene = await open();
      const { server, simulator, world, folder } = scene;
      const first = await world.start();
      await first.state.controls.put({
        kind: 'pause',
        accountId: 'long',
        author: 'ann',
        reason: 'by hand',
        expiresAtMs: null,
      });
      await polls(world, 'long', 3);
      await eventually(
        async () => (await readFile(path.join(folder, 'process.json'), 'utf8')).includes('by hand'),
        'the pause on disk',
      );
      expect((await stat(path.join(folder, 'process.json'))).mode & 0o777).toBe(0o600);
      await first.stop('the test goes on', 10_000);
      await server.kill();
      const second = await world.start();
      move(simulator, -0.05);
      await polls(world, 'long', 4);
      expect(world.events).toContainEqual(expect.objectContaining({ kind: 'standby', state: 'alone' }));
      expect(ours(simulator, 'long')).toEqual([]);
      await second.state.controls.lift(
        { kind: 'pause', accountId: 'long' },
        { author: 'ann', reason: 'seen' },
      );
      await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.251), 'a fill', world);
      await server.start();
      await eventually(
        () => isShared(world),
        'all handed back',
        () => troubles(world.events),
      );
      await polls(world, 'long', 4);
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
      expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
    },
  );

  const unknown = [
    ['there is no mirror', { mirror: false }, 0],
    ['the mirror is of ten minutes ago', {}, 600_000],
  ] as const;
  test.each(sliceOf(unknown, 2, 'mirrors that say too little'))(
    'started without Redis watches but does not act where %s, and acts when Redis is back',
    async (_, options, agoMs) => {
      const scene = await open(options);
      const { server, simulator, world } = scene;
      const first = await world.start();
      await polls(world, 'long', 2);
      await first.stop('the test goes on', 10_000);
      await server.kill();
      const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + agoMs };
      const second = await world.start({ clock });
      move(simulator, -0.05);
      await polls(world, 'long', 6);
      expect(ours(simulator, 'long')).toEqual([]);
      const ready = await (await fetch(`${second.webUrl()}/readyz`)).json();
      expect(ready).toMatchObject({ ready: false });
      expect(JSON.stringify(ready)).toContain('this process does not act');
      expect(await (await fetch(`${second.webUrl()}/metrics`)).text()).toMatch(
        /^breakwater_watching_only(?:\{\S*\})? 1$/m,
      );
      await server.start();
      await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.251), 'a fill', world);
      await polls(world, 'long', 4);
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
      expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
    },
  );

  test('started without Redis with one damaged file of its mirror acts on all accounts but that one, and says so', async () => {
    const { server, simulator, world, folder } = await open({ others: ['other'] });
    const first = await world.start();
    for (const id of ['long', 'other']) await polls(world, id, 2);
    await first.stop('the test goes on', 10_000);
    await server.kill();
    const damaged = path.join(folder, accountFile('other'));
    await writeFile(damaged, '-\n{');
    await world.start();
    await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
    await polls(world, 'other', 4);
    expect(ours(simulator, 'other')).toEqual([]);
    const words = () => world.events.flatMap((event) => (event.kind === 'said' ? [event.text] : []));
    await eventually(() => words().some((text) => text.includes('mirror-damaged')), 'a notice', words);
    expect(words().find((text) => text.includes('mirror-damaged'))).toContain(`${damaged} is damaged`);
    expect(await readFile(damaged, 'utf8')).toBe('-\n{');
    await server.start();
    await drift(simulator, -0.0005, () => ours(simulator, 'other').length > 0, 'an order', world);
  });

  test('starts although a proxy resets its connections because the server is away', async () => {
    const server = await startRedisServer({ persistent: true });
    closeAfterTest(() => server.stop());
    const proxy = await openLink(server.port);
    closeAfterTest(() => proxy.close());
    const simulator = await openScene();
    const redis = { url: `redis://127.0.0.1:${proxy.port}`, prefix: 'bw' };
    const world = await openDaemonWorld(
      simulator,
      { accounts: { long: { rules: ['rule'] } }, rules: HALVE },
      { redis },
    );
    proxy.set('refused');
    await world.start();
    await polls(world, 'long', 3);
    expect(isAlone(world)).toBe(true);
    proxy.set('open');
    await eventually(
      () => isShared(world),
      'all handed back',
      () => troubles(world.events),
    );
  });

  test('that requires Redis does not start without it', async () => {
    const { server, world } = await open({ required: true });
    await server.kill();
    await expect(world.start()).rejects.toThrow(/the Redis server cannot be used: ECONNREFUSED/);
  });

  test('is refused if a running one has its number', async () => {
    const { world } = await open();
    await world.start();
    // Makes the time pass quickly after which a dead process is replaced.
    const clock = {
      ...systemClock,
      monotonicMs: () => 20 * systemClock.monotonicMs(),
      sleep: (delayMs: number, signal?: AbortSignal) => systemClock.sleep(delayMs / 20, signal),
    };
    await expect(world.start({ clock })).rejects.toThrow(/--instance 0 is taken by a process that runs/);
    await world.start({ ordinal: 1 });
  });
});
