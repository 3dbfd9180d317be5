import { expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';

/** Ladders of standing stops, by the ledger of the exchange. */

type Kind = LedgerEntry['kind'];

const START = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 5s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [stops] }
rules:
  - id: stops
    on: position
    when: { markPrice: { above: 1 } }
    do: [{ protect: { ladder: [{ at: 60%, close: 30% }, { at: 72%, close: 40% }, { at: 80%, close: rest }], slippage: 3% } }]
`;

function worldOf(
  points: readonly (readonly [number, string])[],
  changed: Partial<WorldSpec['exchange']> = {},
): World {
  return openWorld({
    seed: 21,
    durationMs: 180_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '6000' },
          leverage: 10,
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
        },
      ],
      depth: '5',
      ...changed,
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: points.map(([at, price]) => [at, price] as [number, string]),
        tickMs: 100,
      },
    ],
    daemons: [{ name: 'north', config: CONFIG }],
  });
}

const DOWN: readonly (readonly [number, string])[] = [
  [0, String(START)],
  [30_000, String(START)],
  [120_000, String(START * 0.8)],
];

const entriesOf = ({ exchange }: World, ...kinds: Kind[]) =>
  exchange.model.ledger({ kinds, accountId: 'desk-1' });

test('in a fall each stop of a ladder closes its part, and the account is not liquidated', async () => {
  const world = worldOf(DOWN);
  await world.run();
  expect(world.errors).toEqual([]);
  const placed = entriesOf(world, 'order_placed').map(({ amount }) => amount);
  expect(placed).toEqual(['0.15', '0.2', '0.15']);
  expect(entriesOf(world, 'fill').map(({ details }) => details?.['sizeAfter'])).toEqual([
    '0.35',
    '0.15',
    '0',
  ]);
  expect(entriesOf(world, 'liquidation_started')).toEqual([]);
});
