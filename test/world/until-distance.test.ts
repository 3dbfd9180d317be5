import { expect, test } from 'vitest';
import { openWorld } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 1s, alert: 250ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 11% } }
    do: [{ reduce: { untilDistance: 10%, slippage: 1% } }]
    severity: critical
`;

const FALL_MS = 30_000;

/** A slow fall that continues after the requested distance has been reached. */
const WORLD: WorldSpec = {
  seed: 9,
  durationMs: FALL_MS + 160_000,
  exchange: {
    accounts: [longAccount('4500')],
    depth: '5',
  },
  prices: [
    {
      market: 'BTC_USDT',
      points: [
        [0, '56500'],
        [FALL_MS, '56500'],
        [FALL_MS + 160_000, '54000'],
      ],
      tickMs: 100,
    },
  ],
  daemons: [{ name: 'north', config: CONFIG }],
};

test('untilDistance sends nothing new once the condition of its rule has cleared, however long the rule is kept firing', async () => {
  const config = CONFIG.replace('clearAbove: 11% } }', 'clearAbove: 8% } }\n    keepFiringFor: 10m').replace(
    'cadence:',
    'acting: { distanceTolerance: 0% }\ncadence:',
  );
  const world = openWorld({ ...WORLD, daemons: [{ name: 'north', config }] });
  await world.run();
  const { model } = world.exchange;
  expect(model.ledger({ kinds: ['fill'], accountId: 'desk-1' }).length).toBeGreaterThan(0);
  expect(model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' }).length).toBeLessThan(4);
  expect(model.ledger({ kinds: ['liquidation_started'] })).toEqual([]);
});

test('a reduction until a distance does not follow a falling market with an order every half second', async () => {
  const world = openWorld(WORLD);
  await world.run();
  const { model } = world.exchange;
  const orders = model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' });
  const fills = model.ledger({ kinds: ['fill'], accountId: 'desk-1' });
  expect(fills.length).toBeGreaterThan(0);
  expect(orders.length).toBeLessThan(8);
  expect(model.ledger({ kinds: ['liquidation_started'] })).toEqual([]);
});

test('under isolated margin a position does not shrink to a tiny rest that is liquidated', async () => {
  const world = openWorld({
    ...WORLD,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '4500' },
          leverage: 10,
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500', entry: '56500' }],
        },
      ],
      prices: { BTC_USDT: '56500' },
      readings: { marginModel: 'isolated' },
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '56500'],
          [FALL_MS, '56500'],
          [FALL_MS + 160_000, '50000'],
        ],
        tickMs: 100,
      },
    ],
  });
  await world.run();
  const { model } = world.exchange;
  expect(model.ledger({ kinds: ['liquidation_started'] })).toEqual([]);
  expect(model.openPositions('desk-1')).toEqual([]);
  // The first one learns, the second one closes.
  expect(model.ledger({ kinds: ['fill'], accountId: 'desk-1' }).length).toBeLessThan(4);
});
