import process from 'node:process';
import { expect, test } from 'vitest';
import { readFault } from '../../src/simulator/control/fault-routes.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, TimedFault } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

/** Ladders of standing stops, by the exchange's ledger. */

type Kind = LedgerEntry['kind'];

const START = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
acting: { ownOrders: none }
cadence: { calm: 5s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [stops] }
rules:
  - id: stops
    on: position
    when: { markPrice: { above: 1 } }
    do: [{ protect: { ladder: [{ at: 60%, close: 30% }, { at: 72%, close: 40% }, { at: 80%, close: rest }], slippage: 3% } }]
`;

interface Scene {
  readonly points?: readonly (readonly [number, string])[];
  readonly config?: string;
  readonly readings?: Readonly<Record<string, unknown>>;
  readonly faults?: readonly TimedFault[];
  readonly events?: readonly TimedEvent[];
  readonly durationMs?: number;
}

function worldOf({
  points = DOWN,
  config = CONFIG,
  readings = {},
  faults = [],
  events = [],
  durationMs = 180_000,
}: Scene): World {
  const world = openWorld({
    seed: 21,
    durationMs,
    exchange: {
      accounts: [longAccount('6000', { leverage: 10 })],
      depth: '5',
      readings,
    },
    prices: [{ market: 'BTC_USDT', points, tickMs: 100 }],
    daemons: [{ name: 'north', config }],
    faults,
    events,
  });
  for (const [index, { fault }] of faults.entries())
    readFault(world.exchange, fault, `faults[${index}].fault`);
  return world;
}

const DOWN: readonly (readonly [number, string])[] = [
  [0, String(START)],
  [30_000, String(START)],
  [120_000, String(START * 0.8)],
];

const entriesOf = ({ exchange }: World, ...kinds: Kind[]) =>
  exchange.model.ledger({ kinds, accountId: 'desk-1' });

const READINGS = ['position', 'trimmed', 'refused'].flatMap((reduceOnlyRoom) =>
  ['yes', 'no'].map((cancelCoversStops) => ({ reduceOnlyRoom, cancelCoversStops })),
);
const SOME = sliceOf(READINGS, 3, 'readings of room and cancelling');

function readBy(cancelCoversStops: string, config = CONFIG): string {
  return config.replace('example"] }', `example"], cancelCoversStops: ${cancelCoversStops} }`);
}

test.each(SOME)(
  'each stop of a ladder closes its part in a fall, and the account survives: $reduceOnlyRoom, cancel covers stops: $cancelCoversStops',
  async ({ reduceOnlyRoom, cancelCoversStops }) => {
    const world = worldOf({
      config: readBy(cancelCoversStops),
      readings: { reduceOnlyRoom, cancelCoversStops },
    });
    await world.run();
    expect(world.errors).toEqual([]);
    expect(entriesOf(world, 'order_placed').map(({ amount }) => amount)).toEqual(['0.15', '0.2', '0.15']);
    expect(entriesOf(world, 'fill').map(({ details }) => details?.['sizeAfter'])).toEqual([
      '0.35',
      '0.15',
      '0',
    ]);
    expect(entriesOf(world, 'liquidation_started')).toEqual([]);
    const audited = await world.audit.tail('desk-1', 1_000);
    const triggered = audited.filter(
      ({ record: { content } }) => content.kind === 'action' && content.event.kind === 'coverTriggered',
    );
    // A triggered stop is followed up once.
    expect(triggered.length).toBeLessThanOrEqual(3);
  },
);

const HALVE = `${CONFIG.replace('rules: [stops]', 'rules: [stops, near]')}  - id: near
    on: position
    when: { liquidationDistance: { below: 9%, clearAbove: 14% } }
    do: [{ reduce: { by: 50%, slippage: 2% } }]
`;
/** `LADDER_REFUSED_MS=7200000` plays two hours; the suite runs a slice of it. */
const REFUSED_MS = Number(process.env['LADDER_REFUSED_MS'] ?? 150_000);

test.each(SOME)(
  'orders are refused from before the rule fires: the ladder alone saves the account, and nothing is sent twice: $reduceOnlyRoom, $cancelCoversStops',
  async ({ reduceOnlyRoom, cancelCoversStops }) => {
    const refused: TimedFault = {
      atMs: 30_000,
      untilMs: 30_000 + REFUSED_MS,
      fault: { effect: { kind: 'refusal', of: 'orders' } },
    };
    const world = worldOf({
      config: readBy(cancelCoversStops, HALVE),
      readings: { reduceOnlyRoom, cancelCoversStops },
      faults: [refused],
      durationMs: 30_000 + REFUSED_MS + 120_000,
    });
    await world.run();
    expect(world.errors).toEqual([]);
    expect(entriesOf(world, 'liquidation_started')).toEqual([]);
    // By the ledger: the three earlier stops, each filled once, and nothing else.
    expect(entriesOf(world, 'order_placed').map(({ amount }) => amount)).toEqual(['0.15', '0.2', '0.15']);
    expect(entriesOf(world, 'order_cancelled')).toEqual([]);
    expect(entriesOf(world, 'fill').map(({ details }) => details?.['sizeAfter'])).toEqual([
      '0.35',
      '0.15',
      '0',
    ]);
  },
);

test.each(SOME)(
  'a rule halves the position beside a ladder: the reduction gets its room, then the ladder fits the rest: $reduceOnlyRoom, $cancelCoversStops',
  async ({ reduceOnlyRoom, cancelCoversStops }) => {
    const points: [number, string][] = [
      [0, String(START)],
      [30_000, String(START)],
      [60_000, String(START * 0.9)],
      [100_000, String(START * 0.896)],
    ];
    const world = worldOf({
      config: readBy(cancelCoversStops, HALVE),
      readings: { reduceOnlyRoom, cancelCoversStops },
      points,
      durationMs: 300_000,
    });
    await world.run();
    expect(world.errors).toEqual([]);
    const placed = entriesOf(world, 'order_placed').map(({ amount }) => amount);
    expect(placed.slice(0, 3)).toEqual(['0.15', '0.2', '0.15']);
    const fits = reduceOnlyRoom === 'position';
    // If no cancel makes room, the ladder still covers the whole position.
    const isStuck = !fits && cancelCoversStops === 'no';
    expect(entriesOf(world, 'fill').map(({ details }) => details?.['sizeAfter'])).toEqual(
      isStuck ? [] : ['0.25'],
    );
    if (isStuck) expect(placed.length).toBe(3);
    // The order that gets the room replaces the nearest stop: all orders together fit the position.
    else if (!fits) expect(placed.slice(3, 6)).toEqual(['0.25', '0.1', '0.15']);
    else expect(placed[3]).toBe('0.25');
    const isRelaid = cancelCoversStops === 'yes';
    if (isRelaid) expect(placed.slice(-3)).toEqual(['0.075', '0.1', '0.075']);
    else expect(entriesOf(world, 'order_cancelled')).toEqual([]);
    expect(entriesOf(world, 'liquidation_started')).toEqual([]);
  },
);

test('the ladder follows the size when the owner trades, up and down', async () => {
  const events: TimedEvent[] = [
    { atMs: 40_000, kind: 'trade', account: 'desk-1', market: 'BTC_PERP', side: 'buy', amount: '0.100' },
    { atMs: 700_000, kind: 'trade', account: 'desk-1', market: 'BTC_PERP', side: 'sell', amount: '0.300' },
  ];
  const world = worldOf({ points: [[0, String(START)]], events, durationMs: 760_000 });
  await world.run();
  expect(world.errors).toEqual([]);
  const ours = entriesOf(world, 'order_placed').filter(isOurs);
  const placed = ours.map(({ amount }) => amount);
  // Grown: first the new stops beside the old, then one ladder instead of both. Shrunk: replaced, as ten minutes are over.
  expect(placed.slice(0, 3)).toEqual(['0.15', '0.2', '0.15']);
  expect(placed.slice(3, 6)).toEqual(['0.18', '0.24', '0.18']);
  expect(placed.slice(-3)).toEqual(['0.09', '0.12', '0.09']);
  expect(placed.length).toBe(12);
});

test('after a restart the standing ladder is recognized, and nothing is placed again', async () => {
  const events: TimedEvent[] = [
    { atMs: 20_000, kind: 'kill', daemon: 'north' },
    { atMs: 26_000, kind: 'start', daemon: 'north' },
  ];
  const world = worldOf({ events });
  await world.run();
  expect(world.errors).toEqual([]);
  expect(entriesOf(world, 'order_placed').map(({ amount }) => amount)).toEqual(['0.15', '0.2', '0.15']);
  expect(entriesOf(world, 'fill').map(({ details }) => details?.['sizeAfter'])).toEqual([
    '0.35',
    '0.15',
    '0',
  ]);
});
