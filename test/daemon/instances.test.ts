import { expect, test } from 'vitest';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { inTurn, sliceOf } from '../support/slice.ts';
import { startChild } from './child.ts';
import { drift, hasFilled, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const plays = inTurn(['in the middle of an order', 'before a far poll'], 2, 'instances that are killed');

const HALVE = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

test('two instances together place one set of orders', async () => {
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
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
  await polls(world, 'long', 6);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
  expect(simulator.model.openOrders('long')).toEqual([]);
});

test('roles on different hosts share the work through one Redis', async () => {
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

test.runIf(plays('in the middle of an order'))(
  'two others take over the order of an instance killed in the middle of it',
  async () => {
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
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
    await polls(world, 'long', 6);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
  },
);

test.runIf(plays('before a far poll'))(
  'work of a killed instance does not wait for the next poll of a rarely polled account',
  async () => {
    const simulator = await openScene();
    const world = await openDaemonWorld(simulator, {
      accounts: { long: { rules: ['rule'] } },
      rules: HALVE,
      // No further poll happens within this test: only the queue knows of the unfinished work.
      cadence: '{ calm: 1h, alert: 1h }',
      acting: '{ fillWithin: 1s, cancel: always }',
    });
    const killed = startChild(world, { killAt: 'step.answered', args: ['--instance', '2'] });
    expect(await killed.ended).toBe('SIGKILL');
    // Its order is at the exchange, but the answer was never recorded.
    const sent = () => simulator.requestLog({ account: 'long', endpoint: 'stopLimit' });
    expect(sent()).toHaveLength(1);
    await world.start();
    await eventually(
      () => sent().length > 1,
      'the order sent again',
      () => troubles(world.events),
    );
    expect(new Set(sent().map(({ clientOrderId }) => clientOrderId)).size).toBe(1);
    expect(ours(simulator, 'long')).toHaveLength(1);
  },
);

/** Bound on an account's silence when one of several instances is killed, without any restart. */
const MOST_SILENCE_MS = 5_000;

test.each(sliceOf(['poll.taken', 'poll.committed'] as const, 2, 'points to kill one of three at'))(
  'one of three instances is killed at %s: no account is silent, and nothing is lost or doubled',
  async (point) => {
    const simulator = await openScene();
    const rules = HALVE.replace('amount: { above: 0.3 }', 'markPrice: { below: 59900 }');
    const ids = ['long', 'short', 'hedged', 'flat'];
    const accounts = Object.fromEntries(ids.map((id) => [id, { rules: ['rule'] }]));
    const world = await openDaemonWorld(simulator, { accounts, rules });
    await Promise.all([world.start(), world.start({ ordinal: 1 })]);
    const killed = startChild(world, { killAt: point, killAfter: 8, args: ['--instance', '2'] });
    await Promise.race([killed.watching, killed.ended]);
    move(simulator, -0.003);
    expect(await killed.ended).toBe('SIGKILL');
    const killedMs = simulator.model.nowMs();
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
    for (const id of ids) await polls(world, id, 6);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    for (const id of ids) {
      const isSilent = longestGap(simulator, id, killedMs) >= MOST_SILENCE_MS;
      expect({ id, isSilent }).toEqual({ id, isSilent: false });
    }
  },
);

/** The longest time without a read of the positions since `fromMs`, as the exchange saw it. */
function longestGap(simulator: RunningSimulator, account: string, fromMs: number): number {
  const reads = simulator
    .requestLog({ account })
    .filter(({ endpoint, atMs }) => endpoint === 'openPositions' && atMs > fromMs)
    .map(({ atMs }) => atMs);
  const gaps = reads.map((atMs, index) => atMs - (reads[index - 1] ?? fromMs));
  return Math.max(...gaps, simulator.model.nowMs() - (reads.at(-1) ?? fromMs));
}
