import { describe, expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { openClusterScene } from '../support/clusters.ts';
import { hasRedisServer } from '../support/redis.ts';
import { inTurn, sliceOf } from '../support/slice.ts';
import { drift, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles, verdictOf } from './world.ts';

const plays = inTurn(['moved', 'not covered'], 2, 'slots of a cluster');

/** A daemon on a Redis Cluster whose slot fails over or moves; checked by the simulated exchange's ledger. */

const HALVE = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 28% } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

describe.runIf(hasRedisServer())('a daemon on a Redis Cluster', () => {
  async function open() {
    const scene = await openClusterScene({ closing: closeAfterTest, key: '{bw}' });
    const simulator = await openScene();
    const url = `redis+cluster://${scene.hosts}`;
    const parts = { accounts: { long: { rules: ['rule'] } }, rules: HALVE };
    const world = await openDaemonWorld(simulator, parts, { redis: { url, prefix: 'bw' } });
    const daemon = await world.start();
    await polls(world, 'long', 3);
    const states = () => world.events.flatMap((event) => (event.kind === 'standby' ? [event.state] : []));
    return {
      scene,
      simulator,
      world,
      daemon,
      states,
      reduceHalfway: () =>
        drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world),
      /** Work in progress ends, nothing is sent twice, and the queues continue in the current server. */
      wholeAgain: async (goesAlone = true): Promise<void> => {
        await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.251, 'a fill', world);
        const before = ours(simulator, 'long').length;
        const isShared = (): boolean => states().at(-1) === 'shared';
        if (goesAlone) await eventually(isShared, 'the cluster in use', () => troubles(world.events));
        const from = world.events.length;
        await polls(world, 'long', 6);
        expect(world.events.slice(from).some(({ kind }) => kind === 'ticked')).toBe(true);
        expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
        expect(ours(simulator, 'long')).toHaveLength(before);
        expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
      },
    };
  }

  test('protects a position, with all keys in one slot', async () => {
    const { scene, reduceHalfway, wholeAgain, states } = await open();
    await reduceHalfway();
    await wholeAgain(false);
    const keys = await Promise.all(scene.others.map(({ redis }) => redis.dbsize()));
    expect(keys).toEqual([0, 0]);
    expect(await scene.primary.redis.dbsize()).toBeGreaterThan(0);
    expect(states()).toEqual([]);
  });

  const kills = [
    ['is killed', false],
    ['is killed, with writes that its replica has not got', true],
  ] as const;

  test.each(sliceOf(kills, 2, 'ways to kill a node'))(
    'continues a reduction as its node %s',
    async (_words, losesWrites) => {
      const { scene, reduceHalfway, wholeAgain, states } = await open();
      if (losesWrites) await scene.cutReplication();
      await reduceHalfway();
      await scene.primary.kill();
      await eventually(() => states().at(-1) === 'alone', 'a daemon without Redis');
      await wholeAgain();
      expect(await scene.serverOf(scene.replica)).toBe(scene.replica.id);
    },
  );

  test.runIf(plays('moved'))('continues a reduction as its slot is moved', async () => {
    const { scene, reduceHalfway, wholeAgain } = await open();
    const [target] = scene.others;
    await reduceHalfway();
    await scene.beginMove(scene.primary, target);
    expect(await scene.moveKeys(scene.primary, target, 5)).toBeGreaterThan(0);
    await eventually(async () => (await target.redis.dbsize()) > 0, 'keys at both');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await scene.endMove(scene.primary, target);
    await wholeAgain();
    expect(await target.redis.dbsize()).toBeGreaterThan(0);
    expect(await scene.primary.redis.dbsize()).toBe(0);
  });

  test.runIf(plays('not covered'))(
    'goes on from memory while a slot of the cluster is not covered',
    async () => {
      const { scene, world, reduceHalfway, wholeAgain, states } = await open();
      const [bystander] = scene.others;
      await bystander.kill();
      await eventually(
        () => states().at(-1) === 'alone',
        'a daemon without Redis',
        () => troubles(world.events),
      );
      await reduceHalfway();
      await bystander.start();
      await wholeAgain();
    },
  );
});
