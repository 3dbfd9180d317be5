import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

const BREACH_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], timeouts: { attempt: 4s, call: 8s } }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near, calm] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 3%, clearAbove: 5% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
  - id: calm
    on: position
    when: { markPrice: { above: 60050 } }
    do: [{ protect: { at: 60%, slippage: 1% } }]
`;

/**
 * Distance to liquidation falls below 3 % at once and stays there. Earlier a stop has come and gone, so that the open
 * orders in the market are known.
 */
function slowWorld(roundTripMs: number): WorldSpec {
  return {
    seed: 3,
    durationMs: BREACH_MS + 30_000,
    exchange: {
      accounts: [longAccount('4000')],
    },
    daemons: [{ name: 'north', config: CONFIG }],
    network: { toExchange: roundTripMs / 2, toDaemon: roundTripMs / 2 },
    events: [
      { atMs: 5_000, kind: 'setPrice', market: 'BTC_USDT', price: '60100' },
      { atMs: 35_000, kind: 'setPrice', market: 'BTC_USDT', price: '60000' },
      { atMs: BREACH_MS, kind: 'setPrice', market: 'BTC_USDT', price: '54600' },
    ],
  };
}

interface Measured {
  /** When the reply that showed the breach arrived at the daemon. */
  readonly shownMs: number;
  /** When the first order after it left the daemon. */
  readonly leftMs: number;
}

/** By the exchange: its log of requests and its ledger. */
function measure(world: World, roundTripMs: number): Measured {
  const { startMs, exchange } = world;
  const breachMs = startMs + BREACH_MS;
  const read = exchange.log
    .list()
    .find(({ endpoint, atMs }) => endpoint === 'openPositions' && atMs >= breachMs);
  const order = exchange.model
    .ledger({ kinds: ['order_placed'], accountId: 'desk-1' })
    .find(({ atMs }) => atMs > breachMs);
  return {
    shownMs: (read?.atMs ?? Number.NaN) - startMs + roundTripMs / 2,
    leftMs: (order?.atMs ?? Number.POSITIVE_INFINITY) - startMs - roundTripMs / 2,
  };
}

test.each(sliceOf([800, 1_500, 3_000], 3, 'round trips of one account'))(
  'position reads and orders that take %i ms: the account survives a fall that liquidates it without the daemon',
  async (roundTripMs) => {
    const spec: WorldSpec = {
      ...slowWorld(roundTripMs),
      durationMs: BREACH_MS + 150_000,
      events: [],
      prices: [
        {
          market: 'BTC_USDT',
          points: [
            [0, '60000'],
            [BREACH_MS, '60000'],
            [BREACH_MS + 120_000, '51000'],
          ],
          tickMs: 100,
        },
      ],
    };
    const liquidations = async (daemons: WorldSpec['daemons']): Promise<number> => {
      const world = openWorld({ ...spec, daemons });
      await world.run();
      return world.exchange.model.ledger({ kinds: ['liquidation_started'] }).length;
    };
    expect(await liquidations([])).toBeGreaterThan(0);
    expect(await liquidations(spec.daemons)).toBe(0);
  },
);

test.each(sliceOf([100, 400, 800, 1_500, 3_000], 3, 'round trips of several accounts'))(
  'reads and orders that take %i ms: the first order is sent within a round trip of the reply that showed the breach',
  async (roundTripMs) => {
    const world = openWorld(slowWorld(roundTripMs));
    await world.run();
    const { shownMs, leftMs } = measure(world, roundTripMs);
    expect(leftMs - shownMs).toBeLessThanOrEqual(roundTripMs);
    expect(leftMs).toBeGreaterThanOrEqual(shownMs);
    expect(world.errors).toEqual([]);
  },
);
