import { expect, test } from 'vitest';
import { readFault } from '../../src/simulator/control/fault-routes.ts';
import type { FaultSpec } from '../../src/simulator/http/faults.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { AccountSpec, TimedEvent, TimedFault, WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

/** Cancels make way for reductions: their effect on orders of the daemon and of the owner, by the exchange's ledger. */

const BREACH_MS = 60_000;
const START = 60_000;

function configOf(rule: string, exchange = ''): string {
  return `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"]${exchange} }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: ${rule}
    severity: critical
`;
}

const CANCEL_THEN_HALVE =
  '[{ cancelAll: { types: [margin, futures], scope: market } }, { reduce: { by: 50%, slippage: 1% } }]';
const HALVE = '[{ reduce: { by: 50%, slippage: 1% } }]';

const LONG: AccountSpec = longAccount('4500');

interface Scene {
  readonly config: string;
  readonly faults?: readonly TimedFault[];
  readonly account?: AccountSpec;
  readonly readings?: Readonly<Record<string, unknown>>;
  readonly events?: readonly TimedEvent[];
  /** Share of the start price lost per second from the breach on. */
  readonly speed?: number;
}

const DURATION_MS = BREACH_MS + 60_000;

/** A sudden fall to the breach, then a steady one. */
function worldOf({
  config,
  faults = [],
  account = LONG,
  readings = {},
  events = [],
  speed = 0.001,
}: Scene): World {
  const spec: WorldSpec = {
    seed: 11,
    durationMs: DURATION_MS,
    exchange: { accounts: [account], depth: '5', readings },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, String(START)],
          [BREACH_MS, String(START)],
          [BREACH_MS + 100, '55200'],
          [DURATION_MS, String(55_200 - START * speed * 60)],
        ],
        tickMs: 100,
      },
    ],
    daemons: [{ name: 'north', config }],
    network: { toExchange: 50, toDaemon: 50 },
    faults,
    events,
  };
  const world = openWorld(spec);
  for (const [index, one] of faults.entries()) readFault(world.exchange, one.fault, `faults[${index}].fault`);
  return world;
}

function during(effect: FaultSpec['effect'], endpoint?: string): TimedFault {
  const target = { account: 'desk-1', ...(endpoint === undefined ? {} : { endpoint }) };
  return { atMs: BREACH_MS, fault: { effect, target } };
}

type Kind = 'order_placed' | 'order_cancelled' | 'fill' | 'liquidation_started';

function entries(world: World, kind: Kind) {
  const { startMs, exchange } = world;
  return exchange.model
    .ledger({ kinds: [kind], accountId: 'desk-1' })
    .map((entry) => Object.assign({}, entry, { atMs: entry.atMs - startMs }));
}

/** When the first read after the breach reached the exchange; the breach is sudden, so nobody foresees it. */
function shownMs({ exchange, startMs }: World): number {
  const reads = exchange.log.list({ endpoint: 'openPositions', outcome: 'served' });
  const first = reads.find(({ atMs }) => atMs - startMs > BREACH_MS + 100);
  return (first?.atMs ?? Number.NaN) - startMs;
}

/** Time from the read that showed the breach to the daemon's first order. */
function firstOrderMs(world: World): number {
  const first = entries(world, 'order_placed').find((entry) => isOurs(entry) && entry.atMs > BREACH_MS);
  return (first?.atMs ?? Number.POSITIVE_INFINITY) - shownMs(world);
}

function firstFillMs(world: World): number {
  const first = entries(world, 'fill').find(isOurs);
  return (first?.atMs ?? Number.POSITIVE_INFINITY) - shownMs(world);
}

const OWNERS: TimedEvent = {
  atMs: 5_000,
  kind: 'trade',
  account: 'desk-1',
  market: 'BTC_PERP',
  side: 'sell',
  amount: '0.100',
  price: '70000',
  reduceOnly: true,
};

/** Cancelled by a request of the daemon, not because their position was gone. */
const cancelsOf = (world: World) =>
  world.exchange.log
    .list()
    .filter(({ endpoint, outcome }) => endpoint === 'cancelAll' && outcome === 'served');

test.each([
  ['cancelAll refused (403)', { kind: 'gatewayStatus', status: 403 }],
  ['cancelAll unanswered (503)', { kind: 'status', status: 503 }],
  ['cancelAll never answered', { kind: 'hang' }],
] as const)('%s: the following reduction is sent at once', async (_, effect) => {
  const faults = [during(effect, 'cancelAll')];
  const world = worldOf({ config: configOf(CANCEL_THEN_HALVE), faults });
  await world.run();
  expect(firstOrderMs(world)).toBeLessThan(500);
  expect(firstFillMs(world)).toBeLessThan(4_000);
  expect(world.exchange.model.openPositions('desk-1')).toHaveLength(1);
  expect(entries(world, 'liquidation_started')).toEqual([]);
  expect(world.errors).toEqual([]);
});

test.each(['cancelAll', 'stopLimit'])(
  'one 429 of a gateway with Retry-After 60, for %s: the reduction is sent a second later',
  async (endpoint) => {
    const effect = { kind: 'gatewayStatus', status: 429, retryAfterMs: 60_000 } as const;
    const fault: TimedFault = { atMs: BREACH_MS, fault: { effect, count: 1, target: { endpoint } } };
    const world = worldOf({ config: configOf(CANCEL_THEN_HALVE), faults: [fault] });
    await world.run();
    expect(firstOrderMs(world)).toBeLessThan(1_500);
    expect(entries(world, 'liquidation_started')).toEqual([]);
  },
);

test('orders are refused while cancels work: no cancel takes down what stands', async () => {
  const faults = [during({ kind: 'refusal', of: 'orders' })];
  const world = worldOf({ config: configOf(CANCEL_THEN_HALVE), faults, events: [OWNERS], speed: 0.0002 });
  await world.run();
  expect(cancelsOf(world)).toEqual([]);
  expect(entries(world, 'order_cancelled')).toEqual([]);
});

test('a rule cancels only after an order was accepted', async () => {
  const world = worldOf({ config: configOf(CANCEL_THEN_HALVE), events: [OWNERS] });
  await world.run();
  const [cancelled] = entries(world, 'order_cancelled');
  const accepted = entries(world, 'order_placed').find(isOurs);
  expect(accepted?.atMs).toBeLessThan(cancelled?.atMs ?? 0);
  expect(cancelsOf(world).length).toBeGreaterThan(0);
});

test('two lost replies in a row cost seconds, not twenty', async () => {
  const fault: TimedFault = {
    atMs: BREACH_MS,
    fault: { effect: { kind: 'hang' }, count: 2, target: { endpoint: 'stopLimit' } },
  };
  const world = worldOf({ config: configOf(HALVE), faults: [fault], speed: 0.0016 });
  await world.run();
  expect(firstOrderMs(world)).toBeLessThan(3_500);
});

test('two replies lost after their effect: nothing is placed twice', async () => {
  const effect = { kind: 'lostReply', connection: 'hang' } as const;
  const fault: TimedFault = {
    atMs: BREACH_MS,
    fault: { effect, count: 2, target: { endpoint: 'stopLimit' } },
  };
  const world = worldOf({ config: configOf(HALVE), faults: [fault], speed: 0.0016 });
  await world.run(BREACH_MS + 20_000);
  const ours = entries(world, 'fill').filter(isOurs);
  expect(ours.reduce((sum, { amount }) => sum + Number(amount), 0)).toBeCloseTo(0.25, 9);
});

test.each(sliceOf([200, 450, 700, 950, 1_200, 1_450], 3, 'moments of a cancel'))(
  'a process suspended between lease check and send, %i ms after the breach: 50 % is closed once, not twice',
  async (suspendMs) => {
    const world = openWorld({
      seed: 5,
      durationMs: DURATION_MS,
      exchange: { accounts: [LONG], depth: '5' },
      daemons: ['north', 'south'].map((name) => ({ name, config: configOf(HALVE) })),
      network: { toExchange: 300, toDaemon: 300 },
      events: [
        { atMs: BREACH_MS, kind: 'setPrice', market: 'BTC_USDT', price: '55200' },
        { atMs: BREACH_MS + suspendMs, kind: 'suspend', daemon: 'north' },
        { atMs: BREACH_MS + 12_000, kind: 'setPrice', market: 'BTC_USDT', price: '55000' },
        { atMs: BREACH_MS + 25_000, kind: 'resume', daemon: 'north' },
        { atMs: BREACH_MS + 40_000, kind: 'setPrice', market: 'BTC_USDT', price: '54800' },
      ],
    });
    await world.run();
    const [position] = world.exchange.model.openPositions('desk-1');
    expect(String(position?.amount)).toBe('0.25');
    expect(world.errors).toEqual([]);
  },
);

test('a healthy hedged account with the balanced set keeps its owner’s orders', async () => {
  const account: AccountSpec = {
    id: 'desk-1',
    collateral: { USDT: '9000' },
    hedgeMode: true,
    positions: [
      { market: 'BTC_PERP', side: 'long', amount: '0.500' },
      { market: 'BTC_PERP', side: 'short', amount: '0.400' },
    ],
  };
  const config = configOf(HALVE).replace('rules: [near]', 'rules: [balanced]');
  const owners = { ...OWNERS, positionSide: 'LONG' } as const;
  const world = worldOf({ config, account, events: [owners], speed: 0.0005 });
  await world.run();
  expect(entries(world, 'order_cancelled')).toEqual([]);
  expect(cancelsOf(world)).toEqual([]);
});

test('observe mode with untilDistance records the orders that it would have sent', async () => {
  const rule = '[{ reduce: { untilDistance: 10%, slippage: 1% } }]';
  const world = worldOf({ config: configOf(rule).replace('mode: enforce', 'mode: observe') });
  await world.run();
  const records = await world.audit.tail('desk-1', 10_000);
  const said = records.flatMap(({ record: { content } }) =>
    content.kind === 'action' && content.event.kind === 'wouldPlace' ? [content.event] : [],
  );
  expect(said.length).toBeGreaterThan(0);
  expect(said[0]?.order?.side).toBe('sell');
  expect(entries(world, 'order_placed')).toEqual([]);
});

test.each(['position', 'trimmed', 'refused'])(
  'with a full stop in place and reduce-only orders limited to the %s, the reduction still protects',
  async (reduceOnlyRoom) => {
    const rule = '[{ reduce: { by: 50%, slippage: 1% } }]';
    const config = configOf(rule)
      .replace('rules: [near] }', 'rules: [near, stop] }')
      .concat(
        '  - id: stop\n    on: position\n    when: { markPrice: { above: 1 } }\n    do: [{ protect: { at: 90%, slippage: 1% } }]\n',
      );
    const world = worldOf({ config, readings: { reduceOnlyRoom } });
    await world.run(BREACH_MS + 20_000);
    expect(firstFillMs(world)).toBeLessThan(15_000);
    expect(entries(world, 'liquidation_started')).toEqual([]);
  },
);
