import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

const FALL_MS = 60_000;
const PRICE_STEP = '0.1';

const configOf = (priceStep: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "${priceStep}", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near, high] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [{ reduce: { to: 20%, slippage: 1% } }]
    severity: critical
  - id: high
    on: position
    when: { markPrice: { above: 61000 } }
    do: [{ protect: { at: 60%, slippage: 1% } }]
`;

const CONFIG = configOf(PRICE_STEP);

interface Conditions {
  /** Part of the start price lost per second. */
  readonly speed: number;
  readonly roundTripMs: number;
  /** Mark less last price, as a part of the start price. */
  readonly basis: number;
  readonly readings?: Readonly<Record<string, unknown>>;
  /** The price during the first half minute. */
  readonly before?: number;
  readonly priceStep?: string;
}

const START = 60_000;

/** A steady fall that liquidates the account unless it is reduced. */
function fallingWorld(
  { speed, roundTripMs, basis, before = START, readings = {}, priceStep = PRICE_STEP }: Conditions,
  isGuarded = true,
): WorldSpec {
  const fallS = 0.2 / speed;
  const lowest = String(START * 0.8);
  return {
    seed: 5,
    durationMs: FALL_MS + fallS * 1_000 + 20_000,
    exchange: {
      accounts: [longAccount('4500')],
      markets: { BTC_PERP: { basis: String(START * basis), priceStep } },
      readings,
      depth: '5',
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, String(before)],
          [30_000, String(before)],
          [30_100, String(START)],
          [FALL_MS, String(START)],
          [FALL_MS + fallS * 1_000, lowest],
        ],
        tickMs: 100,
      },
    ],
    daemons: isGuarded ? [{ name: 'north', config: configOf(priceStep) }] : [],
    network: { toExchange: roundTripMs / 2, toDaemon: roundTripMs / 2 },
  };
}

function ledgerOf(world: World) {
  const { exchange, startMs } = world;
  const of = (kind: 'order_placed' | 'fill' | 'liquidation_started') =>
    exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' }).map(({ atMs }) => atMs - startMs);
  return {
    orders: of('order_placed').filter((atMs) => atMs > FALL_MS),
    fills: of('fill'),
    isLiquidated: of('liquidation_started').length > 0,
  };
}

const CONDITIONS: readonly Conditions[] = [
  { speed: 0.0016, roundTripMs: 800, basis: 0 },
  { speed: 0.003, roundTripMs: 400, basis: 0 },
  { speed: 0.0016, roundTripMs: 100, basis: 0.003 },
  { speed: 0.0016, roundTripMs: 100, basis: -0.003 },
  { speed: 0.003, roundTripMs: 100, basis: 0.003 },
  { speed: 0.003, roundTripMs: 100, basis: -0.003 },
  { speed: 0.0016, roundTripMs: 800, basis: 0.003 },
  { speed: 0.001, roundTripMs: 100, basis: -0.003 },
  { speed: 0.001, roundTripMs: 100, basis: 0.01 },
  { speed: 0.0016, roundTripMs: 800, basis: 0.01 },
  { speed: 0.001, roundTripMs: 100, basis: -0.01 },
  { speed: 0.0016, roundTripMs: 400, basis: -0.01 },
];

/** Bound on orders of one fall, from the adjustments learned by passed and by filled orders. */
const MOST_ORDERS = 15;

test.each(sliceOf(CONDITIONS, 4, 'conditions of a fall'))(
  'a fall of $speed a second, requests of $roundTripMs ms, mark and last $basis apart: orders trigger, and the account survives',
  async (conditions) => {
    const alone = openWorld(fallingWorld(conditions, false));
    await alone.run();
    expect(ledgerOf(alone).isLiquidated).toBe(true);
    const world = openWorld(fallingWorld(conditions));
    await world.run();
    const { fills, isLiquidated, orders } = ledgerOf(world);
    expect(fills.length).toBeGreaterThan(0);
    expect(orders.length).toBeLessThanOrEqual(MOST_ORDERS);
    expect(isLiquidated).toBe(false);
    expect(world.errors).toEqual([]);
  },
);

test.each([
  [0.003, '0.1'],
  [0.01, '0.1'],
  // Like most coins: a step of 0.02 % of the price leaves little room for coarser ones.
  [0.003, '10'],
  [0.01, '10'],
])(
  'an exchange that refuses activations on the wrong side, mark and last %s apart, price step %s: the gap widens until one is accepted',
  async (basis, priceStep) => {
    for (const speed of [0.001, 0.003]) {
      const readings = { wrongSideActivation: 'refused' };
      const world = openWorld(fallingWorld({ speed, roundTripMs: 800, basis, priceStep, readings }));
      await world.run();
      const { fills, isLiquidated } = ledgerOf(world);
      expect(fills.length).toBeGreaterThan(0);
      expect(isLiquidated).toBe(false);
    }
  },
);

test('a lane that had nothing to do knows how fast the market falls: its first order triggers', async () => {
  // Above 61,000 a stop comes and goes, so that the open orders of the market are known when the fall begins.
  const conditions = { speed: 0.0016, roundTripMs: 800, basis: 0, before: 61_200 };
  const world = openWorld(fallingWorld(conditions));
  await world.run();
  const { orders, fills, isLiquidated } = ledgerOf(world);
  expect(isLiquidated).toBe(false);
  expect(fills[0]).toBeLessThan(orders[1] ?? Number.POSITIVE_INFINITY);
});

/** Liquidation price of the account above, with its maintenance margin of 3 %. */
const LIQUIDATION = (START * 0.85) / 0.97;

/** Distance to liquidation when the first order after the beginning of the fall arrived. */
async function firstOrderDistance(speed: number): Promise<number> {
  const spec = fallingWorld({ speed, roundTripMs: 400, basis: 0 }, false);
  const config = CONFIG.slice(0, CONFIG.indexOf('rules:\n')).replace('[near, high]', '[last-resort]');
  const world = openWorld({ ...spec, daemons: [{ name: 'north', config }] });
  await world.run();
  const { orders, isLiquidated } = ledgerOf(world);
  expect(isLiquidated).toBe(false);
  const mark = START * (1 - (speed * ((orders[0] ?? Number.NaN) - FALL_MS)) / 1_000);
  return (mark - LIQUIDATION) / mark;
}

test('`last-resort` acts in time when the market falls fast', async () => {
  expect(await firstOrderDistance(0.0016)).toBeGreaterThan(0.042);
  expect(await firstOrderDistance(0.005)).toBeGreaterThan(0.037);
});

test('`last-resort` ignores a slowly falling market until 3 %', async () => {
  const distance = await firstOrderDistance(0.0002);
  expect(distance).toBeLessThan(0.0301);
  expect(distance).toBeGreaterThan(0.028);
});

test('a stop at 90 % of the way is reached before the exchange liquidates by the mark, 0.9 % below the last price', async () => {
  const spec = fallingWorld({ speed: 0.003, roundTripMs: 400, basis: -0.009 }, false);
  const accounts = spec.exchange.accounts.map((account) => ({ ...account, collateral: { USDT: '2900' } }));
  const falling: WorldSpec = { ...spec, exchange: { ...spec.exchange, accounts } };
  const alone = openWorld(falling);
  await alone.run();
  expect(ledgerOf(alone).isLiquidated).toBe(true);
  const stop = `  - id: stop
    on: position
    when: { liquidationDistance: { below: 25% } }
    do: [{ protect: { at: 90%, slippage: 3% } }]
`;
  const config = `${CONFIG.slice(0, CONFIG.indexOf('  - id: near'))}${stop}`.replace(
    '[near, high]',
    '[stop]',
  );
  const world = openWorld({ ...falling, daemons: [{ name: 'north', config }] });
  await world.run();
  expect(ledgerOf(world)).toMatchObject({ isLiquidated: false, fills: [expect.any(Number)] });
});
