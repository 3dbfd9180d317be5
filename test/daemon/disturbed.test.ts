import { expect, test } from 'vitest';
import { sliceOf } from '../support/slice.ts';
import { d, drift, hasFilled, move, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const HALVE = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: [0.5%, 2%] } }]
`;
const ACCOUNTS = { long: { rules: ['rule'] } };

/** Requests to the two endpoints that change something. */
function commands(simulator: Awaited<ReturnType<typeof openScene>>, accountId = 'long') {
  return simulator
    .requestLog({ account: accountId })
    .filter(({ endpoint }) => endpoint === 'stopLimit' || endpoint === 'cancelAll');
}

test('observe mode sends nothing, and records the order that it would have sent', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { mode: 'observe', accounts: ACCOUNTS, rules: HALVE });
  const daemon = await world.start();
  await eventually(
    () => world.events.some((event) => event.kind === 'audited' && event.event.kind === 'wouldPlace'),
    'an order that would have been placed',
    () => troubles(world.events),
  );
  await polls(world, 'long', 5);
  expect(commands(simulator)).toEqual([]);
  const records = await daemon.state.audit.tail('long', 50);
  expect(JSON.stringify(records)).toContain('wouldPlace');
});

test('a pause holds before the next step, and the step is sent when the pause is lifted', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE });
  const daemon = await world.start();
  await daemon.state.controls.put({
    kind: 'pause',
    accountId: 'long',
    author: 'test',
    reason: 'test',
    expiresAtMs: null,
  });
  const before = commands(simulator).length;
  await polls(world, 'long', 6);
  expect(commands(simulator).length).toBe(before);
  await daemon.state.controls.lift({ kind: 'pause', accountId: 'long' }, { author: 'test', reason: 'test' });
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('beside an order skipped by a gap goes another one; once the target is reached none is left', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: ACCOUNTS,
    rules: HALVE,
    acting: '{ fillWithin: 500ms }',
  });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  // Far below the limit price: the stop is activated and cannot fill.
  move(simulator, -0.08);
  await eventually(
    () => ours(simulator, 'long').length > 1,
    'another order',
    () => troubles(world.events),
  );
  const [first, second] = ours(simulator, 'long');
  expect(Number(second?.price)).toBeLessThan(Number(first?.price));
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') <= 0.25, 'the target', world);
  await polls(world, 'long', 3);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
  expect(simulator.model.openOrders('long')).toEqual([]);
});

test.each(sliceOf(['lostReply', 'appliedLate'] as const, 2, 'lost replies'))(
  'an order with a lost reply (%s) is not placed twice',
  async (kind) => {
    const simulator = await openScene();
    const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE });
    simulator.injectFault({
      effect: kind === 'lostReply' ? { kind } : { kind, delayMs: 100 },
      target: { endpoint: 'stopLimit' },
      count: 2,
    });
    await world.start();
    const sent = () => simulator.requestLog({ account: 'long', endpoint: 'stopLimit' });
    await eventually(
      () => sent().length > 2,
      'a third request for an order',
      () => troubles(world.events),
    );
    await polls(world, 'long', 3);
    // It is sent again under the same id, so the exchange itself answers whether it exists.
    expect(new Set(sent().map(({ clientOrderId }) => clientOrderId)).size).toBe(1);
    expect(ours(simulator, 'long')).toHaveLength(1);
    expect(simulator.model.openOrders('long')).toHaveLength(1);
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
    await polls(world, 'long', 4);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    expect(ours(simulator, 'long')).toHaveLength(1);
    expect(simulator.model.openOrders('long')).toEqual([]);
  },
);

test('a position rebuilt under the same positionId is reduced by new orders', async () => {
  const simulator = await openScene({ readings: { positionIds: 'reused' } });
  const rules = HALVE.replace('above: 0.3', 'above: 0.45');
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  const id = simulator.model.openPositions('long')[0]?.positionId;
  // The owner closes it and opens another one of the same size.
  const at = (side: 'buy' | 'sell') =>
    simulator.model.placeCollateralOrder('long', { market: 'BTC_PERP', side, amount: d('0.5') });
  expect(at('sell').ok).toBe(true);
  expect(sizeOf(simulator, 'long')).toBe(0);
  await polls(world, 'long', 6);
  simulator.exchange.catchUp();
  expect(at('buy').ok).toBe(true);
  expect(simulator.model.openPositions('long')[0]?.positionId).toBe(id);
  const before = ours(simulator, 'long').length;
  await eventually(
    () => ours(simulator, 'long').length > before,
    'another order',
    () => troubles(world.events),
  );
  const ids = ours(simulator, 'long').map(({ clientOrderId }) => clientOrderId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the owner closes part midway: the target stands, and no more is sold than needed', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  const sold = simulator.model.placeCollateralOrder('long', {
    market: 'BTC_PERP',
    side: 'sell',
    amount: d('0.15'),
  });
  expect(sold.ok).toBe(true);
  await polls(world, 'long', 6);
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') <= 0.25, 'a fill', world);
  await polls(world, 'long', 4);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
});

test('the owner adds midway: the reduction goes no further than for the original position', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  const bought = simulator.model.placeCollateralOrder('long', {
    market: 'BTC_PERP',
    side: 'buy',
    amount: d('0.1'),
  });
  expect(bought.ok).toBe(true);
  await polls(world, 'long', 6);
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.55), 'a fill', world);
  await polls(world, 'long', 6);
  expect(sizeOf(simulator, 'long')).toBeGreaterThanOrEqual(0.249);
});

test('a malformed reply triggers no action, and what it hid is acted on later', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: HALVE });
  const fault = simulator.injectFault({
    effect: { kind: 'malformedJson' },
    target: { endpoint: 'openPositions' },
  });
  await world.start();
  await polls(world, 'long', 5);
  expect(commands(simulator)).toEqual([]);
  simulator.clearFaults(fault);
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});
