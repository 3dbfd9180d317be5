import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';

/** A cross account of two legs under a rule on the account: by the exchange's ledger. */

function play(collateral: string, long: string, short: string): World {
  return openWorld({
    seed: 11,
    durationMs: 600_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: collateral },
          positions: [
            { market: 'BTC_PERP', side: 'long', amount: long },
            { market: 'ETH_PERP', side: 'short', amount: short },
          ],
        },
      ],
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [30_000, '60000'],
          [600_000, '42900'],
        ],
        tickMs: 500,
      },
    ],
    daemons: [
      {
        name: 'north',
        config: `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 10s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
  ETH_PERP: { amountStep: "0.01", priceStep: "0.01", minAmount: "0.01", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [account] }
rules:
  - id: account
    on: account
    when: { jointDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { until: { jointDistance: 10% }, slippage: 1%, positions: "*" } }]
    severity: critical
`,
      },
    ],
  });
}

test.each([
  ['5000', '0.5', '10'],
  ['5000', '0.25', '20'],
  ['6000', '1', '15'],
])(
  'the long leg falls while the short one, whose market stands still, waits (%s USDT, %s BTC, %s ETH)',
  async (money, long, short) => {
    const world = play(money, long, short);
    await world.run();
    const { model } = world.exchange;
    const placed = model.ledger({ accountId: 'desk-1', kinds: ['order_placed'] });
    const fills = model.ledger({ accountId: 'desk-1', kinds: ['fill'] });
    // What is to be bought back of the short leg never triggers.
    expect(placed.filter(({ market }) => market === 'ETH_PERP')).not.toEqual([]);
    expect(fills.filter(({ market }) => market === 'ETH_PERP')).toEqual([]);
    expect(model.ledger({ accountId: 'desk-1', kinds: ['liquidation_started'] })).toEqual([]);
    expect(world.errors).toEqual([]);
  },
);
