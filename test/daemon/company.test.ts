import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { DaemonOptions } from '../../src/app/daemon.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { openScene, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

/** Processes that share a Redis and prefix, meant or not. */

const PARTS = {
  accounts: { long: { rules: ['rule'] }, short: { rules: ['rule'] } },
  rules: `  - id: rule
    on: position
    when: { notional: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`,
};

async function open() {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, PARTS);
  const faults = () =>
    world.events.flatMap((event) => (event.kind === 'company' ? [event.fault ?? 'well'] : []));
  const as = (env: Readonly<Record<string, string>>, ordinal = 1): Partial<DaemonOptions> => ({
    env: { ...world.env, ...env },
    ordinal,
  });
  return { world, faults, as };
}

const OTHER_KEYS = { KEY_long: 'other-key-1', KEY_short: 'other-key-2' };
const OTHER_OPERATORS = { OPERATORS_KEY: 'other-operators-key-for-tests-000000' };

test('staging on the Redis and prefix of production is refused, and starts there when production has ended', async () => {
  const { world, as } = await open();
  const production = await world.start();
  await polls(world, 'long');
  await expect(world.start(as({ ...OTHER_KEYS, ...OTHER_OPERATORS }))).rejects.toMatchObject({
    code: 'redis-unusable',
    message: expect.stringMatching(/another installation.*redis\.prefix/),
  });
  await polls(world, 'long');
  await production.stop('it ends', 20_000);
  await world.start(as({ ...OTHER_KEYS, ...OTHER_OPERATORS }));
});

test('a process with one key changed, or all keys and the same operators.key, is of the same installation', async () => {
  const { world, faults, as } = await open();
  await world.start();
  await world.start(as({ KEY_long: 'other-key-1', ...OTHER_OPERATORS }));
  await world.start(as(OTHER_KEYS, 2));
  await polls(world, 'long');
  expect(faults()).toEqual([]);
});

test('two processes with different configs say so after a minute, until they have the same', async () => {
  const { world, faults } = await open();
  const clock = { ...systemClock, monotonicMs: () => 20 * systemClock.monotonicMs() };
  await world.start();
  const text = await readFile(world.configFile, 'utf8');
  const otherFile = `${world.configFile}.other`;
  await writeFile(otherFile, text.replace('slippage: 1%', 'slippage: 2%'));
  const other = await world.start({ configFile: otherFile, ordinal: 1, clock });
  await eventually(
    () => faults().length > 0,
    'the difference',
    () => troubles(world.events),
  );
  expect(faults()).toEqual([expect.stringContaining('have different configs')]);
  await writeFile(otherFile, text);
  await other.reload();
  await eventually(
    () => faults().at(-1) === 'well',
    'its end',
    () => troubles(world.events),
  );
});
