import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';

/** Positions opened while a rule on their account fires; by the exchange's ledger. */

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [all], cadence: { calm: 1s, alert: 500ms } }
rules:
  - id: all
    on: account
    when: { positionCount: { above: 0 } }
    do: [{ protect: { at: 60%, positions: "*" } }]
`;

const OPENED: TimedEvent = {
  atMs: 20_000,
  kind: 'trade',
  account: 'desk-1',
  market: 'ETH_PERP',
  side: 'buy',
  amount: '2',
};

async function play(events: readonly TimedEvent[]): Promise<World> {
  const world = openWorld({
    seed: 5,
    durationMs: 60_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '6000' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
        },
      ],
    },
    daemons: [{ name: 'north', config: CONFIG }],
    events,
    network: { toExchange: 50, toDaemon: 50 },
  });
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

/** Markets with a stop; a tightened one stands beside the first. */
const stopsIn = ({ exchange }: World): readonly string[] =>
  [...new Set(exchange.model.openOrders('desk-1').map(({ market }) => market))].toSorted();

test('a rule on the account keeps a stop for every position: one opened later gets one', async () => {
  expect(stopsIn(await play([OPENED]))).toEqual(['BTC_PERP', 'ETH_PERP']);
});

test('and so does one in a market where another position was closed', async () => {
  const sold: TimedEvent = { ...OPENED, atMs: 10_000, side: 'sell' };
  expect(stopsIn(await play([{ ...OPENED, atMs: 500 }, sold, OPENED]))).toEqual(['BTC_PERP', 'ETH_PERP']);
});

test('and one opened while the daemon is restarted gets one', async () => {
  const kill: TimedEvent = { atMs: 19_000, kind: 'kill', daemon: 'north' };
  const start: TimedEvent = { atMs: 25_000, kind: 'start', daemon: 'north' };
  expect(stopsIn(await play([kill, OPENED, start]))).toEqual(['BTC_PERP', 'ETH_PERP']);
});
