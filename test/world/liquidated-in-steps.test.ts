import { expect, test } from 'vitest';
import { openWorld } from '../../src/world/open-world.ts';
import { longAccount } from './long-account.ts';

/** The exchange closes a quarter of the position in each step, and takes a fee of 0.5 % for it. */

const FALL_MS = 10_000;

test.each([
  ['long', '56000'],
  ['short', '64000'],
] as const)(
  'what the exchange liquidates of a %s in steps teaches nothing of maintenance and margin',
  async (side, to) => {
    const world = openWorld({
      seed: 4,
      durationMs: FALL_MS + 130_000,
      exchange: {
        accounts: [longAccount('2000', { positions: [{ market: 'BTC_PERP', side, amount: '0.500' }] })],
        depth: '5',
      },
      prices: [
        {
          market: 'BTC_USDT',
          points: [
            [0, '60000'],
            [FALL_MS, '60000'],
            [FALL_MS + 130_000, to],
          ],
          tickMs: 100,
        },
      ],
      daemons: [
        {
          name: 'north',
          config: `mode: observe
exchange: { baseUrls: ["https://one.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near], cadence: { calm: 500ms, alert: 250ms } }
rules:
  - id: near
    on: position
    when: { size: { above: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`,
        },
      ],
      network: { toExchange: 20, toDaemon: 20 },
    });
    await world.run();
    expect(world.errors).toEqual([]);
    const steps = world.exchange.model.ledger({ kinds: ['liquidation'], accountId: 'desk-1' });
    expect(steps.length).toBeGreaterThan(2);
    const learned = world.daemons
      .flatMap(({ events }) => events)
      .flatMap((event) => (event.kind === 'audited' ? [event.event] : []))
      .filter(({ kind }) => kind === 'maintenanceDiffers' || kind === 'marginLearned');
    expect(learned).toEqual([]);
  },
);
