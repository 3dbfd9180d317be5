import { describe, expect, test } from 'vitest';
import { inTurn, sliceOf } from '../support/slice.ts';
import { d, drift, hasFilled, move, openScene, ours, polls, priceOf, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const plays = inTurn(['protect', 'cancel all', 'escalation', 'taking over'], 2, 'actions');

/** Fires at once for every long position of the account `long`. */
function always(actions: string, more = ''): string {
  return `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do:
${actions}
${more}`;
}

const ACCOUNTS = { long: { rules: ['rule'] } };

describe('each reduction, by the ledger', () => {
  const reductions = [
    { action: 'reduce: { by: 50%, slippage: 1% }', size: 0.25 },
    { action: 'reduce: { to: 20%, slippage: 1% }', size: 0.1 },
    { action: 'reduce: { toNotional: 6000, slippage: 1% }', size: 0.1 },
    { action: 'reduce: { untilDistance: 60%, slippage: 1% }', size: 0.273 },
    { action: 'reduce: { to: 0%, slippage: 1% }', size: 0 },
  ];
  test.each(sliceOf(reductions, 3, 'reductions'))('$action', async ({ action, size }) => {
    const simulator = await openScene();
    const world = await openDaemonWorld(simulator, {
      accounts: ACCOUNTS,
      rules: always(`      - ${action}`),
    });
    await world.start();
    await eventually(
      () => ours(simulator, 'long').length > 0,
      'an order',
      () => troubles(world.events),
    );
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
    await polls(world, 'long', 4);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(size, 2);
    const { activationPrice } = ours(simulator, 'long')[0]?.details ?? {};
    expect(Number(activationPrice)).toBeLessThan(60_000);
  });
});

test('a short is reduced by buying above the market', async () => {
  const simulator = await openScene();
  const rules = `  - id: rule
    on: position
    where: { direction: short }
    when: { notional: { above: 25000 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 40%, slippage: 1% } }]
`;
  const world = await openDaemonWorld(simulator, { accounts: { short: { rules: ['rule'] } }, rules });
  await world.start();
  await eventually(
    () => ours(simulator, 'short').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await drift(simulator, 0.0005, () => hasFilled(simulator, 'short', 0.5), 'a fill', world);
  expect(ours(simulator, 'short')[0]).toMatchObject({ side: 'buy', amount: '0.2' });
  expect(sizeOf(simulator, 'short')).toBeCloseTo(0.3, 3);
});

test.runIf(plays('protect'))(
  'protect places one stop between mark and liquidation, and nothing is left when it triggers',
  async () => {
    const simulator = await openScene();
    const rules = always('      - protect: { at: 50%, slippage: 1% }');
    const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules });
    await world.start();
    await eventually(
      () => ours(simulator, 'long').length > 0,
      'a stop',
      () => troubles(world.events),
    );
    await polls(world, 'long', 5);
    const stops = ours(simulator, 'long');
    expect(stops).toHaveLength(1);
    const liquidation = simulator.model.openPositions('long')[0]?.liquidationPrice?.toNumber() ?? 0;
    const activation = Number(stops[0]?.details?.['activationPrice']);
    expect(activation).toBeGreaterThan(liquidation);
    expect(activation).toBeLessThan(60_000);
    simulator.setPrice('BTC_PERP', (activation * 0.999).toFixed(1));
    await eventually(
      () => sizeOf(simulator, 'long') === 0,
      'the position closed',
      () => troubles(world.events),
    );
  },
);

test('cancelAll of the market cancels the owner’s orders there, and restores our stop', async () => {
  const simulator = await openScene();
  const owner = { market: 'BTC_PERP', side: 'buy', amount: d('0.1'), price: d('40000') } as const;
  const rules = `${always('      - protect: { at: 50%, slippage: 1% }')}
  - id: clear
    on: position
    when: { markPrice: { below: 59000 } }
    keepFiringFor: 10s
    do: [{ cancelAll: { types: [futures], scope: market } }]
`;
  const world = await openDaemonWorld(simulator, { accounts: { long: { rules: ['rule', 'clear'] } }, rules });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'a stop',
    () => troubles(world.events),
  );
  expect(simulator.model.placeCollateralOrder('long', owner).ok).toBe(true);
  move(simulator, -0.03);
  const open = () =>
    simulator.model.openOrders('long').map(({ clientOrderId, type }) => [clientOrderId.slice(0, 2), type]);
  await eventually(
    () => ours(simulator, 'long').length > 1,
    'the stop again',
    () => troubles(world.events),
  );
  await eventually(() => open().length === 1, 'only our stop open', open);
  expect(open()).toEqual([['bw', 'stop limit']]);
});

test.runIf(plays('cancel all'))(
  'cancelAll of the account covers all markets, and each lane places its orders again',
  async () => {
    const simulator = await openScene({
      accounts: [
        {
          id: 'wide',
          hedgeMode: false,
          leverage: 10,
          collateral: { USDT: d('6000') },
          positions: [
            { market: 'BTC_PERP', direction: 'long', amount: d('0.5') },
            { market: 'ETH_PERP', direction: 'long', amount: d('5') },
          ],
        },
      ],
    });
    const rules = `  - id: cover
    on: position
    when: { notional: { above: 0 } }
    do: [{ protect: { at: 50%, slippage: 1% } }]
  - id: clear
    on: account
    when: { positionCount: { above: 1 } }
    for: 1500ms
    do: [{ cancelAll: { types: [spot, margin, futures], scope: account } }]
`;
    const world = await openDaemonWorld(simulator, {
      accounts: { wide: { rules: ['cover', 'clear'] } },
      rules,
    });
    await world.start();
    const open = () => simulator.model.openOrders('wide').length;
    await eventually(
      () => open() === 2,
      'two stops',
      () => troubles(world.events),
    );
    await eventually(
      () => ours(simulator, 'wide').length >= 4 && open() === 2,
      'two stops again',
      () => [ours(simulator, 'wide'), troubles(world.events)],
    );
    const cancels = simulator
      .requestLog({ account: 'wide' })
      .filter(({ endpoint }) => endpoint === 'cancelAll');
    expect(cancels.length).toBeGreaterThan(0);
  },
);

test('a credit line near its margin call is notified with its cure', async () => {
  const simulator = await openScene();
  const creditLine = { asset: 'USDT', amount: d('30000'), collateralAsset: 'BTC', collateralAmount: d('1') };
  const opened = simulator.model.openLoan('long', creditLine);
  expect(opened.ok).toBe(true);
  const rules = `  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 55% } }
    do: [{ notify: { channels: [log], cure: [50%] } }]
`;
  const world = await openDaemonWorld(simulator, { accounts: { long: { rules: ['ltv'] } }, rules });
  await world.start();
  await polls(world, 'long', 2);
  expect(world.events.filter(({ kind }) => kind === 'notice')).toEqual([]);
  simulator.setPrice('BTC_USDT', '50000');
  await eventually(
    () => world.events.some(({ kind }) => kind === 'notice'),
    'a notice',
    () => troubles(world.events),
  );
  const told = world.events.flatMap((event) => (event.kind === 'notice' ? [event.notice] : []));
  expect(told[0]).toMatchObject({
    kind: 'firing',
    ruleId: 'ltv',
    cures: [{ asset: 'USDT', targetLtv: 0.5 }],
  });
  const [cure] = told[0]?.cures ?? [];
  // 30,000 of debt at 60 %: repaying a sixth gives 50 %.
  expect(Number(cure?.repay) / 5_000).toBeCloseTo(1, 2);
  expect(Number(cure?.addCollateral) / 10_000).toBeCloseTo(1, 2);
});

test('two accounts are each judged by their own rules', async () => {
  const simulator = await openScene();
  const rules = `${always('      - reduce: { by: 50%, slippage: 1% }')}
  - id: silent
    on: position
    when: { amount: { above: 1000 } }
    do: [{ reduce: { to: 0%, slippage: 1% } }]
`;
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['rule'] }, hedged: { rules: ['silent'] } },
    rules,
  });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await polls(world, 'hedged', 4);
  expect(ours(simulator, 'hedged')).toEqual([]);
});

test('with both sides open, the net exposure bounds what is sold, and never rises', async () => {
  const simulator = await openScene();
  const rules = `  - id: rule
    on: position
    where: { direction: long }
    when: { amount: { above: 0.4 } }
    keepFiringFor: 10s
    do: [{ reduce: { to: 0%, slippage: 1% } }]
`;
  const world = await openDaemonWorld(simulator, { accounts: { hedged: { rules: ['rule'] } }, rules });
  await world.start();
  await eventually(
    () => ours(simulator, 'hedged').length > 0,
    'an order',
    () => troubles(world.events),
  );
  // Where orders may not add up, the smallest order is placed first to prove that orders are taken; the cancel removes
  // it.
  await eventually(
    () => ours(simulator, 'hedged').some(({ amount }) => amount !== '0.001'),
    'the reduction',
    () => troubles(world.events),
  );
  // 0.5 long and 0.2 short: at most 0.3 may go.
  const reduction = ours(simulator, 'hedged').find(({ amount }) => amount !== '0.001');
  expect(reduction).toMatchObject({ amount: '0.3', details: { positionSide: 'LONG' } });
  await drift(simulator, -0.0005, () => longSize() < 0.5, 'a fill', world);
  await polls(world, 'hedged', 4);
  expect(longSize()).toBeCloseTo(0.2, 3);
  function longSize(): number {
    const long = simulator.model.openPositions('hedged').find(({ direction }) => direction === 'long');
    return long?.amount.toNumber() ?? 0;
  }
});

test('two rules on one position make one order, with the smaller target', async () => {
  const simulator = await openScene();
  const rules = `${always('      - reduce: { by: 20%, slippage: 1% }')}
  - id: harder
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 60%, slippage: 2% } }]
`;
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['rule', 'harder'] } },
    rules,
  });
  await world.start();
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
  await polls(world, 'long', 4);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.2, 3);
  expect(ours(simulator, 'long').at(-1)).toMatchObject({ amount: '0.3' });
});

test.runIf(plays('escalation'))(
  'an escalation is sent while the condition holds, and not if the target was reached before',
  async () => {
    const simulator = await openScene();
    const escalate = `    escalate:
      - after: 1500ms
        do: [{ reduce: { to: 0%, slippage: 1% } }]`;
    const rules = always('      - reduce: { by: 50%, slippage: 1% }', escalate);
    const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules });
    await world.start();
    await eventually(
      () => ours(simulator, 'long').length > 0,
      'an order',
      () => troubles(world.events),
    );
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.5), 'a fill', world);
    // The condition is a size above 0.3: it clears with the fill, so the later stage never begins.
    await polls(world, 'long', 20);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    expect(priceOf(simulator)).toBeGreaterThan(0);
  },
);

test.runIf(plays('taking over'))(
  'an escalation takes over from a stage whose order the market does not fill',
  async () => {
    const simulator = await openScene();
    const escalate = `    escalate:
      - after: 700ms
        do: [{ reduce: { to: 0%, slippage: 2% } }]`;
    const rules = always('      - reduce: { by: 50%, slippage: 1% }', escalate);
    const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules });
    await world.start();
    // The first order stays; the second one closes the rest beside it.
    const orderedBase = (): number =>
      simulator.model.openOrders('long').reduce((sum, { left }) => sum + left.toNumber(), 0);
    await eventually(
      () => orderedBase() === 0.5,
      'all of it',
      () => troubles(world.events),
    );
    expect(ours(simulator, 'long').map(({ amount }) => amount)).toEqual(['0.25', '0.25']);
    await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') === 0, 'a fill', world);
  },
);
