import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { PriceSpec, TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

/** The exchange deleverages positions, including healthy ones: the daemon's reaction, by the exchange's ledger. */

const BREACH_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 1s, alert: 250ms }
acting: { ownOrders: none }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near, cover] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 6%, clearAbove: 9% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
  - id: cover
    on: position
    when: { liquidationDistance: { below: 95% } }
    do: [{ protect: { at: 90%, slippage: 1% } }]
`;

const STANDS: PriceSpec = { market: 'BTC_USDT', points: [[0, '60000']] };
/** A gap to where the rule fires; a while later a slow fall to where its order is reached. */
const FALLS: PriceSpec = {
  market: 'BTC_USDT',
  points: [
    [0, '60000'],
    [BREACH_MS, '60000'],
    [BREACH_MS + 100, '55600'],
    [BREACH_MS + 20_000, '55600'],
    [BREACH_MS + 60_000, '55300'],
  ],
  tickMs: 100,
};

async function play(price: PriceSpec, atMs: number, amount?: string): Promise<World> {
  const deleveraged: TimedEvent = {
    atMs,
    kind: 'condition',
    condition: {
      kind: 'deleverage',
      account: 'desk-1',
      market: 'BTC_PERP',
      ...(amount === undefined ? {} : { amount }),
    },
  };
  const spec: WorldSpec = {
    seed: 9,
    durationMs: BREACH_MS + 240_000,
    exchange: {
      accounts: [longAccount('4500')],
      depth: '5',
    },
    prices: [price],
    daemons: [{ name: 'north', config: CONFIG }],
    events: [deleveraged],
  };
  const world = openWorld(spec);
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

const sizeOf = ({ exchange }: World): number =>
  exchange.model.openPositions('desk-1')[0]?.amount.toNumber() ?? 0;

const soldByUs = ({ exchange }: World): number =>
  exchange.model
    .ledger({ accountId: 'desk-1', kinds: ['fill'] })
    .filter(isOurs)
    .reduce((sum, { amount }) => sum + Number(amount), 0);

test.each(sliceOf(['0.1', '0.2', '0.25'], 3, 'amounts that are taken away'))(
  "auto-deleveraging of %s while a daemon's order waits: no more is sold than the target allows",
  async (amount) => {
    const world = await play(FALLS, BREACH_MS + 5_000, amount);
    const left = 0.25 - Number(amount);
    // The rest of 0.5 may be far enough away.
    expect(soldByUs(world) === 0 || Math.abs(soldByUs(world) - left) < 1e-9).toBe(true);
    expect(sizeOf(world)).toBeGreaterThanOrEqual(0.25);
  },
);

test('auto-deleveraging of a part while nothing fires: the stop is resized to the rest', async () => {
  const world = await play(STANDS, BREACH_MS, '0.3');
  expect(soldByUs(world)).toBe(0);
  expect(sizeOf(world)).toBe(0.2);
  const stops = world.exchange.model.openOrders('desk-1');
  expect(stops.map(({ amount }) => amount.toNumber())).toEqual([0.2]);
});

test('auto-deleveraging of a whole position: no order of the daemon is left, and nothing is opened', async () => {
  const world = await play(STANDS, BREACH_MS);
  expect(sizeOf(world)).toBe(0);
  expect(soldByUs(world)).toBe(0);
  expect(world.exchange.model.openOrders('desk-1')).toEqual([]);
});
