import { describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { isOurs } from '../support/own-orders.ts';

/** Positions of about the minimum amount, which no share can be taken of; by the exchange's ledger. */

const FALL_MS = 10_000;

async function play(amount: string, collateral: string, when: string, action: string, minAmount = '0.001') {
  const world = openWorld({
    seed: 3,
    durationMs: 100_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: collateral },
          positions: [{ market: 'BTC_PERP', side: 'long', amount }],
        },
      ],
      markets: { BTC_PERP: { minAmount } },
      depth: '5',
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [FALL_MS, '60000'],
          [FALL_MS + 80_000, '54000'],
        ],
        tickMs: 100,
      },
    ],
    daemons: [
      {
        name: 'north',
        config: `mode: enforce
exchange: { baseUrls: ["https://one.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "${minAmount}", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near], cadence: { calm: 1s, alert: 500ms } }
rules:
  - id: near
    on: ${when.startsWith('joint') ? 'account' : 'position'}
    when: { ${when} }
    do: [{ reduce: { ${action}, slippage: [2%, 3%] } }]
    severity: critical
`,
      },
    ],
    network: { toExchange: 50, toDaemon: 50 },
  });
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

const entries = (world: World, kind: 'order_placed' | 'liquidation_started' | 'fill') =>
  world.exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' });
const sizeLeft = (world: World): number =>
  world.exchange.model.openPositions('desk-1')[0]?.amount.toNumber() ?? 0;

const NEAR = 'liquidationDistance: { below: 4%, clearAbove: 7% }';
const CALLED = 'liquidationState: { in: [margin_call] }';
const JOINT = 'jointDistance: { below: 4%, clearAbove: 7% }';

describe('a reduction that rounds to nothing', () => {
  test.each([
    // Collateral, so that liquidation is about 8 % away at first.
    ['by: 50%', NEAR, '0.001', '6.48', 0],
    ['to: 20%', NEAR, '0.001', '6.48', 0],
    ['untilDistance: 6%', NEAR, '0.001', '6.48', 0],
    ['by: 50%', CALLED, '0.001', '6.48', 0],
    ['toNotional: "50"', NEAR, '0.001', '6.48', 0],
    ['until: { jointDistance: 6% }', JOINT, '0.001', '6.48', 0],
    // A third of two steps, an eighth of three.
    ['by: 33%', NEAR, '0.002', '12.96', 0.001],
    ['by: 12%', NEAR, '0.003', '19.44', 0.002],
    // Dust beside the minimum.
    ['by: 50%', NEAR, '0.0015', '9.72', 0],
  ])(
    '%s when %s of %s closes the next amount that can be sent',
    async (action, when, amount, collateral, left) => {
      const world = await play(amount, collateral, when, action);
      expect(entries(world, 'fill').filter(isOurs).length).toBeGreaterThan(0);
      if (left === 0) expect(entries(world, 'liquidation_started')).toEqual([]);
      const first = entries(world, 'fill').find(isOurs);
      expect(Number(amount) - Number(first?.amount)).toBeCloseTo(left, 9);
    },
  );

  test('where the minimum is several steps, no more than it is closed', async () => {
    const world = await play('0.012', '77.8', NEAR, 'by: 50%', '0.010');
    expect(sizeLeft(world)).toBeCloseTo(0.002, 9);
  });

  test('a target that the position has already reached takes nothing more', async () => {
    const world = await play('0.002', '12.96', NEAR, 'by: 50%');
    expect(
      entries(world, 'fill')
        .filter(isOurs)
        .map(({ amount }) => Number(amount)),
    ).toEqual([0.001]);
  });
});
