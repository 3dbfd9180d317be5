import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { sliceOf } from '../support/slice.ts';

/** Pages of the exchange name both 12,000 and 100 requests per 10 s for positions: what if the smaller one applies? */

const IDS = Array.from({ length: 25 }, (_, index) => `desk-${index}`);
const FALL_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 500ms, alert: 250ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${IDS.map((id) => `  - { id: ${id}, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }`).join('\n')}
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [{ reduce: { to: 20%, slippage: 1% } }]
    severity: critical
`;

function worldOf(rateLimitReply: string, isGuarded: boolean): World {
  const spec: WorldSpec = {
    seed: 3,
    durationMs: FALL_MS + 100_000,
    exchange: {
      accounts: IDS.map((id, index) => ({
        id,
        // One of them is in danger, the others share its budget.
        collateral: { USDT: index === 0 ? '4500' : '20000' },
        positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
      })),
      depth: '5',
      readings: { rateLimitReply },
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [FALL_MS, '60000'],
          [FALL_MS + 100_000, '50000'],
        ],
        tickMs: 100,
      },
    ],
    daemons: isGuarded ? [{ name: 'north', config: CONFIG }] : [],
  };
  const world = openWorld(spec);
  const path = '/api/v4/collateral-account/positions/open';
  world.exchange.limiter.replace([{ path, requests: 100, periodMs: 10_000 }]);
  return world;
}

test.each(sliceOf(['json', 'html', 'empty'], 3, 'forms of a refusal'))(
  'with a limit of a hundredth of the documented one, refused in %s, the endangered account is read in time and survives',
  async (rateLimitReply) => {
    const alone = worldOf(rateLimitReply, false);
    await alone.run();
    expect(alone.exchange.model.ledger({ kinds: ['liquidation_started'] })).not.toEqual([]);
    const world = worldOf(rateLimitReply, true);
    await world.run();
    const { model, log } = world.exchange;
    expect(log.list({ status: 429 }).length).toBeGreaterThan(0);
    expect(model.ledger({ kinds: ['liquidation_started'] })).toEqual([]);
    expect(model.ledger({ accountId: 'desk-0', kinds: ['fill'] }).length).toBeGreaterThan(0);
    expect(world.errors).toEqual([]);
  },
);
