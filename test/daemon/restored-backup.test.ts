import { cp, rm } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import type { Daemon } from '../../src/app/daemon.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { inTurn } from '../support/slice.ts';
import { drift, hasFilled, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles, verdictOf } from './world.ts';

const plays = inTurn(['midst', 'before'], 2, 'moments of a backup');

/** Redis restored from a backup, as docs/operations.md describes; checked by the simulated exchange's ledger. */

const HALVE = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const PAUSED = { author: 'test', reason: 'test', expiresAtMs: null };

async function epochOf({ state }: Daemon): Promise<string> {
  const { load } = await state.store.read('long');
  if (load.kind !== 'loaded') throw new Error(load.kind);
  return load.account.epoch.id;
}

async function open() {
  const server = await startRedisServer();
  closeAfterTest(() => server.stop());
  const connect = () => {
    const redis = new Redis(server.url);
    closeAfterTest(async () => redis.disconnect());
    return redis;
  };
  const [, folder = ''] = await connect().config('GET', 'dir');
  const [dump, backup] = ['dump.rdb', 'backup.rdb'].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  const simulator = await openScene();
  // In profit, so that no rule fires yet.
  move(simulator, 0.02);
  const world = await openDaemonWorld(
    simulator,
    { accounts: { long: { rules: ['rule'] }, short: { rules: [] } }, rules: HALVE },
    { redis: { url: server.url, prefix: 'bw' } },
  );
  return {
    simulator,
    world,
    async save() {
      await connect().save();
      await cp(dump, backup);
    },
    async restore() {
      await server.kill();
      await rm(path.join(folder, 'appendonlydir'), { recursive: true, force: true });
      await cp(backup, dump);
      await server.start();
      await connect().config('SET', 'appendonly', 'yes');
    },
    falls: () => drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world),
    fills: (below: number) =>
      drift(simulator, -0.0005, () => hasFilled(simulator, 'long', below), 'a fill', world),
  };
}

describe.runIf(hasRedisServer())('Redis is restored from a backup', () => {
  test.runIf(plays('midst'))(
    'made during a reduction that has ended since: nothing is closed twice, its pauses hold, the chain is whole',
    async () => {
      const scene = await open();
      const { simulator, world } = scene;
      const first = await world.start();
      await first.state.controls.put({ kind: 'pause', accountId: 'short', ...PAUSED });
      await polls(world, 'long', 3);
      await scene.falls();
      await scene.save();
      await scene.fills(0.251);
      await polls(world, 'long', 3);
      // A leftover order would have to be cancelled, and an order goes before a cancel where none was accepted lately.
      const isClear = () => simulator.model.openOrders('long').length === 0;
      await eventually(isClear, 'no order left', () => troubles(world.events));
      const epochBefore = await epochOf(first);
      await first.stop('the backup is put back', 30_000);
      const sent = ours(simulator, 'long').length;
      await scene.restore();

      const second = await world.start();
      await polls(world, 'long', 8);
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
      // Where a second order stood beside the first when the backup was made, the older one is cleared away, and a
      // trial of the smallest amount goes before that cancel.
      expect(
        ours(simulator, 'long')
          .slice(sent)
          .filter(({ amount }) => amount !== '0.001'),
      ).toEqual([]);
      expect(isClear()).toBe(true);
      expect(await epochOf(second)).not.toBe(epochBefore);
      expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
      const { stdout } = await runCommandLine(['status', '--config', world.configFile], { env: world.env });
      expect(stdout).toMatch(/short.*paused/);
    },
  );

  test.runIf(plays('before'))(
    'made before a reduction whose rule still fires: under a pause set before the start nothing is sent',
    async () => {
      const scene = await open();
      const { simulator, world } = scene;
      const first = await world.start();
      await polls(world, 'long', 3);
      await scene.save();
      await scene.falls();
      await scene.fills(0.251);
      await first.stop('the backup is put back', 30_000);
      const sent = ours(simulator, 'long').length;
      await scene.restore();

      await world.start({ paused: true });
      await polls(world, 'long', 8);
      expect(ours(simulator, 'long').length).toBe(sent);
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    },
  );
});
