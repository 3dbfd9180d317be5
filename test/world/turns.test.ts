import { describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';
import { auditTrailOf } from '../faults/audit-trail.ts';
import { ledgerViolations } from '../faults/ledger-check.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

/**
 * Two daemons that lost their store long before there is something to do; by the exchange's ledger, in virtual time.
 */

const LOST_MS = 15_000;
const LATE_ARRIVAL_MS = 3_000;
const TIMEOUT_MS = 2_000;
/** Plus a second: the wait of the second in line for the first. */
const TURN_MS = LATE_ARRIVAL_MS + TIMEOUT_MS + 1_000;
/** Bound from the breach to the first order: the rule fires, then a poll, a read and an order. */
const SLACK_MS = 6_000;
/** `SEEDS=50 npm test -- test/world/turns` tries more, and all ways. */
const SEEDS = Number(process.env['SEEDS'] ?? 1);
const ALL_WAYS = process.env['SEEDS'] !== undefined;

function config(when: string, does: string): string {
  return `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], lateArrival: ${LATE_ARRIVAL_MS}ms, timeouts: { attempt: ${TIMEOUT_MS}ms } }
acting: { fillWithin: 2s }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [half] }
rules:
  - id: half
    on: position
    when: { ${when} }
    do: [{ reduce: { ${does}, slippage: 1% } }]
`;
}

const NEAR = config('liquidationDistance: { below: 4.5%, clearAbove: 12% }', 'by: 50%');
/** Fires for any size, as long as the market is low. */
const LOW = config('markPrice: { below: 58000 }', 'by: 50%');

interface Scene {
  readonly seed: number;
  /** Time after the loss of the store. */
  readonly breachAfterMs: number;
  readonly events?: readonly TimedEvent[];
  readonly text?: string;
  /** The fall stops for this long when the rule has fired, so that no order fills meanwhile. Default: it does not. */
  readonly pausesMs?: number;
  /** The two act in different store epochs. */
  readonly isApart?: boolean;
}

function breachMs({ breachAfterMs }: Scene): number {
  return LOST_MS + breachAfterMs;
}

function open(scene: Scene): World {
  const { seed, events = [], text = NEAR, pausesMs = 0, isApart = false } = scene;
  const atMs = breachMs(scene);
  const price = (below: number): string => String((text === LOW ? 58_000 : 57_650) - below);
  const durationMs = atMs + 90_000;
  return openWorld({
    seed,
    durationMs,
    exchange: {
      accounts: [longAccount('3300', { id: 'desk', leverage: 10 })],
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [atMs - 30_000, '60000'],
          [atMs, price(0)],
          [atMs + 1_000, price(50)],
          [atMs + 1_001 + pausesMs, price(50)],
          [atMs + 21_000 + pausesMs, price(850)],
          [durationMs, price(860)],
        ],
        tickMs: 250,
      },
    ],
    network: {
      toExchange: { minMs: 10, maxMs: 120 },
      toDaemon: { minMs: 10, maxMs: 120 },
      store: { minMs: 0.3, maxMs: 4 },
    },
    daemons: [
      { name: 'first', config: text },
      // Started so shortly before the loss that it has read nothing, it begins a separate store epoch.
      { name: 'second', config: text, ...(isApart ? { startAtMs: LOST_MS - 1 } : {}) },
    ],
    events: [
      { atMs: LOST_MS, kind: 'store', state: 'down' },
      { atMs: durationMs - 40_000, kind: 'store', state: 'up' },
      ...events,
    ],
  });
}

/** Changing requests of a daemon, in the order of their answers. */
function sentBy(world: World, name: string): readonly string[] {
  return world
    .daemon(name)
    .events.flatMap((event) =>
      event.kind === 'step' && event.step !== 'readPositions' ? [`${event.step} ${event.outcome}`] : [],
    );
}

function firstOrderMs({ exchange, startMs }: World): number {
  const [first] = exchange.model.ledger({ kinds: ['order_placed'] });
  return (first?.atMs ?? Number.POSITIVE_INFINITY) - startMs;
}

function sizeOf({ exchange }: World): number {
  return exchange.model.openPositions('desk')[0]?.amount.toNumber() ?? 0;
}

/** Checks that no target was crossed, nothing overshot, the size is as intended, and the audit trail has all of it. */
async function checkWhole(world: World, about: string): Promise<void> {
  const trail = await auditTrailOf(world);
  expect(ledgerViolations(world.exchange.model.ledger(), trail, world.startMs), `${about}:`).toEqual([]);
  expect(await world.audit.verify('desk'), `${about}:`).toMatchObject({ kind: 'intact' });
  expect(sizeOf(world), `${about}:`).toBeCloseTo(0.25, 3);
}

async function epochsOf(world: World): Promise<readonly (string | undefined)[]> {
  const loads = await Promise.all(world.daemons.map(async ({ store }) => await store?.store.read('desk')));
  return loads.map((read) => (read?.load.kind === 'loaded' ? read.load.account.epoch.id : undefined));
}

const LEADS = [
  ['a distance', 'one store epoch', NEAR, false],
  ['a price', 'one store epoch', LOW, false],
  ['a distance', 'different store epochs', NEAR, true],
  ['a price', 'different store epochs', LOW, true],
] as const;

const LOSSES = [
  ['kill', false],
  ['suspend', false],
  ['closed', false],
  ['kill', true],
  ['closed', true],
] as const;

/** Share of the ways to play: for ten minutes one of each kind, for one minute half of them. */
const LATER = [
  [60_000, 2],
  [600_000, 5],
] as const;

describe.each(ALL_WAYS ? LATER : sliceOf(LATER, 2, 'times between a loss and a fall'))(
  'a market that falls %d ms after the loss',
  (breachAfterMs, share) => {
    const some = <T>(all: readonly T[], what: string): readonly T[] =>
      ALL_WAYS ? all : sliceOf(all, share, `${what}, ${breachAfterMs} ms after a loss`);
    const seeds = Array.from(
      { length: breachAfterMs > 60_000 ? Math.ceil(SEEDS / 3) : SEEDS },
      (_, index) => index + 1,
    );

    test.each(some(LEADS, 'ways to act first'))(
      'only the first in line acts on %s, in %s',
      async (_, __, text, isApart) => {
        for (const seed of seeds) {
          const scene = { seed, breachAfterMs, text, isApart };
          const world = open(scene);
          await world.run(breachMs(scene) - 5_000);
          const [one, other] = await epochsOf(world);
          expect(one === other, `seed ${seed}: ${one}, ${other}:`).toBe(!isApart);
          await world.run(breachMs(scene) + 45_000);
          expect(sentBy(world, 'second'), `seed ${seed}, sent by the second:`).toEqual([]);
          expect(firstOrderMs(world) - breachMs(scene), `seed ${seed}:`).toBeLessThan(SLACK_MS);
          await world.run();
          await checkWhole(world, `seed ${seed}`);
        }
      },
    );

    test.each(some(LOSSES, 'ways to lose the first in line'))(
      'the second in line acts one turn later if the first is gone (%s; in a separate store epoch: %s), and once',
      async (how, isApart) => {
        for (const seed of seeds) {
          const atMs = LOST_MS + breachAfterMs - 10_000;
          const gone: TimedEvent =
            how === 'closed'
              ? { atMs, kind: 'link', daemon: 'first', to: 'exchange', state: 'down' }
              : { atMs, kind: how, daemon: 'first' };
          const scene = { seed, breachAfterMs, isApart, events: [gone] };
          const world = open(scene);
          await world.run();
          const waitedMs = firstOrderMs(world) - breachMs(scene);
          expect(waitedMs, `seed ${seed}:`).toBeGreaterThan(TURN_MS - 2_000);
          expect(waitedMs, `seed ${seed}:`).toBeLessThan(TURN_MS + SLACK_MS);
          await checkWhole(world, `seed ${seed}`);
        }
      },
    );

    test('a first in line that comes back after the second has acted does nothing more', async () => {
      for (const seed of seeds) {
        const atMs = LOST_MS + breachAfterMs;
        const events: readonly TimedEvent[] = [
          { atMs: atMs - 10_000, kind: 'suspend', daemon: 'first' },
          { atMs: atMs + 20_000 + seed * 1_000, kind: 'resume', daemon: 'first' },
        ];
        const world = open({ seed, breachAfterMs, events, text: LOW });
        await world.run();
        await checkWhole(world, `seed ${seed}`);
      }
    });

    test.each(some([false, true], 'store epochs of two'))(
      'a first in line whose orders do not fill is helped, in a separate store epoch (%s), and nothing stays uncovered',
      async (isApart) => {
        let helped = 0;
        for (const seed of seeds) {
          const scene = { seed, breachAfterMs, text: LOW, pausesMs: 25_000, isApart };
          const world = open(scene);
          await world.run();
          const about = `seed ${seed}`;
          const trail = await auditTrailOf(world);
          expect(ledgerViolations(world.exchange.model.ledger(), trail, world.startMs), `${about}:`).toEqual(
            [],
          );
          expect(sizeOf(world), `${about}:`).toBeCloseTo(0.25, 3);
          expect(longestUncoveredMs(world), `${about}:`).toBeLessThan(3_000);
          const said = world.daemons.flatMap(({ events }) =>
            events.flatMap((event) => (event.kind === 'audited' ? [event.event] : [])),
          );
          if (sentBy(world, 'second').length > 0) helped += 1;
          // Another daemon being quicker is no failure.
          expect(
            said.filter(({ alarm }) => alarm),
            `${about}:`,
          ).toEqual([]);
        }
        expect(helped).toBeGreaterThan(0);
      },
    );
  },
);

/** From the first order on, until the target is reached: the longest time without a standing order. */
function longestUncoveredMs({ exchange }: World): number {
  const standing = new Set<number>();
  let [sinceMs, longestMs] = [Number.NaN, 0];
  for (const { kind, orderId, atMs, details } of exchange.model.ledger()) {
    if (kind === 'fill' && Number(details?.['sizeAfter']) <= 0.2505) break;
    if (orderId === undefined) continue;
    if (kind === 'order_placed') {
      if (standing.size === 0 && sinceMs > 0) longestMs = Math.max(longestMs, atMs - sinceMs);
      standing.add(orderId);
    } else if (kind === 'order_cancelled' && standing.delete(orderId) && standing.size === 0) sinceMs = atMs;
  }
  return longestMs;
}
