import { describe, expect, test } from 'vitest';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { AccountSpec, TimedEvent } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';

/** Positions in profit whose liquidation price has crossed their entry; by the exchange's ledger. */

const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 4%, clearAbove: 7% } }
    do: [{ reduce: { untilDistance: 15%, slippage: [2%, 3%] } }]
    severity: critical`;
const CALLED = `  - id: called
    on: position
    when: { liquidationState: { in: [margin_call] } }
    do: [{ reduce: { by: 75%, slippage: [2%, 3%] } }]
    severity: critical`;
const STOP = `  - id: stop
    on: position
    when: { size: { above: 0 } }
    do: [{ protect: { at: 60%, slippage: 2% } }]`;
const JOINT = `  - id: together
    on: account
    when: { jointDistance: { below: 5%, clearAbove: 8% } }
    do: [{ reduce: { until: { jointDistance: 20% }, slippage: [2%, 3%] } }]
    severity: critical`;

interface Course {
  readonly account: Omit<AccountSpec, 'id'>;
  /** Of each coin against USDT, by time. */
  readonly prices: Readonly<Record<string, readonly (readonly [atMs: number, price: string])[]>>;
  readonly rule: string;
  readonly bothSign?: 'unsigned';
  /** Leaves the collateral before the first read; or later, at this time. */
  readonly withdrawn?: { readonly amount: string; readonly atMs?: number };
  readonly events?: readonly TimedEvent[];
  readonly durationMs: number;
}

async function play(course: Course): Promise<World> {
  const { account, prices, rule, bothSign = 'signed', withdrawn, events = [], durationMs } = course;
  const [id] = /(?<=id: )\w+/.exec(rule) ?? [];
  const world = openWorld({
    seed: 7,
    durationMs,
    exchange: {
      accounts: [{ id: 'desk-1', ...account }],
      prices: Object.fromEntries(
        Object.entries(prices).map(([market, [first]]) => [market, first?.[1] ?? '']),
      ),
      depth: '5',
      readings: { shortAmount: bothSign },
    },
    prices: Object.entries(prices).map(([market, points]) => ({ market, points, tickMs: 100 })),
    daemons: [
      {
        name: 'north',
        config: `mode: enforce
exchange: { baseUrls: ["https://one.example"], bothSign: ${bothSign} }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${id}], cadence: { calm: 1s, alert: 500ms } }
rules:
${rule}
`,
      },
    ],
    events,
    network: { toExchange: 50, toDaemon: 50 },
  });
  if (withdrawn !== undefined) {
    const { atMs, amount } = withdrawn;
    if (atMs !== undefined) await world.run(atMs);
    const move = { from: 'collateral', to: 'main', ticker: 'USDT', amount: decimal(amount) } as const;
    const outcome = world.exchange.change((model) => model.moveFunds('desk-1', move));
    expect(outcome).toMatchObject({ ok: true });
  }
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

const entries = (world: World, kind: 'order_placed' | 'liquidation_started' | 'fill') =>
  world.exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' });
const isLiquidated = (world: World): boolean => entries(world, 'liquidation_started').length > 0;
const sizesLeft = (world: World): Record<string, number> =>
  Object.fromEntries(
    world.exchange.model.openPositions('desk-1').map(({ market, amount }) => [market, amount.toNumber()]),
  );

/** 0.5 long from 60,000, 5,000 USDT of collateral, at 66,000: a gain of 3,000. */
const WITHDRAWN: Course = {
  account: {
    collateral: { USDT: '5000' },
    positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500', entry: '60000' }],
  },
  prices: {
    BTC_USDT: [
      [0, '66000'],
      [20_000, '66000'],
      [80_000, '60500'],
      [120_000, '60500'],
    ],
  },
  rule: NEAR,
  withdrawn: { amount: '4500' },
  durationMs: 120_000,
};

/** The same as a short from 60,000 at 54,000. */
const SHORT: Course = {
  ...WITHDRAWN,
  account: {
    collateral: { USDT: '5000' },
    positions: [{ market: 'BTC_PERP', side: 'short', amount: '0.500', entry: '60000' }],
  },
  prices: {
    BTC_USDT: [
      [0, '54000'],
      [20_000, '54000'],
      [80_000, '59500'],
      [120_000, '59500'],
    ],
  },
};

const lossOf = ({ account }: Course): string => (account.positions?.[0]?.side === 'long' ? '59500' : '60500');
const fallOf = ({ prices }: Course) => prices['BTC_USDT']?.slice(1) ?? [];
const gainOf = (course: Course): string => fallOf(course)[0]?.[1] ?? '';

const BOTH_SIDES = [
  ['a long', WITHDRAWN],
  ['a short', SHORT],
] as const;

describe('its profit withdrawn, the liquidation price beyond the entry', () => {
  test.each(BOTH_SIDES)('%s is reduced before it is liquidated', async (_what, course) => {
    const world = await play(course);
    expect(isLiquidated(world)).toBe(false);
    expect(sizesLeft(world)['BTC_PERP']).toBeGreaterThan(0);
  });

  test.each(BOTH_SIDES)('%s keeps its standing stop between mark and liquidation', async (_what, course) => {
    const world = await play({ ...course, rule: STOP, withdrawn: { amount: '4500', atMs: 10_000 } });
    expect(isLiquidated(world)).toBe(false);
    expect(entries(world, 'fill').some(isOurs)).toBe(true);
  });

  test.each(BOTH_SIDES)(
    '%s without a sign keeps the direction that an earlier read showed, also after a restart',
    async (_what, course) => {
      const world = await play({
        ...course,
        bothSign: 'unsigned',
        withdrawn: { amount: '4500', atMs: 10_000 },
        events: [
          { atMs: 12_000, kind: 'kill', daemon: 'north' },
          { atMs: 14_000, kind: 'start', daemon: 'north' },
        ],
        // In loss while the daemon looks first: then only one side is possible.
        prices: {
          BTC_USDT: [
            [0, lossOf(course)],
            [4_000, lossOf(course)],
            [6_000, gainOf(course)],
            ...fallOf(course),
          ],
        },
      });
      expect(isLiquidated(world)).toBe(false);
    },
  );

  test.each(BOTH_SIDES)(
    '%s whose direction nothing shows: a margin call tries both sides',
    async (_what, course) => {
      const world = await play({ ...course, bothSign: 'unsigned', rule: CALLED });
      expect(isLiquidated(world)).toBe(false);
      expect(entries(world, 'fill').some(isOurs)).toBe(true);
      // The wrong side is refused, not repeated for ever.
      expect(entries(world, 'order_placed').filter(isOurs).length).toBeLessThan(12);
    },
  );
});

/** Long BTC from 50,000 at 75,000 beside a short in ETH from 2,000 at 3,000. */
const CROSS: Course = {
  account: {
    collateral: { USDT: '26000' },
    positions: [
      { market: 'BTC_PERP', side: 'long', amount: '1', entry: '50000' },
      { market: 'ETH_PERP', side: 'short', amount: '40', entry: '2000' },
    ],
  },
  prices: {
    BTC_USDT: [
      [0, '75000'],
      [10_000, '75000'],
      [50_000, '63750'],
    ],
    ETH_USDT: [[0, '3000']],
  },
  rule: NEAR,
  durationMs: 60_000,
};

/** Long BTC from 100,000 at 75,000 beside a short in ETH from 4,500 at 3,000. */
const CROSS_SHORT: Course = {
  account: {
    collateral: { USDT: '22000' },
    positions: [
      { market: 'ETH_PERP', side: 'short', amount: '4', entry: '4500' },
      { market: 'BTC_PERP', side: 'long', amount: '1', entry: '100000' },
    ],
  },
  prices: {
    ETH_USDT: [
      [0, '3000'],
      [10_000, '3000'],
      [110_000, '3400'],
    ],
    BTC_USDT: [[0, '75000']],
  },
  rule: NEAR,
  durationMs: 120_000,
};

describe('the winning leg of a cross book', () => {
  test.each([
    ['a long by its own distance', CROSS],
    ['a long by the joint distance', { ...CROSS, rule: JOINT }],
    ['a short by its own distance, its amount negative', CROSS_SHORT],
  ])('%s is reduced before the account is liquidated', async (_what, course) => {
    const world = await play(course);
    expect(isLiquidated(world)).toBe(false);
    expect(entries(world, 'fill').some(isOurs)).toBe(true);
  });
});
