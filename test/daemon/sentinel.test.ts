import { describe, expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, type RedisServer } from '../support/redis.ts';
import { openSentinelScene, PRIMARY } from '../support/sentinels.ts';
import { sliceOf } from '../support/slice.ts';
import { drift, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles, verdictOf } from './world.ts';

/** A daemon while Sentinels make another server the primary; checked by the simulated exchange's ledger. */

const HALVE = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 9% } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

describe.runIf(hasRedisServer())('a failover by Sentinels', () => {
  async function open() {
    const scene = await openSentinelScene({ closing: closeAfterTest });
    const simulator = await openScene();
    const url = `redis+sentinel://${scene.hosts}/${PRIMARY}`;
    const parts = { accounts: { long: { rules: ['rule'] } }, rules: HALVE };
    const world = await openDaemonWorld(simulator, parts, { redis: { url, prefix: 'bw' } });
    const daemon = await world.start();
    await polls(world, 'long', 3);
    const reduceHalfway = () =>
      drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
    const failedOver = async ({ port }: RedisServer): Promise<void> => {
      await eventually(
        async () => (await scene.namedPort()) === port,
        'a new primary',
        () => troubles(world.events),
      );
    };
    return { scene, simulator, world, daemon, reduceHalfway, failedOver };
  }

  const losses = [
    ['is killed', (server: RedisServer) => server.kill()],
    ['hangs', async (server: RedisServer) => server.pause()],
  ] as const;

  test.each(sliceOf(losses, 2, 'ways to lose a primary'))(
    'during a reduction, as the primary %s: the target is not crossed and nothing is sent twice',
    async (_words, lose) => {
      const { scene, simulator, world, reduceHalfway, failedOver } = await open();
      const [primary, replica] = scene.servers;
      await reduceHalfway();
      await lose(primary);
      await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.251, 'a fill', world);
      const before = ours(simulator, 'long').length;
      await failedOver(replica);
      const isShared = (): boolean => {
        const states = world.events.flatMap((event) => (event.kind === 'standby' ? [event.state] : []));
        return states.at(-1) === 'shared';
      };
      await eventually(isShared, 'the new primary in use', () => troubles(world.events));
      const from = world.events.length;
      await polls(world, 'long', 6);
      expect(world.events.slice(from).some(({ kind }) => kind === 'ticked')).toBe(true);
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
      expect(ours(simulator, 'long')).toHaveLength(before);
      expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
    },
  );
});
