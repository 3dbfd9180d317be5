import { expect, test } from 'vitest';
import { openWorld } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';

const RETRY_AFTER_MS = 4_000;
const CALM_MS = 4_000;
const DURATION_MS = 90_000;
/** A wait is at most a tenth longer, to spread the retries. */
const LONGEST_GAP_MS = CALM_MS + RETRY_AFTER_MS * 1.2 + 500;

const IDS = ['limited', 'other', 'third'];
const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example"] }
cadence: { calm: ${CALM_MS}ms, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${IDS.map((id) => `  - { id: ${id}, apiKey: { env: KEY_${id} }, apiSecret: { env: SECRET_${id} }, rules: [near] }`).join('\n')}
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** The exchange reports the limit of one key as reached, again and again. */
function limitedWorld(seed: number): WorldSpec {
  return {
    seed,
    durationMs: DURATION_MS,
    exchange: {
      accounts: IDS.map((id) => ({
        id,
        collateral: { USDT: '60000' },
        positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.200' }],
      })),
    },
    daemons: [{ name: 'north', config: CONFIG }],
    network: { toExchange: { minMs: 5, maxMs: 80 } },
    faults: [
      {
        atMs: 10_000,
        fault: {
          effect: { kind: 'status', status: 429, retryAfterMs: RETRY_AFTER_MS },
          probability: 0.7,
          target: { endpoint: 'openPositions', account: 'limited' },
        },
      },
    ],
  };
}

test.each([1, 2, 3, 4])(
  'an account that is rate-limited again and again leaves the others their turns (seed %d)',
  async (seed) => {
    const world = openWorld(limitedWorld(seed));
    await world.run();
    const log = world.exchange.log.list().filter(({ endpoint }) => endpoint === 'openPositions');
    expect(log.filter(({ status }) => status === 429).length).toBeGreaterThan(3);
    const longestMs = IDS.slice(1).map((id) => {
      const askedMs = log
        .filter(({ account, status }) => account === id && status === 200)
        .map(({ atMs }) => atMs);
      const gapsMs = askedMs.map((atMs, at) => (askedMs[at + 1] ?? world.startMs + DURATION_MS) - atMs);
      return Math.max(...gapsMs);
    });
    expect(Math.max(...longestMs)).toBeLessThan(LONGEST_GAP_MS);
  },
);
