import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example"], cancelCoversStops: false }
markets: { BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% } }
accounts: [{ id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }]
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 6%, clearAbove: 30% } }
    do: [{ reduce: { to: 20%, slippage: 2% } }]
`;

const START = 60_000;
const CALM_MS = 20_000;

/**
 * The mark is 1 % above the last price, so the first order becomes the opposite trigger. No cancel removes it, and
 * further orders must fit beside it.
 */
function fall(readings: Readonly<Record<string, string>> = {}): WorldSpec {
  return {
    seed: 5,
    durationMs: CALM_MS + 60_000,
    exchange: {
      accounts: [longAccount('2100', { leverage: 20 })],
      markets: { BTC_PERP: { basis: String(START * 0.01) } },
      readings: {
        cancelCoversStops: 'no',
        wrongSideActivation: 'opposite',
        reduceOnlyRoom: 'refused',
        ...readings,
      },
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, String(START)],
          [CALM_MS, String(START)],
          [CALM_MS + 50_000, String(START * 0.94)],
        ],
        tickMs: 100,
      },
    ],
    daemons: [{ name: 'north', config: CONFIG }],
  };
}

type Kind = 'order_placed' | 'order_rejected' | 'fill';

function amountsOf({ exchange }: World, kind: Kind): readonly number[] {
  return exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' }).map(({ amount }) => Number(amount));
}

test('an order on the wrong side is remembered after a cancel that does not reach it, and the next ones are not refused again and again', async () => {
  const world = openWorld(fall());
  await world.run();
  expect(amountsOf(world, 'order_placed')).toEqual([0.4, 0.1]);
  expect(amountsOf(world, 'fill')).toEqual([0.1]);
  expect(amountsOf(world, 'order_rejected').length).toBeLessThan(20);
});

test.each([
  ['below the mark', 0.01],
  ['0.3 % below the mark', 0.003],
])(
  'where the exchange shows a last price %s, the first order is on the right side of it',
  async (_, share) => {
    const spec = fall({ publicPrices: 'shown' });
    const exchange = { ...spec.exchange, markets: { BTC_PERP: { basis: String(START * share) } } };
    const world = openWorld({ ...spec, exchange });
    await world.run();
    expect(amountsOf(world, 'fill')[0]).toBe(0.4);
    expect(amountsOf(world, 'order_placed')[0]).toBe(0.4);
    expect(amountsOf(world, 'order_rejected')).toEqual([]);
  },
);
