import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { runCommandLine } from '../support/cli.ts';
import { drift, hasFilled, openScene, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

/** One account acts, the other one only observes. */
const RULES = `  - id: halve
    on: position
    when: { size: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const ACCOUNTS = { long: { rules: ['halve'] }, short: { rules: ['halve'], more: '    mode: observe\n' } };

test('explore', { timeout: 120_000 }, async () => {
  const simulator = await openScene();
  const receiver = await startReceiver();
  closeAfterTest(() => receiver.close());
  const digest = (at: string) =>
    `channels: { own: { type: webhook, url: "${receiver.url}" } }\ndigest: { at: "${at}", channels: own }\n`;
  const parts = { accounts: ACCOUNTS, rules: RULES };
  const world = await openDaemonWorld(simulator, parts);
  const daemons = await Promise.all([world.start(), world.start({ ordinal: 1 })]);
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
  await polls(world, 'long', 10);
  await polls(world, 'short', 3);
  for (const args of [['digest'], ['digest', '--json']]) {
    const run = await runCommandLine([...args, '--config', world.configFile], { env: world.env });
    console.log(run.stdout, run.stderr);
  }
  await world.write({ ...parts, more: digest(new Date().toISOString().slice(11, 16)) });
  await Promise.all(daemons.map((daemon) => daemon.reload()));
  await eventually(
    () => receiver.received.length > 0,
    'a digest',
    () => troubles(world.events),
  );
  console.log(JSON.stringify(receiver.received[0]?.json, null, 1));
  expect(receiver.received).toHaveLength(1);
});
