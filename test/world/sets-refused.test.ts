import process from 'node:process';
import { expect, test } from 'vitest';
import { decimal, formatDecimal, toNumber, ZERO } from '../../src/core/quantities/decimal.ts';
import { readFault } from '../../src/simulator/control/fault-routes.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { firstPrice } from '../../src/simulator/prices/price-file.ts';
import { pathSource } from '../../src/simulator/prices/price-path.ts';
import { openWorld } from '../../src/world/open-world.ts';
import type { PriceSpec, TimedFault } from '../../src/world/spec.ts';
import { crashPrices } from '../rulesets/files.ts';
import { windowsOf } from '../rulesets/tune-windows.ts';
import { sliceOf } from '../support/slice.ts';

/** The orders that the sets leave in the exchange's book save an account when no further order is accepted. */

const START = 60_000;
/** Until then the stops are placed; afterwards all orders are refused, and the fall begins. */
const CALM_MS = 30_000;
/** `SETS_REFUSED_MS=7200000` plays two hours; the suite runs a slice of it. */
const REFUSED_MS = Number(process.env['SETS_REFUSED_MS'] ?? 150_000);

const configOf = (set: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 5s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${set}] }
`;

/** Length of the wildest stretch of a real crash; the suite takes ten minutes of it. */
const CRASH_MS = Number(process.env['SETS_REFUSED_MS'] ?? 600_000);

const SETS = [
  { set: 'conservative', leverage: 3 },
  { set: 'conservative', leverage: 5 },
  { set: 'balanced', leverage: 5 },
  { set: 'balanced', leverage: 10 },
  { set: 'last-resort', leverage: 5 },
  { set: 'last-resort', leverage: 10 },
];
const CASES = SETS.flatMap(({ set, leverage }) =>
  (['long', 'short'] as const).flatMap((side) =>
    // A minute, and ten seconds.
    [60_000, 10_000].map((fallMs) => ({ set, leverage, side, fallMs })),
  ),
);

interface Refused {
  readonly set: string;
  readonly leverage: number;
  readonly side: 'long' | 'short';
  readonly start: number;
  readonly points: readonly (readonly [atMs: number, price: string])[];
  /** Interval between two points; default: there are points enough. */
  readonly tickMs?: number;
  readonly refusedMs: number;
}

const AFTER_MS = 60_000;

/** Plays an account whose orders are all refused after the calm, where `points` begin. */
async function playRefused({ set, leverage, side, start, points, tickMs, refusedMs }: Refused) {
  const faults: readonly TimedFault[] = [
    { atMs: CALM_MS, untilMs: CALM_MS + refusedMs, fault: { effect: { kind: 'refusal', of: 'orders' } } },
  ];
  const prices: PriceSpec = {
    market: 'BTC_USDT',
    points: [[0, String(start)], ...points.map(([atMs, price]) => [CALM_MS + atMs, price] as const)],
    ...(tickMs === undefined ? {} : { tickMs }),
  };
  const amount = (30_000 / start).toFixed(3);
  const world = openWorld({
    seed: 21,
    durationMs: CALM_MS + refusedMs + AFTER_MS,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: String(Math.round((Number(amount) * start) / leverage)) },
          leverage,
          positions: [{ market: 'BTC_PERP', side, amount }],
        },
      ],
      prices: { BTC_USDT: String(start) },
      depth: '5',
    },
    prices: [prices],
    daemons: [{ name: 'north', config: configOf(set) }],
    faults,
    events: [],
  });
  for (const [index, { fault }] of faults.entries())
    readFault(world.exchange, fault, `faults[${index}].fault`);
  await world.run();
  expect(world.errors).toEqual([]);
  const entries = (...kinds: LedgerEntry['kind'][]) =>
    world.exchange.model.ledger({ kinds, accountId: 'desk-1' });
  return { world, entries };
}

// Five is prime to the sides and the times: a slice has all of them.
test.each(sliceOf(CASES, 5, 'sets whose orders are refused'))(
  '$set, $leverage x $side: all orders refused from before a move of $fallMs ms on: it survives by its standing stops alone',
  async ({ set, leverage, side, fallMs }) => {
    // Past where the account would be liquidated: 60 % at 3x, 30 % at 10x.
    const share = (1 / leverage) * 1.2 * (side === 'long' ? -1 : 1);
    const points = [
      [0, String(START)],
      [fallMs, String(Math.round(START * (1 + share)))],
    ] as const;
    const scene = { set, leverage, side, start: START, points, tickMs: 100, refusedMs: REFUSED_MS };
    const { entries } = await playRefused(scene);
    expect(entries('liquidation_started')).toEqual([]);
    expect(entries('fill').at(-1)?.details?.['sizeAfter']).toBe('0');
    // Placed while orders were accepted, and each filled at most once.
    const placed = entries('order_placed');
    expect(placed.every(({ atMs }) => atMs - (placed[0]?.atMs ?? 0) < CALM_MS)).toBe(true);
    expect(entries('fill').length).toBeLessThanOrEqual(placed.length);
  },
);

const CRASHES = [...crashPrices('fit'), ...crashPrices('report')];
const REAL_CASES = CRASHES.flatMap(({ id, markets: [market] }) =>
  market === undefined
    ? []
    : windowsOf(id, [market], { lengthMs: CRASH_MS, count: 1 }).wild.flatMap(({ prices: [prices] }) =>
        prices === undefined || !('series' in prices)
          ? []
          : SETS.map(({ set, leverage }) => ({ id, set, leverage, series: prices.series })),
      ),
);

test
  .skipIf(REAL_CASES.length === 0)
  .each(sliceOf(REAL_CASES, 12, 'sets whose orders are refused in a real crash'))(
  '$id, $set at $leverage x: all orders refused from before the wildest stretch on: no liquidation, and nothing is sent twice',
  async ({ set, leverage, series }) => {
    const start = toNumber(firstPrice(series));
    const source = pathSource({
      series,
      model: 'adverse',
      adverse: 'low',
      priceStep: decimal('0.1'),
      seed: 1,
      market: 'BTC_PERP',
      startMs: 0,
    });
    const points: (readonly [number, string])[] = [];
    for (let atMs = source.nextMs(); atMs !== undefined && atMs <= CRASH_MS; atMs = source.nextMs())
      points.push([atMs, formatDecimal(source.take(ZERO))]);
    const side = isFall(points, start) ? 'long' : 'short';
    const { world, entries } = await playRefused({ set, leverage, side, start, points, refusedMs: CRASH_MS });
    expect(entries('liquidation_started')).toEqual([]);
    const ours = (atMs: number): boolean => atMs < world.startMs + CALM_MS;
    const placed = entries('order_placed');
    const before = placed.filter(({ atMs }) => ours(atMs));
    expect(before.length).toBeGreaterThan(0);
    const untilMs = world.startMs + CALM_MS + CRASH_MS;
    expect(placed.filter(({ atMs }) => !ours(atMs) && atMs < untilMs)).toEqual([]);
    expect(entries('order_cancelled').filter(({ atMs }) => atMs < untilMs)).toEqual([]);
    // The final stops cover the position once.
    const size = world.exchange.model.openPositions('desk-1')[0]?.amount ?? ZERO;
    const standing = world.exchange.model.openOrders('desk-1', 'BTC_PERP');
    const sum = standing.reduce((total, { left }) => total.plus(left), ZERO);
    expect(sum.lte(size), `${formatDecimal(sum)} stand for ${formatDecimal(size)}`).toBe(true);
  },
);

/** Whether the largest move away from the start is a fall. */
function isFall(points: readonly (readonly [number, string])[], start: number): boolean {
  const prices = points.map(([, price]) => Number(price));
  return start - Math.min(...prices) > Math.max(...prices) - start;
}
