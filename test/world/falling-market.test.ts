import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';

const FALL_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [{ reduce: { to: 20%, slippage: 1% } }]
    severity: critical
`;

interface Conditions {
  /** Part of the price at the start that is lost per second. */
  readonly speed: number;
  readonly roundTripMs: number;
  /** Mark less last price, of the price at the start. */
  readonly basis: number;
}

const START = 60_000;

/** A steady fall that ends the account unless it is reduced. */
function fallingWorld({ speed, roundTripMs, basis }: Conditions, isGuarded = true): WorldSpec {
  const fallS = 0.2 / speed;
  const lowest = String(START * 0.8);
  return {
    seed: 5,
    durationMs: FALL_MS + fallS * 1_000 + 20_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '4500' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
        },
      ],
      markets: { BTC_PERP: { basis: String(START * basis) } },
      depth: '5',
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, String(START)],
          [FALL_MS, String(START)],
          [FALL_MS + fallS * 1_000, lowest],
        ],
        tickMs: 100,
      },
    ],
    daemons: isGuarded ? [{ name: 'north', config: CONFIG }] : [],
    network: { toExchange: roundTripMs / 2, toDaemon: roundTripMs / 2 },
  };
}

function ledgerOf(world: World) {
  const { exchange, startMs } = world;
  const of = (kind: 'fill' | 'liquidation_started') =>
    exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' }).map(({ atMs }) => atMs - startMs);
  return {
    fills: of('fill'),
    isLiquidated: of('liquidation_started').length > 0,
  };
}

const CONDITIONS: readonly Conditions[] = [
  { speed: 0.0016, roundTripMs: 800, basis: 0 },
  { speed: 0.003, roundTripMs: 400, basis: 0 },
  { speed: 0.0016, roundTripMs: 100, basis: 0.003 },
  { speed: 0.0016, roundTripMs: 100, basis: -0.003 },
  { speed: 0.001, roundTripMs: 100, basis: 0.01 },
];

test.each(CONDITIONS)(
  'a fall of $speed a second, requests of $roundTripMs ms, mark and last $basis apart: orders trigger, and the account lives',
  async (conditions) => {
    const alone = openWorld(fallingWorld(conditions, false));
    await alone.run();
    expect(ledgerOf(alone).isLiquidated).toBe(true);
    const world = openWorld(fallingWorld(conditions));
    await world.run();
    const { fills, isLiquidated } = ledgerOf(world);
    expect(fills.length).toBeGreaterThan(0);
    expect(isLiquidated).toBe(false);
    expect(world.errors).toEqual([]);
  },
  30_000,
);
