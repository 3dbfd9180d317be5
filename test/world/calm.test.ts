import { expect, test } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { CONTENDED_GRACE_MS } from './contended-world.ts';
import { playJudged } from './invariants.ts';
import { longAccount } from './long-account.ts';
import { randomWorld } from './random-world.ts';

/** What becomes of the owner's orders in an account that needs nothing; by the exchange's ledger. */

const configOf = (acting = '', rules = 'balanced'): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 500ms }
acting: { cancel: always${acting} }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.0001", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${rules}] }
`;
const NOBODY_ELSE = ', ownOrders: none';

/** A take-profit and a limit buy. */
const OWNERS: readonly TimedEvent[] = (
  [
    { side: 'sell', amount: '0.5', price: '66000', reduceOnly: true },
    { side: 'buy', amount: '0.05', price: '57000' },
  ] as const
).map((order) =>
  Object.assign({ atMs: 20_000, kind: 'trade', account: 'desk-1', market: 'BTC_PERP' } as const, order),
);

const closesPart: TimedEvent = {
  atMs: 60_000,
  kind: 'trade',
  account: 'desk-1',
  market: 'BTC_PERP',
  side: 'sell',
  amount: '0.3',
};

type Then = readonly [atMs: number, act: (world: World) => unknown];

async function play(config: string, spec: Partial<WorldSpec> = {}, ...then: readonly Then[]): Promise<World> {
  const world = openWorld({
    seed: 3,
    durationMs: 200_000,
    exchange: { accounts: [longAccount('5500', { main: { USDT: '9000' } })] },
    daemons: [{ name: 'north', config }],
    events: OWNERS,
    ...spec,
  });
  for (const [atMs, act] of then) {
    await world.run(atMs);
    await act(world);
  }
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

const addCollateral =
  (amount: string) =>
  ({ exchange }: World): void => {
    exchange.change((model) => {
      model.moveFunds('desk-1', { from: 'main', to: 'collateral', ticker: 'USDT', amount: decimal(amount) });
    });
  };

const cancelsS = ({ exchange, startMs }: World): readonly number[] =>
  exchange.model
    .ledger({ accountId: 'desk-1', kinds: ['request'] })
    .flatMap(({ atMs, details }) =>
      String(details?.['path']).includes('cancel') ? [Math.round((atMs - startMs) / 1_000)] : [],
    );

const openOrders = ({ exchange }: World) => exchange.model.openOrders('desk-1');
const ofOwner = (world: World) => openOrders(world).filter((order) => !isOurs(order));
const stops = (world: World) => openOrders(world).filter(isOurs);

async function standing({ audit }: World): Promise<readonly AuditEvent[]> {
  const records = await audit.tail('desk-1', 10_000);
  return records.flatMap(({ record: { content } }) =>
    content.kind === 'action' && content.event.kind === 'standingOrder' ? [content.event] : [],
  );
}

test('the owner adds collateral: his orders stay, and the stop that is too tight now is told once', async () => {
  const world = await play(configOf(), {}, [60_000, addCollateral('2000')], [120_000, addCollateral('1000')]);
  expect(cancelsS(world)).toEqual([]);
  expect(ofOwner(world)).toHaveLength(2);
  const told = await standing(world);
  expect(told.map(({ alarm }) => alarm)).toEqual([true]);
  expect(told[0]?.words).toContain(
    'breakwater reduce --account desk-1 --position 1 --to 100% --reason renew',
  );
});

test('the command that was told renews the stop', async () => {
  const renew = (world: World): Promise<void> =>
    world.apply({
      kind: 'reduce',
      account: 'desk-1',
      markets: ['BTC_PERP'],
      target: { kind: 'to', fraction: 1 },
      slippage: 0.01,
    });
  const world = await play(configOf(), {}, [60_000, addCollateral('1000')], [120_000, renew]);
  expect(cancelsS(world)).toEqual([120]);
  expect(stops(world).map(({ activationPrice }) => Number(String(activationPrice)))).toEqual([
    expect.closeTo(50_186, 0),
  ]);
  expect(world.exchange.model.openPositions('desk-1').map(({ amount }) => String(amount))).toEqual(['0.5']);
});

test('the owner closes a part: his orders stay, and so does the stop that nothing asks for any more', async () => {
  const world = await play(configOf(), { events: [...OWNERS, closesPart] });
  expect(cancelsS(world)).toEqual([]);
  expect(ofOwner(world)).toHaveLength(2);
  expect(stops(world)).toHaveLength(1);
  expect(await standing(world)).toHaveLength(1);
});

test('without orders of an owner a stop is re-sized, every ten minutes at most', async () => {
  const added = Array.from(
    { length: 7 },
    (_, index): Then => [60_000 + index * 120_000, addCollateral('500')],
  );
  const world = await play(configOf(NOBODY_ELSE), { durationMs: 900_000, events: [] }, ...added);
  const [first = 0, second = 0, ...others] = cancelsS(world);
  expect(first).toBe(62);
  expect(second - first).toBeGreaterThanOrEqual(600);
  expect(others).toEqual([]);
  expect(stops(world)).toHaveLength(1);
});

test('a stop that has filled in a jump of the price is not cancelled minutes later', async () => {
  const jump = (atMs: number, price: string): TimedEvent => {
    return { atMs, kind: 'setPrice', market: 'BTC_USDT', price };
  };
  const world = await play(configOf(), {
    durationMs: 400_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '6000' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.800' }],
        },
      ],
    },
    events: [jump(60_000, '57000'), jump(120_000, '54700')],
  });
  expect(world.exchange.model.ledger({ kinds: ['fill'] }).filter(isOurs)).not.toEqual([]);
  expect(cancelsS(world)).toEqual([]);
});

/** Four longs that share one pool: the joint liquidation prices move with every tick. */
const PORTFOLIO: Partial<WorldSpec> = {
  durationMs: 540_000,
  exchange: {
    accounts: [
      {
        id: 'desk-1',
        collateral: { USDT: '20000' },
        positions: [
          { market: 'BTC_PERP', side: 'long', amount: '0.500' },
          { market: 'ETH_PERP', side: 'long', amount: '8' },
          { market: 'SOL_PERP', side: 'long', amount: '150' },
          { market: 'XRP_PERP', side: 'long', amount: '12000' },
        ],
      },
    ],
    prices: { BTC_PERP: '60000', ETH_PERP: '3000', SOL_PERP: '150', XRP_PERP: '2' },
  },
  prices: ['BTC_USDT', 'ETH_USDT', 'SOL_PERP', 'XRP_PERP'].map((market) => {
    return { market, walk: { dailyVolatility: 1, tickMs: 500 } };
  }),
};

test('a portfolio in calm keeps the orders of its owner, and few stops are added', async () => {
  const world = await play(configOf(), PORTFOLIO);
  expect(cancelsS(world)).toEqual([]);
  expect(ofOwner(world)).toHaveLength(2);
  expect(stops(world).length).toBeLessThan(20);
});

test('a portfolio without orders of an owner has its stops re-sized once in ten minutes and market', async () => {
  const world = await play(configOf(NOBODY_ELSE), PORTFOLIO);
  expect(cancelsS(world).length).toBeLessThanOrEqual(4);
});

/** `WORLDS=1000 npm test -- test/world/calm` runs as many. */
const WORLDS = Number(process.env['WORLDS'] ?? 4);

test(
  `in ${WORLDS} worlds full of faults, with stops only, no cancel reaches an owner's orders in calm`,
  async () => {
    let kept = 0;
    for (let seed = 1; seed <= WORLDS; seed++) {
      const { events = [], daemons, ...spec } = randomWorld(seed, { durationMs: 240_000 });
      const quotes = spec.exchange.accounts.map(
        ({ id: account }): TimedEvent => ({
          atMs: 100,
          kind: 'trade',
          account,
          market: 'BTC_PERP',
          side: 'buy',
          amount: '0.001',
          price: '20000',
        }),
      );
      const unasked = {
        ...spec,
        daemons: daemons.map(({ name, clock = {}, config }) => ({
          name,
          clock,
          config: config
            .replace(/rules: \[.*?\]/g, 'rules: [ladder]')
            .replace('{ below: 30% } }', '{ below: 95% } }'),
        })),
        events: [...quotes, ...events.filter(({ kind }) => kind !== 'cancelAll')],
      };
      const { world, violations } = await playJudged(unasked, { graceMs: CONTENDED_GRACE_MS });
      expect(
        violations.filter((words) => words.endsWith('in calm')),
        `seed ${seed}`,
      ).toEqual([]);
      kept += world.exchange.model.ledger({ kinds: ['order_placed'] }).filter(isOurs).length;
    }
    expect(kept).toBeGreaterThan(WORLDS);
  },
  300_000 + 30_000 * WORLDS,
);
