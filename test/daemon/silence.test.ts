import { expect, test } from 'vitest';
import { type CliRun, runCommandLine } from '../support/cli.ts';
import { drift, hasFilled, openScene, ours, polls, sizeOf } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles } from './world.ts';

/** Two rules on the same positions: the first would close more. */
const RULES = `  - id: large
    on: position
    when: { size: { above: 0.1 } }
    keepFiringFor: 30s
    do: [{ notify: { channels: [log] } }, { reduce: { by: 80%, slippage: 1% } }]
  - id: small
    on: position
    when: { size: { above: 0.1 } }
    keepFiringFor: 30s
    do: [{ notify: { channels: [log] } }, { reduce: { by: 20%, slippage: 1% } }]
`;

const BY = ['--author', 'ann', '--reason', 'known'];
const IDS = ['long', 'short'];
const FILL_WITHIN_MS = 1_000;

async function operator(world: DaemonWorld, ...args: readonly string[]): Promise<CliRun> {
  const run = await runCommandLine([...args, '--config', world.configFile], { env: world.env });
  expect(run.stderr + run.stdout, 'what the command says').toSatisfy(() => run.exitCode === 0);
  return run;
}

/** Which rules people were notified of, and for which accounts. */
function told({ events }: DaemonWorld): readonly string[] {
  return [
    ...new Set(
      events.flatMap((event) =>
        event.kind === 'said' ? [`${event.message.accountId} ${event.message.ruleId}`] : [],
      ),
    ),
  ].sort();
}

const shown = (world: DaemonWorld) => () => troubles(world.events);

test('a silenced rule neither acts nor notifies, another on the same position goes on, and it acts when the silence is lifted', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['large', 'small'] } },
    rules: RULES,
  });
  // It answers commands, and polls nothing.
  await world.start({ roles: ['web'], ordinal: 1 });
  await operator(world, 'silence', '--rule', 'large', '--for', '1h', ...BY);
  await world.start();
  await eventually(() => ours(simulator, 'long').length > 0, 'an order', shown(world));
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
  await polls(world, 'long', 6);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.4, 3);
  expect(simulator.model.openOrders('long')).toEqual([]);
  await eventually(() => told(world).length > 0, 'a notice', shown(world));
  expect(told(world)).toEqual(['long small']);
  await operator(world, 'silence', '--rule', 'large', '--lift', ...BY);
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.2, 'a fill', world);
  await polls(world, 'long', 4);
  // Based on the size at which it fired: its episode began during the silence.
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.1, 3);
  await eventually(() => told(world).length > 1, 'a notice', shown(world));
  expect(told(world)).toEqual(['long large', 'long small']);
});

test('a silence for one position affects no other', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['large'] }, short: { rules: ['large'] } },
    rules: RULES,
  });
  const [position] = simulator.model.openPositions('long');
  const subject = `position:${position?.positionId}`;
  const [other] = simulator.model.openPositions('short');
  expect(other?.positionId).not.toBe(position?.positionId);
  const silence = ['silence', '--rule', 'large', '--subject', subject];
  // It answers commands, and polls nothing.
  await world.start({ roles: ['web'], ordinal: 1 });
  await operator(world, ...silence, '--for', '1h', ...BY);
  await world.start();
  await eventually(() => ours(simulator, 'short').length > 0, 'an order of the other', shown(world));
  await polls(world, 'long', 6);
  expect(ours(simulator, 'long')).toEqual([]);
  await eventually(() => told(world).length > 0, 'a notice', shown(world));
  expect(told(world)).toEqual(['short large']);
  await operator(world, ...silence, '--lift', ...BY);
  await eventually(() => ours(simulator, 'long').length > 0, 'an order', shown(world));
});

test('a silence or a pause midway holds before the next step, however the market moves, until it is lifted', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['small'] }, short: { rules: ['small'] } },
    rules: RULES,
  });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0 && ours(simulator, 'short').length > 0,
    'orders',
    shown(world),
  );
  await operator(world, 'silence', '--rule', 'small', '--account', 'long', '--for', '1h', ...BY);
  await operator(world, 'pause', '--account', 'short', ...BY);
  const sent = () =>
    simulator
      .requestLog()
      .filter(
        ({ endpoint, account }) =>
          endpoint !== 'openPositions' && (account === 'long' || account === 'short'),
      )
      .map(({ endpoint, account }) => `${account} ${endpoint}`);
  // A step that began before they came into force completes.
  for (const id of IDS) await polls(world, id, 2);
  const before = sent();
  // A gap past one activation, and far from the other: both would be priced anew.
  simulator.setPrice('BTC_PERP', '61500');
  const since = world.events.length;
  const waited = () => world.events.slice(since).filter(({ kind }) => kind === 'evaluated').length;
  const startedMs = simulator.model.nowMs();
  await eventually(() => simulator.model.nowMs() - startedMs > 3 * FILL_WITHIN_MS && waited() > 10, 'polls');
  expect(sent()).toEqual(before);
  await operator(world, 'silence', '--rule', 'small', '--account', 'long', '--lift', ...BY);
  await operator(world, 'resume', '--account', 'short', ...BY);
  for (const id of IDS)
    await eventually(() => ours(simulator, id).length > 1, `another order of ${id}`, shown(world));
});
