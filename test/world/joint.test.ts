import { expect, test } from 'vitest';
import { decimal, toNumber } from '../../src/core/quantities/decimal.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { PositionSpec, WorldSpec } from '../../src/world/spec.ts';
import { sliceOf } from '../support/slice.ts';

const START = 100;
const FALL_MS = 60_000;

const config = (markets: readonly string[], rules: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
acting: { cancel: always }
markets:
${markets.map((market) => `  ${market}: { amountStep: "0.001", priceStep: "0.01", minAmount: "0.001", maintenanceMargin: 3%, money: USDT }`).join('\n')}
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${rules}] }
`;

interface Scene {
  readonly positions: readonly PositionSpec[];
  readonly collateral: string;
  /** Every price as a part of its start. */
  readonly fallsTo: number;
  readonly fallMs: number;
  readonly rules?: string;
  readonly ownRules?: string;
  readonly leverage?: number;
  readonly hedgeMode?: boolean;
  readonly events?: WorldSpec['events'];
  /** A market that falls as fast as the others, but no further than this. */
  readonly least?: { readonly market: string; readonly fallsTo: number };
}

function sceneOf({
  positions,
  collateral,
  fallsTo,
  fallMs,
  hedgeMode,
  events = [],
  rules,
  ownRules = '',
  leverage = 50,
  least,
}: Scene): WorldSpec {
  const markets = [...new Set(positions.map(({ market }) => market))];
  return {
    seed: 11,
    durationMs: FALL_MS + fallMs + 60_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: collateral },
          leverage,
          positions,
          ...(hedgeMode ? { hedgeMode } : {}),
        },
      ],
      prices: Object.fromEntries(markets.map((market) => [market, String(START)])),
      markets: Object.fromEntries(
        markets.map((market) => [
          market,
          { amountStep: '0.001', priceStep: '0.01', minAmount: '0.001', maintenanceMargin: '0.03' },
        ]),
      ),
      depth: '5',
    },
    prices: markets.map((market) => {
      const end = market === least?.market ? least.fallsTo : fallsTo;
      return {
        market,
        points: [
          [0, String(START)],
          [FALL_MS, String(START)],
          [FALL_MS + (fallMs * (1 - end)) / (1 - fallsTo), String(START * end)],
        ],
        tickMs: 100,
      };
    }),
    daemons: rules === undefined ? [] : [{ name: 'north', config: config(markets, rules) + ownRules }],
    events: [...events],
  };
}

function ledgerOf({ exchange, startMs }: World) {
  const of = (kind: 'order_placed' | 'order_cancelled' | 'fill' | 'liquidation_started') =>
    exchange.model
      .ledger({ kinds: [kind], accountId: 'desk-1' })
      .map(({ atMs, orderId, market, amount }) => ({ atMs: atMs - startMs, orderId, market, amount }));
  return {
    orders: of('order_placed'),
    cancels: of('order_cancelled'),
    fills: of('fill'),
    liquidations: of('liquidation_started'),
  };
}

const TEN = Array.from(
  { length: 10 },
  (_, index): PositionSpec => ({ market: `C${index}_PERP`, side: 'long', amount: '10' }),
);

/** Each position is 61 % from liquidation, the account 6.1 %. */
const correlated = (rules?: string): WorldSpec =>
  sceneOf({
    positions: TEN,
    collateral: '892',
    fallsTo: 0.85,
    fallMs: 90_000,
    ...(rules === undefined ? {} : { rules }),
  });

test('a margin call after a further fall is another, though each position shows a distance of 61 %', async () => {
  const ownRules = `rules:
  - id: called
    on: position
    when: { liquidationState: { in: [margin_call, liquidation, unrecognised] } }
    do: [{ reduce: { by: 50%, slippage: [3%, 5%] } }]
`;
  const scene = {
    positions: TEN,
    collateral: '892',
    fallsTo: 0.88,
    fallMs: 90_000,
    rules: 'called',
    ownRules,
  };
  const world = openWorld(sceneOf({ ...scene, least: { market: 'C9_PERP', fallsTo: 0.945 } }));
  await world.run();
  expect(world.errors).toEqual([]);
  const { fills, liquidations } = ledgerOf(world);
  expect(liquidations).toEqual([]);
  const soldOf = (market: string) =>
    fills.filter((fill) => fill.market === market).map(({ amount }) => toNumber(decimal(amount ?? '0')));
  expect(soldOf('C0_PERP')).toEqual([5, 2.5]);
  // Its market is no worse than at the first call.
  expect(soldOf('C9_PERP')).toEqual([5]);
});

test.each(sliceOf(['balanced', 'conservative', 'last-resort'], 3, 'rule sets for ten longs'))(
  'ten correlated longs under cross margin: each shows a distance of 61 %, the account is 6 % away (%s)',
  async (rules) => {
    const alone = openWorld(correlated());
    await alone.run();
    expect(ledgerOf(alone).liquidations).not.toEqual([]);
    const world = openWorld(correlated(rules));
    await world.run();
    const { fills, liquidations } = ledgerOf(world);
    expect(liquidations).toEqual([]);
    // All lanes at once, not one after another.
    expect(new Set(fills.map(({ market }) => market)).size).toBe(10);
    expect(world.errors).toEqual([]);
  },
);

test('an order of the tenth market does not wait for answers in the other nine', async () => {
  const world = openWorld({
    ...correlated('balanced'),
    faults: [
      {
        atMs: 0,
        fault: {
          effect: { kind: 'latency', delayMs: 3_000, at: 'reply' },
          target: { endpoint: 'stopLimit' },
        },
      },
    ],
  });
  await world.run();
  const { orders } = ledgerOf(world);
  const firstMs = [...new Map(orders.map(({ market, atMs }) => [market, atMs] as const).reverse()).values()];
  expect(firstMs).toHaveLength(10);
  expect(Math.max(...firstMs) - Math.min(...firstMs)).toBeLessThan(1_000);
});

const JOINT_ONLY = `rules:
  - id: joint
    on: account
    when: { jointDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { until: { jointDistance: 8% }, slippage: 2% } }]
    severity: critical
`;

test('ten correlated longs, 61 % away each, under a rule on the joint distance only: all are reduced, and the account survives', async () => {
  const spec = { positions: TEN, collateral: '892', fallsTo: 0.93, fallMs: 90_000 };
  const alone = openWorld(sceneOf(spec));
  await alone.run();
  expect(ledgerOf(alone).liquidations).not.toEqual([]);
  const world = openWorld(sceneOf({ ...spec, rules: 'joint', ownRules: JOINT_ONLY }));
  await world.run();
  const { fills, liquidations } = ledgerOf(world);
  expect(liquidations).toEqual([]);
  expect(new Set(fills.map(({ market }) => market)).size).toBe(10);
});

/** Long 40 and short 25 of one market: the short has passed the liquidation price that both show. */
const HEDGED: readonly PositionSpec[] = [
  { market: 'C0_PERP', side: 'long', amount: '40' },
  { market: 'C0_PERP', side: 'short', amount: '25' },
];

/** The daemon has begun by then: orders from before its start are a separate case. */
const OWNER_MS = 20_000;

/** The owner has a stop for the long and a take-profit for the short. */
function placeOwnersOrders(world: World): void {
  world.exchange.change((model) => {
    const stop = model.placeCollateralOrder('desk-1', {
      market: 'C0_PERP',
      side: 'sell',
      amount: decimal('15'),
      activationPrice: decimal('80'),
      price: decimal('79'),
      positionSide: 'LONG',
      reduceOnly: true,
    });
    const profit = model.placeCollateralOrder('desk-1', {
      market: 'C0_PERP',
      side: 'buy',
      amount: decimal('5'),
      price: decimal('70'),
      positionSide: 'SHORT',
      reduceOnly: true,
    });
    expect([stop.ok, profit.ok]).toEqual([true, true]);
  });
}

test.each(sliceOf(['balanced', 'conservative', 'last-resort', 'circuit-breaker'], 4, 'rule sets'))(
  "a hedged, healthy account is left alone under the set %s: the owner's orders stay, nothing fills, no alarm",
  async (rules) => {
    const world = openWorld(
      sceneOf({
        positions: HEDGED,
        collateral: '900',
        fallsTo: 0.97,
        fallMs: 60_000,
        rules,
        hedgeMode: true,
      }),
    );
    world.schedule(OWNER_MS, () => placeOwnersOrders(world));
    await world.run();
    const { orders, cancels, fills, liquidations } = ledgerOf(world);
    const owners = orders.filter(({ atMs }) => atMs === OWNER_MS);
    expect(owners).toHaveLength(2);
    expect(cancels.filter(({ orderId }) => owners.some((order) => order.orderId === orderId))).toEqual([]);
    expect(fills).toEqual([]);
    expect(liquidations).toEqual([]);
    const audit = await world.audit.read('desk-1', { limit: 1_000 });
    expect(
      audit.filter(({ record: { content } }) => content.kind === 'action' && content.event.alarm),
    ).toEqual([]);
  },
);

/** Nine longs and a short that hedges three of them; the pool is 8 % away, the short alone far from liquidation. */
const WITH_HEDGE: readonly PositionSpec[] = [
  ...TEN.slice(1),
  { market: 'C0_PERP', side: 'short', amount: '30' },
];

test('a reduction for the account does not touch the short that hedges its longs', async () => {
  const world = openWorld(
    sceneOf({ positions: WITH_HEDGE, collateral: '860', fallsTo: 0.88, fallMs: 60_000, rules: 'balanced' }),
  );
  await world.run();
  const { fills, liquidations } = ledgerOf(world);
  expect(liquidations).toEqual([]);
  expect(new Set(fills.map(({ market }) => market)).size).toBe(9);
  expect(fills.filter(({ market }) => market === 'C0_PERP')).toEqual([]);
});

const USAGE = `rules:
  - id: usage
    on: account
    when: { marginUsage: { asset: USDT, above: 80%, clearBelow: 65% } }
    do: [{ reduce: { until: { marginUsage: 60%, asset: USDT }, slippage: 1% } }]
`;

test('a reduction until a share of the funds is margin reaches it by the ledger, in every market', async () => {
  const world = openWorld(
    sceneOf({
      positions: TEN,
      collateral: '1200',
      leverage: 10,
      fallsTo: 0.98,
      fallMs: 60_000,
      rules: 'usage',
      ownRules: USAGE,
    }),
  );
  await world.run();
  const { usedMargin, freeMargin } = world.exchange.model.account('desk-1');
  const used = toNumber(usedMargin);
  const usage = used / (used + toNumber(freeMargin));
  // From 83 %: the fall takes some of the funds meanwhile, and stops do not trigger where the market stands still.
  expect(usage).toBeGreaterThan(0.55);
  expect(usage).toBeLessThan(0.7);
  expect(new Set(ledgerOf(world).fills.map(({ market }) => market)).size).toBe(10);
});

test('ten equal positions with isolated margin are not taken for one pool', async () => {
  const spec = sceneOf({
    positions: TEN,
    collateral: '2000',
    leverage: 10,
    fallsTo: 0.99,
    fallMs: 60_000,
    rules: 'balanced',
  });
  const world = openWorld({ ...spec, exchange: { ...spec.exchange, readings: { marginModel: 'isolated' } } });
  await world.run();
  const { fills, liquidations } = ledgerOf(world);
  expect(fills).toEqual([]);
  expect(liquidations).toEqual([]);
});

test('ten correlated longs whose orders are refused from some point on are closed by earlier stops before liquidation', async () => {
  const rule = `rules:
  - id: stops
    on: account
    when: { positionCount: { above: 1 }, jointDistance: { below: 25% } }
    do: [{ protect: { at: 80%, slippage: 3%, positions: "*" } }]
`;
  const spec = sceneOf({
    positions: TEN,
    collateral: '892',
    fallsTo: 0.85,
    fallMs: 90_000,
    rules: 'stops',
    ownRules: rule,
  });
  const world = openWorld({
    ...spec,
    faults: [
      {
        atMs: FALL_MS,
        fault: { effect: { kind: 'unavailable', meaning: 'failed' }, target: { endpoint: 'stopLimit' } },
      },
    ],
  });
  await world.run();
  const { fills, liquidations } = ledgerOf(world);
  expect(liquidations).toEqual([]);
  expect(new Set(fills.map(({ market }) => market)).size).toBe(10);
  // 80 % of 6.1 %, in a fall of 15 % within 90 s.
  expect(Math.min(...fills.map(({ atMs }) => atMs))).toBeGreaterThan(FALL_MS + 25_000);
});

test('an account partly in coins whose stops no cancel reaches: the first stop lies before the liquidation of all, and leaves room for none beyond it', async () => {
  const spec = correlated('last-resort');
  const inCoins = config(
    TEN.map(({ market }) => market),
    'last-resort',
  )
    .replace('"https://two.example"]', '"https://two.example"], cancelCoversStops: no')
    .replace('rules: [', 'holdings: { BTC: 427.5 }, rules: [');
  const coin = [
    [0, '100'],
    [FALL_MS, '100'],
    [FALL_MS + 90_000, '85'],
  ] as const;
  const world = openWorld({
    ...spec,
    exchange: {
      ...spec.exchange,
      accounts: [{ id: 'desk-1', collateral: { USDT: '465', BTC: '4.5' }, leverage: 50, positions: TEN }],
      prices: { ...spec.exchange?.prices, BTC_USDT: '100' },
      readings: { cancelCoversStops: 'no', reduceOnlyRoom: 'trimmed' },
    },
    prices: [...(spec.prices ?? []), { market: 'BTC_USDT', points: coin, tickMs: 100 }],
    daemons: [{ name: 'north', config: inCoins }],
  });
  await world.run();
  expect(ledgerOf(world).liquidations).toEqual([]);
  const placed = world.exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' });
  const activations = placed.map(({ details }) => Number(details?.['activationPrice']));
  expect(new Set(placed.map(({ market }) => market)).size).toBe(10);
  expect(Math.min(...activations)).toBeGreaterThan(START * (1 - 0.06));
});

test('many small longs without a sign and without a liquidation price are reduced before they show one', async () => {
  const forty = Array.from(
    { length: 40 },
    (_, index): PositionSpec => ({ market: `C${index}_PERP`, side: 'long', amount: '2.5' }),
  );
  const scene = { positions: forty, collateral: '1400', fallsTo: 0.85, fallMs: 90_000 };
  const unprotected = openWorld(sceneOf(scene));
  await unprotected.run();
  expect(ledgerOf(unprotected).liquidations).not.toEqual([]);
  const spec = sceneOf({ ...scene, rules: 'balanced' });
  const world = openWorld({
    ...spec,
    exchange: { ...spec.exchange, readings: { shortAmount: 'unsigned' } },
    daemons: spec.daemons.map(({ name, config: signed }) => ({
      name,
      config: signed.replace('exchange: {', 'exchange: { bothSign: unsigned,'),
    })),
  });
  await world.run(() => ledgerOf(world).orders.length > 0);
  const prices = world.exchange.model.openPositions('desk-1').map(({ liquidationPrice }) => liquidationPrice);
  expect(prices).toEqual(forty.map(() => null));
  await world.run();
  const { liquidations } = ledgerOf(world);
  const calls = world.exchange.model.ledger({ kinds: ['margin_call'], accountId: 'desk-1' });
  expect([calls, liquidations, world.errors]).toEqual([[], [], []]);
});
