import { expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, TimedFault, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** Outages in which stops silently disappear, and markets that end or change their name. */

const OUTAGE_MS = 60_000;
const OUTAGE_LASTS_MS = 120_000;
const AFTER_MS = OUTAGE_MS + OUTAGE_LASTS_MS + 60_000;
const CRASH_MS = AFTER_MS + 1_000;

/** A standing stop, and a rule that would act too late: only the stop saves the account. */
const config = (markets: string, rules: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  ${markets}: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [cover${rules === '' ? '' : ', near'}] }
rules:
  - id: cover
    on: position
    when: { size: { above: 0 } }
    do: [{ protect: { at: 60%, slippage: 5% } }]
${rules}`;

interface Course {
  readonly events?: readonly TimedEvent[];
  readonly faults?: readonly TimedFault[];
  readonly readings?: Readonly<Record<string, unknown>>;
  readonly markets?: string;
  readonly rules?: string;
  /** The price from the first seconds of the outage to the crash. */
  readonly low?: string;
}

function worldOf({
  events = [],
  faults = [],
  readings = {},
  markets = 'BTC_PERP',
  rules = '',
  low = '60000',
}: Course): WorldSpec {
  return {
    seed: 21,
    durationMs: CRASH_MS + 60_000,
    exchange: {
      accounts: [longAccount('4500')],
      readings,
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [OUTAGE_MS + 5_000, '60000'],
          [OUTAGE_MS + 6_000, low],
          [CRASH_MS, low],
          [CRASH_MS + 10_000, '50000'],
        ],
        tickMs: 100,
      },
    ],
    daemons: [{ name: 'north', config: config(markets, rules) }],
    events,
    faults,
  };
}

async function play(course: Course) {
  const world = openWorld(worldOf(course));
  await world.run(AFTER_MS);
  const openStops = world.exchange.model
    .openOrders('desk-1')
    .map(({ market, clientOrderId, amount }) => ({ market, clientOrderId, amount: amount.toNumber() }));
  await world.run();
  expect(world.errors).toEqual([]);
  return { world, openStops, ...ledgerOf(world) };
}

function ledgerOf(world: World) {
  const of = (kind: LedgerEntry['kind']) =>
    world.exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' });
  const requests = world.exchange.log
    .list()
    .filter(({ endpoint }) => !['openPositions', 'futures'].includes(endpoint));
  return { of, requests };
}

const condition = (
  atMs: number,
  change: Extract<TimedEvent, { kind: 'condition' }>['condition'],
): TimedEvent => ({ atMs, kind: 'condition', condition: change });

/** Fires in the middle of the halt. */
const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 8%, clearAbove: 11% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
`;

const OUTAGE: TimedFault = {
  atMs: OUTAGE_MS,
  untilMs: OUTAGE_MS + OUTAGE_LASTS_MS,
  fault: { effect: { kind: 'gatewayStatus', status: 503 } },
};

const sumOf = (fills: readonly LedgerEntry[]): number =>
  Number(fills.reduce((sum, { amount }) => sum + Number(amount), 0).toFixed(6));

function alarmsOf(world: World): readonly string[] {
  const events = world.daemons.flatMap((daemon) => daemon.events);
  return events.flatMap((event) =>
    event.kind === 'audited' && event.event.alarm ? [event.event.reason] : [],
  );
}

const VANISH = condition(OUTAGE_MS + 1_000, { kind: 'dropOrders', market: 'BTC_PERP' });

test('without an outage the stop stands, and closes the position in the crash', async () => {
  const { of, openStops } = await play({});
  expect(openStops).toHaveLength(1);
  expect(of('liquidation_started')).toEqual([]);
  expect(of('fill').length).toBeGreaterThan(0);
});

test.each(['openOrders', 'forever'])(
  'two minutes without replies, and the stops silently disappear: they are placed again (ids are unique %s)',
  async (clientOrderIdUniqueness) => {
    const { of, openStops } = await play({
      events: [VANISH],
      faults: [OUTAGE],
      readings: { clientOrderIdUniqueness },
    });
    expect(openStops.length).toBeGreaterThan(0);
    expect(of('liquidation_started')).toEqual([]);
    expect(of('fill').length).toBeGreaterThan(0);
  },
);

test.each([
  ['openOrders', 'position'],
  ['forever', 'position'],
  ['forever', 'refused'],
])(
  'two minutes without replies, and the stops stay: sent again under their own ids, at most one is added (ids are unique %s, room: %s)',
  async (clientOrderIdUniqueness, reduceOnlyRoom) => {
    const { openStops, requests, of } = await play({
      faults: [OUTAGE],
      readings: { clientOrderIdUniqueness, reduceOnlyRoom },
    });
    const [stop] = openStops;
    const resent = requests.filter(({ clientOrderId }) => clientOrderId === stop?.clientOrderId);
    expect(resent.map(({ outcome }) => outcome)).toEqual(['served', 'refused']);
    expect(openStops).toHaveLength(reduceOnlyRoom === 'refused' ? 1 : 2);
    // It does not repeat.
    expect(requests.length).toBeLessThanOrEqual(5);
    expect(of('liquidation_started')).toEqual([]);
    expect(sumOf(of('fill'))).toBe(0.5);
  },
);

test('maintenance: the market refuses orders for two minutes, stops disappear; when it reopens the reduction is sent, and the stop placed', async () => {
  const reopenMs = OUTAGE_MS + OUTAGE_LASTS_MS;
  const { world, of, openStops, requests } = await play({
    rules: NEAR,
    low: '55600',
    events: [condition(OUTAGE_MS, { kind: 'halt', market: 'BTC_PERP', forMs: OUTAGE_LASTS_MS }), VANISH],
  });
  const refused = of('order_rejected').map(({ atMs }) => atMs - world.startMs);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(80);
  const placed = of('order_placed').find(({ atMs }) => atMs - world.startMs > reopenMs);
  // So many refusals in a market that stands still put the brake on: one set every 10 s near liquidation.
  expect((placed?.atMs ?? Number.POSITIVE_INFINITY) - world.startMs - reopenMs).toBeLessThan(12_000);
  // The reduction by half, and the stop for the whole position.
  expect(openStops.map(({ amount }) => amount).toSorted((a, b) => a - b)).toEqual([0.25, 0.5]);
  expect(of('liquidation_started')).toEqual([]);
  const alarms = alarmsOf(world).filter((reason) => reason === 'marketClosed');
  expect(alarms).toHaveLength(1);
  expect(requests.length).toBeLessThan(150);
});

test('a market is renamed, and its stops disappear: the stop is placed under the new name', async () => {
  const { of, openStops } = await play({
    markets: '"*_PERP"',
    events: [VANISH, condition(OUTAGE_MS + 2_000, { kind: 'rename', market: 'BTC_PERP', to: 'XBT_PERP' })],
  });
  expect(openStops.map(({ market }) => market)).toEqual(['XBT_PERP']);
  expect(of('liquidation_started')).toEqual([]);
  expect(sumOf(of('fill'))).toBe(0.5);
});

test('a market is renamed to a name that is not in the config: people are notified', async () => {
  const { world } = await play({
    events: [condition(OUTAGE_MS, { kind: 'rename', market: 'BTC_PERP', to: 'XBT_PERP' })],
  });
  expect(alarmsOf(world)).toContain('marketNotConfigured');
});

test('a market is delisted: requests there are not retried again and again', async () => {
  const { of, requests } = await play({
    events: [condition(OUTAGE_MS, { kind: 'delist', market: 'BTC_PERP' })],
  });
  expect(of('settlement')).toHaveLength(1);
  expect(requests.length).toBeLessThan(60);
});
