import { expect, test } from 'vitest';
import { createRandom } from '../../src/simulator/scenarios/random.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { DaemonSpec, WorldSpec } from '../../src/world/spec.ts';
import { sliceOf } from '../support/slice.ts';

/** `WORLDS=100 npm test -- test/world/clean` runs as many; default: a slice of 6. */
const WORLDS = Number(process.env['WORLDS'] ?? 6);
const ALL = Array.from({ length: WORLDS }, (_, index) => index + 1);
const SEEDS = process.env['WORLDS'] === undefined ? sliceOf(ALL, 6, 'clean worlds') : ALL;
const MINUTE_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://exchange.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [balanced] }
`;

/** A crash that liquidates every unprotected account, without other trouble. */
function cleanWorld(seed: number, daemons: readonly DaemonSpec[]): WorldSpec {
  const random = createRandom(seed);
  const minutes = 15 + random.below(30);
  const isLong = random.below(3) > 0;
  return {
    seed,
    durationMs: (minutes + 5) * MINUTE_MS,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: String(3_300 + random.below(900)) },
          positions: [
            { market: 'BTC_PERP', side: isLong ? 'long' : 'short', amount: `0.${450 + random.below(100)}` },
          ],
        },
      ],
    },
    prices: [
      {
        market: 'BTC_USDT',
        scenario: {
          name: isLong ? 'crash' : 'rally',
          magnitude: '0.25',
          durationMs: minutes * MINUTE_MS,
          noise: 0.0003,
        },
      },
    ],
    daemons,
  };
}

function isLiquidated(world: World): boolean {
  return world.exchange.model.ledger({ kinds: ['liquidation_started'] }).length > 0;
}

test(
  'without other trouble the daemon saves every account that a crash would have liquidated',
  async () => {
    for (const seed of SEEDS) {
      const alone = openWorld(cleanWorld(seed, []));
      await alone.run();
      expect(isLiquidated(alone), `seed ${seed}, unprotected`).toBe(true);
      const guarded = openWorld(cleanWorld(seed, [{ name: 'daemon', config: CONFIG }]));
      await guarded.run();
      expect(isLiquidated(guarded), `seed ${seed}, protected`).toBe(false);
      expect(guarded.errors).toEqual([]);
    }
  },
  600_000 + 30_000 * WORLDS,
);
