import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';
import { auditTrailOf } from '../faults/audit-trail.ts';
import { ledgerViolations } from '../faults/ledger-check.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

/** Daemons while their shared store is lost; by the exchange's ledger, in virtual time. */

/** `MOMENTS=200 npm test -- test/world/without-store` tries more of them; default: a slice of 5. */
const MOMENTS = Number(process.env['MOMENTS'] ?? 5);
const ALL = Array.from({ length: MOMENTS }, (_, index) => index);
const SOME = process.env['MOMENTS'] === undefined ? sliceOf(ALL, 3, 'moments of a loss') : ALL;
const BREACH_MS = 17_250;
const LOST_MS = 60_000;
const LATE_ARRIVAL_MS = 3_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], lateArrival: ${LATE_ARRIVAL_MS}ms }
acting: { fillWithin: 2s }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [half] }
rules:
  - id: half
    on: position
    when: { liquidationDistance: { below: 4.5%, clearAbove: 12% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

function open(
  seed: number,
  names: readonly string[],
  events: readonly TimedEvent[],
  store = { minMs: 0.3, maxMs: 4 },
): World {
  return openWorld({
    seed,
    durationMs: 100_000,
    exchange: {
      accounts: [longAccount('3300', { id: 'desk', leverage: 10 })],
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [10_000, '60000'],
          [20_000, '56700'],
          [100_000, '56300'],
        ],
        tickMs: 250,
      },
    ],
    network: {
      toExchange: { minMs: 10, maxMs: 120 },
      toDaemon: { minMs: 10, maxMs: 120 },
      store,
    },
    daemons: names.map((name) => ({ name, config: CONFIG })),
    events,
  });
}

const outage = (atMs: number): readonly TimedEvent[] => [
  { atMs, kind: 'store', state: 'down' },
  { atMs: atMs + LOST_MS, kind: 'store', state: 'up' },
];

function firstOrderMs({ exchange, startMs }: World): number {
  const [first] = exchange.model.ledger({ kinds: ['order_placed'] });
  return (first?.atMs ?? Number.POSITIVE_INFINITY) - startMs;
}

async function check(world: World, about: string): Promise<void> {
  const trail = await auditTrailOf(world);
  expect(ledgerViolations(world.exchange.model.ledger(), trail, world.startMs), `${about}:`).toEqual([]);
  expect(await world.audit.verify('desk'), `${about}:`).toMatchObject({ kind: 'intact' });
  const { model } = world.exchange;
  const size = model.openPositions('desk')[0]?.amount.toNumber() ?? 0;
  const ordered = model.openOrders('desk').reduce((sum, { left }) => sum + left.toNumber(), 0);
  expect(size - ordered, `${about}:`).toBeCloseTo(0.25, 3);
}

test.each([[['north']], [['north', 'south']]])(
  `lost for a minute at ${SOME.length} moments around a breach, with %j: acted on in time, once, and handed back completely`,
  async (names) => {
    for (const moment of SOME) {
      // From well before the breach to well after the first order.
      const lostMs = BREACH_MS - 4_000 + Math.round((moment * 8_000) / MOMENTS);
      const about = `lost at ${lostMs} ms, ${names.length} daemons`;
      const world = open(moment + 1, names, outage(lostMs));
      await world.run();
      const waitedMs = firstOrderMs(world) - BREACH_MS;
      expect(waitedMs, `${about}:`).toBeLessThan(lostMs < BREACH_MS ? 5_000 : LATE_ARRIVAL_MS + 5_000);
      await check(world, about);
      const states = world.daemons.map(({ events }) =>
        events.flatMap((event) => (event.kind === 'standby' ? [event.state] : [])),
      );
      expect(states, `${about}:`).toEqual(names.map(() => ['alone', 'shared']));
    }
  },
  600_000 + 30_000 * MOMENTS,
);

/** North is alone for long, and south continues with the account meanwhile; then both share the store again. */
const goesOn: readonly TimedEvent[] = [
  { atMs: BREACH_MS - 3_000, kind: 'link', daemon: 'south', to: 'store', state: 'down' },
  { atMs: BREACH_MS - 3_000, kind: 'link', daemon: 'north', to: 'store', state: 'down' },
  { atMs: BREACH_MS + 7_000, kind: 'link', daemon: 'south', to: 'store', state: 'up' },
  { atMs: 30_000, kind: 'link', daemon: 'north', to: 'store', state: 'up' },
];

/** The seed of a world where north acts alone, so that its records cannot continue the chain. */
const APART = 13;

function expectApart(world: World): void {
  const handed = world
    .daemon('north')
    .events.flatMap((event) => (event.kind === 'standby' && event.state === 'shared' ? event.accounts : []));
  expect(handed.filter(({ how }) => how !== 'continued')).not.toEqual([]);
}

async function expectAllRecorded(world: World): Promise<void> {
  const said = world.daemons.flatMap((daemon) =>
    daemon.events.flatMap((event) => (event.kind === 'audited' ? [event.event] : [])),
  );
  const recorded = new Set((await auditTrailOf(world)).events.map(({ words }) => words));
  expect(said.filter(({ kind }) => kind === 'placing')).not.toEqual([]);
  expect(said.map(({ words }) => words).filter((words) => !recorded.has(words))).toEqual([]);
}

test.each([32_800, 33_200, 33_600, 34_200])(
  'lost again at %i ms, while records made alone are handed back or attached: none is missing in the end',
  async (againMs) => {
    const events: readonly TimedEvent[] = [
      ...goesOn,
      { atMs: againMs, kind: 'store', state: 'down' },
      { atMs: againMs + 5_000, kind: 'store', state: 'up' },
    ];
    const world = open(APART, ['north', 'south'], events, { minMs: 60, maxMs: 140 });
    await world.run();
    expectApart(world);
    await expectAllRecorded(world);
  },
);

test.each([0, 5, 20, 100])(
  'killed %i ms after records were handed back that could not continue their chain: its next start attaches them',
  async (afterMs) => {
    const world = open(APART, ['north', 'south'], goesOn, { minMs: 60, maxMs: 140 });
    const north = world.daemon('north');
    const handed = (): boolean =>
      north.events.some((event) => event.kind === 'standby' && event.state === 'shared');
    const attached = async (): Promise<boolean> =>
      (await world.audit.tail('desk', 1_000)).some(
        ({ record: { content } }) => content.kind === 'note' && content.about === 'carriedAlone',
      );
    await world.run(handed);
    expectApart(world);
    await world.run(world.elapsedMs() + afterMs);
    expect(await attached()).toBe(false);
    north.kill();
    north.start();
    await world.run();
    expect(await attached()).toBe(true);
    await expectAllRecorded(world);
  },
);

test.each([[['north']], [['north', 'south']]])(
  `lost again and again at ${SOME.length} rhythms, with %j: acted on once, and handed back completely`,
  async (names) => {
    for (const rhythm of SOME) {
      // It is back for barely longer than it takes to be trusted: no poll may fall between two losses.
      const [downMs, upMs] = [2_500 + rhythm * 900, 2_300 + ((rhythm * 370) % 1_900)];
      const events = Array.from({ length: 9 }, (_, loss): readonly TimedEvent[] => {
        const atMs = BREACH_MS - 3_000 + loss * (downMs + upMs);
        return [
          { atMs, kind: 'store', state: 'down' },
          { atMs: atMs + downMs, kind: 'store', state: 'up' },
        ];
      }).flat();
      const world = open(rhythm + 1, names, events);
      await world.run();
      await check(world, `down for ${downMs} ms, up for ${upMs} ms, ${names.length} daemons`);
    }
  },
  600_000 + 30_000 * MOMENTS,
);

test('the second in line acts after its turn if the first one has died, and not before', async () => {
  const dies: TimedEvent = { atMs: 15_500, kind: 'kill', daemon: 'north' };
  const world = open(1, ['north', 'south'], [...outage(15_000), dies]);
  await world.run();
  const aloneMs = 15_000;
  expect(firstOrderMs(world)).toBeGreaterThan(aloneMs + LATE_ARRIVAL_MS);
  expect(firstOrderMs(world)).toBeLessThan(aloneMs + 25_000);
  await check(world, 'the first one died');
});

test('a store that comes back empty gets everything again, and the same epoch continues', async () => {
  const world = open(3, ['north'], outage(BREACH_MS - 2_000));
  await world.run(30_000);
  const before = await world.daemon('north').store?.store.read('desk');
  await world.store.forget('desk');
  await world.run();
  await check(world, 'emptied');
  const after = await world.store.read('desk');
  if (before?.load.kind !== 'loaded' || after.load.kind !== 'loaded') throw new Error('refused');
  expect(after.load.account.epoch.id).toBe(before.load.account.epoch.id);
  expect(after.load.account.documents.evaluation?.nextEpisode).toBeGreaterThan(1);
});

test('a pause placed in an intermittent store holds before everything is handed back', async () => {
  // Never up for as long as it takes to be trusted.
  const flaps = Array.from({ length: 10 }, (_, loss): readonly TimedEvent[] => [
    { atMs: 5_000 + loss * 3_500, kind: 'store', state: 'down' },
    { atMs: 7_000 + loss * 3_500, kind: 'store', state: 'up' },
  ]).flat();
  const paused = open(3, ['north'], [...flaps, { atMs: 9_500, kind: 'pause', account: 'desk' }]);
  await paused.run(38_000);
  const alone = paused.daemon('north').events.filter(({ kind }) => kind === 'standby');
  expect(alone).toMatchObject([{ state: 'alone' }]);
  expect(firstOrderMs(paused)).toBe(Number.POSITIVE_INFINITY);
  const acting = open(3, ['north'], flaps);
  await acting.run(38_000);
  expect(firstOrderMs(acting)).toBeLessThan(38_000);
});
