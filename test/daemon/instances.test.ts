import { expect, test } from 'vitest';
import { startChild } from './child.ts';
import { drift, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const HALVE = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

test('two instances together place one order set', { timeout: 120_000 }, async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: { long: { rules: ['rule'] } }, rules: HALVE });
  await Promise.all([world.start(), world.start({ ordinal: 1 })]);
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await polls(world, 'long', 10);
  expect(ours(simulator, 'long')).toHaveLength(1);
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.5, 'a fill', world);
  await polls(world, 'long', 6);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
  expect(simulator.model.openOrders('long')).toEqual([]);
});

test('roles on different hosts share the work through one Redis', { timeout: 120_000 }, async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: { long: { rules: ['rule'] } }, rules: HALVE });
  await world.start({ roles: ['poll'] });
  await polls(world, 'long', 4);
  expect(ours(simulator, 'long')).toEqual([]);
  await world.start({ roles: ['act'], ordinal: 1 });
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('what an instance began that was killed in the middle of an order is taken over by two others', {
  timeout: 120_000,
}, async () => {
  const simulator = await openScene();
  const accounts = Object.fromEntries(['long', 'short'].map((id) => [id, { rules: ['rule'] }]));
  const world = await openDaemonWorld(simulator, {
    accounts,
    rules: HALVE.replace('above: 0.3', 'above: 0.4'),
  });
  const killed = startChild(world, { killAt: 'step.sending', args: ['--instance', '2'] });
  expect(await killed.ended).toBe('SIGKILL');
  await Promise.all([world.start(), world.start({ ordinal: 1 })]);
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.5, 'a fill', world);
  await polls(world, 'long', 6);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
});

test('of three instances one is killed, and nothing is lost or doubled', { timeout: 120_000 }, async () => {
  const simulator = await openScene();
  const rules = HALVE.replace('amount: { above: 0.3 }', 'markPrice: { below: 59900 }');
  const accounts = Object.fromEntries(
    ['long', 'short', 'hedged', 'flat'].map((id) => [id, { rules: ['rule'] }]),
  );
  const world = await openDaemonWorld(simulator, { accounts, rules });
  const killed = startChild(world, { killAt: 'poll.committed', killAfter: 8, args: ['--instance', '2'] });
  await killed.watching;
  await Promise.all([world.start(), world.start({ ordinal: 1 })]);
  move(simulator, -0.003);
  expect(await killed.ended).toBe('SIGKILL');
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.5, 'a fill', world);
  for (const id of Object.keys(accounts)) await polls(world, id, 6);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
});
