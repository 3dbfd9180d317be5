import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { DaemonSpec, PriceSpec, TimedFault, WorldSpec } from '../../src/world/spec.ts';

/** Orders and reads with incomplete information; checked by the exchange's ledger. */

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], lateArrival: 3s }
acting: { fillWithin: 2s }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [half], watch: { positions: true, mainBalance: [USDT] } }
rules:
  - id: half
    on: position
    when: { liquidationDistance: { below: 4.5% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const NORTH: DaemonSpec = { name: 'north', config: CONFIG };

/** A fall through the threshold within 10 s, to 2.5 % before liquidation, and then hardly further. */
const FALL: PriceSpec = {
  market: 'BTC_USDT',
  points: [
    [0, '60000'],
    [10_000, '60000'],
    [20_000, '56700'],
    [90_000, '56500'],
  ],
  tickMs: 250,
};

async function run(changes: Partial<WorldSpec>): Promise<World> {
  const world = openWorld({
    seed: 1,
    durationMs: 60_000,
    exchange: {
      accounts: [
        {
          id: 'desk',
          collateral: { USDT: '3300' },
          leverage: 10,
          main: { USDT: '500' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
        },
      ],
    },
    prices: [FALL],
    daemons: [NORTH],
    ...changes,
  });
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

async function actionsOf({ audit }: World) {
  const records = await audit.tail('desk', 100_000);
  return records.flatMap(({ record: { content } }) => (content.kind === 'action' ? [content.event] : []));
}

function ordered({ exchange, startMs }: World) {
  return exchange.model
    .ledger({ accountId: 'desk', kinds: ['order_placed'] })
    .map(({ atMs, amount }) => ({ elapsedMs: atMs - startMs, amount }));
}

test('an order that never arrived is sent again behind earlier ones that the market has passed', async () => {
  const untilMs = 34_000;
  const lost: TimedFault = {
    atMs: 12_000,
    untilMs,
    fault: { effect: { kind: 'reset' }, target: { endpoint: 'stopLimit' } },
  };
  const world = await run({ faults: [lost] });
  const [first] = ordered(world);
  expect(first?.elapsedMs).toBeGreaterThan(untilMs);
  expect(first?.elapsedMs).toBeLessThan(untilMs + 10_000);
});

test('an order that a cancel took down does not count as open because its id is taken', async () => {
  const garbled = (atMs: number, count: number): TimedFault => ({
    atMs,
    fault: { effect: { kind: 'malformedJson', body: '<html/>' }, target: { endpoint: 'stopLimit' }, count },
  });
  const escalating = CONFIG.replace(
    '    do: [{ reduce: { by: 50%, slippage: 1% } }]\n',
    `    do: [{ reduce: { by: 20%, slippage: 1% } }]
    escalate: [{ after: 6s, do: [{ reduce: { by: 40%, slippage: 2% } }] }, { after: 9s, do: [{ reduce: { to: 10%, slippage: 3% } }] }]
`,
  );
  const flat: PriceSpec = {
    market: 'BTC_USDT',
    points: [
      [0, '60000'],
      [10_000, '60000'],
      [14_000, '57000'],
      [20_000, '57060'],
      [60_000, '57060'],
    ],
    tickMs: 250,
  };
  const world = await run({
    daemons: [{ name: 'north', config: escalating }],
    prices: [flat],
    faults: [garbled(19_000, 1)],
  });
  const { model } = world.exchange;
  const [position] = model.openPositions('desk');
  const open = model.openOrders('desk').reduce((sum, { left }) => sum + left.toNumber(), 0);
  const events = await actionsOf(world);
  expect(events.map(({ kind, reason }) => `${kind} ${reason}`)).toContain('rejected duplicateId');
  expect((position?.amount.toNumber() ?? 0) - open).toBeLessThanOrEqual(0.051);
});

test('a slow read that another process has overtaken resolves nothing', async () => {
  const slow: TimedFault = {
    atMs: 5_000,
    fault: {
      effect: { kind: 'latency', delayMs: 1_200, jitterMs: 1_500, at: 'reply' },
      probability: 0.5,
      target: { endpoint: 'openPositions' },
    },
  };
  // Nothing is sent, and the market only falls: the distance only shrinks.
  const config = CONFIG.replace('mode: enforce', 'mode: observe');
  const daemons: readonly DaemonSpec[] = [
    { name: 'north', config },
    { name: 'south', config },
  ];
  for (let seed = 1; seed <= 6; seed++) {
    const world = await run({ seed, daemons, faults: [slow], durationMs: 20_000 });
    const events = await actionsOf(world);
    expect(events.some(({ kind }) => kind === 'intentOpened')).toBe(true);
    expect(
      events.filter(({ reason }) => reason === 'resolved:ruleResolved'),
      `seed ${seed}`,
    ).toEqual([]);
  }
});
