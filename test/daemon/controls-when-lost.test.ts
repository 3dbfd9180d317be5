import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openState, pauseIn } from '../cli/operator.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { openScene, ours, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

/** Which pauses a daemon obeys after Redis is lost, if they changed after its last poll. */

const HALVE = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

async function open() {
  const server = await startRedisServer();
  closeAfterTest(() => server.stop());
  const simulator = await openScene();
  const world = await openDaemonWorld(
    simulator,
    {
      accounts: { long: { rules: ['rule'] } },
      rules: HALVE,
      // Polled at the start, and again when Redis is lost, but not in between.
      cadence: '{ calm: 1h, alert: 1h }',
    },
    { redis: { url: server.url, prefix: 'bw', stateDir: 'kept' } },
  );
  const file = path.join(path.dirname(world.configFile), 'kept', 'instance-0', 'process.json');
  const breakwater = async (...args: readonly string[]) => {
    const { exitCode, stderr } = await runCommandLine([...args, '--config', world.configFile], {
      env: world.env,
    });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  };
  return {
    simulator,
    world,
    breakwater,
    /** While no daemon ran that could be asked. */
    async pausedBefore(scope: readonly string[], reason: string): Promise<void> {
      await pauseIn({ state: openState(world) }, scope[1] ?? null, { reason });
    },
    /** Waits until the daemon's mirror has the text, or no longer has it. */
    knows: async (text: string, does = true) =>
      await eventually(
        async () => (await readFile(file, 'utf8').catch(() => '')).includes(text) === does,
        `${does ? '' : 'no more '}known: ${text}`,
      ),
    async loseRedis() {
      const from = world.events.length;
      await server.kill();
      await eventually(
        () => world.events.slice(from).some((event) => event.kind === 'standby' && event.state === 'alone'),
        'the loss noticed',
        () => troubles(world.events),
      );
    },
  };
}

const SCOPES = sliceOf(
  [
    ['of everywhere', []],
    ['of the account', ['--account', 'long']],
  ] as const,
  2,
  'scopes of a pause',
);

describe.runIf(hasRedisServer())('after Redis is lost', () => {
  test.each(SCOPES)(
    'a pause %s is in force again that was known at the start and lifted since',
    async (_, scope) => {
      const scene = await open();
      const { simulator, world, breakwater, knows } = scene;
      await scene.pausedBefore(scope, 'maintenance');
      const daemon = await world.start();
      await polls(world, 'long', 1);
      await knows('maintenance');
      await breakwater('resume', ...scope, '--reason', 'over', '--author', 'ann');
      await knows('maintenance', false);
      expect(ours(simulator, 'long')).toEqual([]);
      await scene.loseRedis();
      expect(await daemon.state.controls.list()).toEqual([]);
      await eventually(
        () => ours(simulator, 'long').length > 0,
        'an order',
        () => troubles(world.events),
      );
    },
  );

  test.each(SCOPES)('a pause %s is forgotten that was placed after the last poll', async (_, scope) => {
    const scene = await open();
    const { simulator, world, breakwater, knows } = scene;
    // Keeps anything from being sent before the loss.
    await scene.pausedBefore(scope, 'the first');
    const daemon = await world.start();
    await polls(world, 'long', 1);
    await breakwater('resume', ...scope, '--reason', 'over', '--author', 'ann');
    await breakwater('pause', ...scope, '--reason', 'the second', '--author', 'ann');
    await knows('the second');
    // Each bucket reports it separately.
    await knows('the first', false);
    // It polls when it notices the loss, and then not for an hour.
    await Promise.all([polls(world, 'long', 1), scene.loseRedis()]);
    expect(await daemon.state.controls.list()).toMatchObject([{ reason: 'the second' }]);
    expect(ours(simulator, 'long')).toEqual([]);
  });
});
