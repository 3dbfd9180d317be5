import process from 'node:process';
import { expect, test } from 'vitest';
import { readFault } from '../../src/simulator/control/fault-routes.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld } from '../../src/world/open-world.ts';
import type { TimedFault } from '../../src/world/spec.ts';
import { sliceOf } from '../support/slice.ts';

/** What the sets leave in the exchange's book brings an account through where no order is taken any more. */

const START = 60_000;
/** Before that the stops are placed; then all orders are refused, and the fall begins. */
const CALM_MS = 30_000;
/** Two hours by `SETS_REFUSED_MS=7200000`; the suite runs a slice of it. */
const REFUSED_MS = Number(process.env['SETS_REFUSED_MS'] ?? 150_000);

const configOf = (set: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 5s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${set}] }
`;

const CASES = [
  { set: 'conservative', leverage: 3 },
  { set: 'conservative', leverage: 5 },
  { set: 'balanced', leverage: 5 },
  { set: 'balanced', leverage: 10 },
  { set: 'last-resort', leverage: 5 },
  { set: 'last-resort', leverage: 10 },
].flatMap(({ set, leverage }) =>
  (['long', 'short'] as const).flatMap((side) =>
    // A minute, and ten seconds.
    [60_000, 10_000].map((fallMs) => ({ set, leverage, side, fallMs })),
  ),
);

// Five is prime to the sides and the times: a slice has all of them.
test.each(sliceOf(CASES, 5, 'sets whose orders are refused'))(
  '$set, $leverage x $side: all orders refused from before a move of $fallMs ms on: it comes through by its standing stops alone',
  async ({ set, leverage, side, fallMs }) => {
    const faults: readonly TimedFault[] = [
      {
        atMs: CALM_MS,
        untilMs: CALM_MS + REFUSED_MS,
        fault: { effect: { kind: 'refusal', of: 'orders' } },
      },
    ];
    // Past where the account would be gone: 60 % at 3x, 30 % at 10x.
    const share = (1 / leverage) * 1.2 * (side === 'long' ? -1 : 1);
    const world = openWorld({
      seed: 21,
      durationMs: CALM_MS + REFUSED_MS + 60_000,
      exchange: {
        accounts: [
          {
            id: 'desk-1',
            collateral: { USDT: String(Math.round((START * 0.5) / leverage)) },
            leverage,
            positions: [{ market: 'BTC_PERP', side, amount: '0.500' }],
          },
        ],
        depth: '5',
      },
      prices: [
        {
          market: 'BTC_USDT',
          points: [
            [0, String(START)],
            [CALM_MS, String(START)],
            [CALM_MS + fallMs, String(Math.round(START * (1 + share)))],
          ],
          tickMs: 100,
        },
      ],
      daemons: [{ name: 'north', config: configOf(set) }],
      faults,
      events: [],
    });
    for (const [index, { fault }] of faults.entries())
      readFault(world.exchange, fault, `faults[${index}].fault`);
    await world.run();
    const entries = (...kinds: LedgerEntry['kind'][]) =>
      world.exchange.model.ledger({ kinds, accountId: 'desk-1' });
    expect(world.errors).toEqual([]);
    expect(entries('liquidation_started')).toEqual([]);
    expect(entries('fill').at(-1)?.details?.['sizeAfter']).toBe('0');
    // Placed while orders were taken, and each filled at most once.
    const placed = entries('order_placed');
    expect(placed.every(({ atMs }) => atMs - (placed[0]?.atMs ?? 0) < CALM_MS)).toBe(true);
    expect(entries('fill').length).toBeLessThanOrEqual(placed.length);
  },
);
