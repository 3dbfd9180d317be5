import { expect, test } from 'vitest';
import { openWorld } from '../../src/world/open-world.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { sliceOf } from '../support/slice.ts';
import { longAccount } from './long-account.ts';

/** A machine that sleeps, or a throttled processor: the daemon's process is suspended for a while. */

const FALL_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 6%, clearAbove: 8% } }
    do: [{ reduce: { to: 20%, slippage: 1% } }]
    severity: critical
`;

type Points = readonly (readonly [atMs: number, price: string])[];

function sleepingWorld(durationMs: number, points: Points, events: readonly TimedEvent[]): WorldSpec {
  return {
    seed: 33,
    durationMs,
    exchange: {
      accounts: [longAccount('4500')],
      depth: '5',
    },
    prices: [{ market: 'BTC_USDT', points, tickMs: 100 }],
    daemons: [{ name: 'north', config: CONFIG }],
    events,
  };
}

const asleep = (fromMs: number, toMs: number): readonly TimedEvent[] => [
  { atMs: fromMs, kind: 'suspend', daemon: 'north' },
  { atMs: toMs, kind: 'resume', daemon: 'north' },
];

async function play(spec: WorldSpec) {
  const world = openWorld(spec);
  await world.run();
  expect(world.errors).toEqual([]);
  const of = (kind: 'order_placed' | 'fill' | 'liquidation_started' | 'order_cancelled') =>
    world.exchange.model
      .ledger({ kinds: [kind], accountId: 'desk-1' })
      .map(({ details, amount, atMs }) => ({ details, amount, atMs: atMs - world.startMs }));
  return { world, of };
}

test.each(sliceOf([30_000, 600_000, 2 * 3_600_000], 3, 'times asleep'))(
  'the machine sleeps for %i ms while the market falls: on waking the daemon acts on a new read',
  async (lastsMs) => {
    const wakesMs = FALL_MS + lastsMs;
    const points: Points = [
      [0, '60000'],
      [FALL_MS + 1_000, '60000'],
      [FALL_MS + 20_000, '55000'],
      [wakesMs + 20_000, '55000'],
      [wakesMs + 60_000, '50000'],
    ];
    const { of } = await play(sleepingWorld(wakesMs + 80_000, points, asleep(FALL_MS, wakesMs)));
    const orders = of('order_placed').filter(({ atMs }) => atMs > FALL_MS);
    // Read, fence of a lane that was never used, cancel, read, place.
    expect((orders[0]?.atMs ?? Number.POSITIVE_INFINITY) - wakesMs).toBeLessThan(8_000);
    for (const { details } of orders) expect(Number(details?.['activationPrice'])).toBeLessThan(55_000);
    expect(of('liquidation_started')).toEqual([]);
    expect(of('fill').length).toBeGreaterThan(0);
  },
);

test('the machine sleeps while nothing happens: no action, and no notice of a rule', async () => {
  const points: Points = [
    [0, '60000'],
    [3_600_000, '60000'],
  ];
  const { world, of } = await play(sleepingWorld(900_000, points, asleep(FALL_MS, 800_000)));
  expect([of('order_placed'), of('order_cancelled')]).toEqual([[], []]);
  const told = world.daemons.flatMap(({ notices }) => notices);
  expect(told).toEqual([]);
});

test('asleep between the read that showed the breach and the order: the order on waking is priced by a new read', async () => {
  // A gap through the threshold; the daemon sees it at its next poll and is suspended just before it acts.
  const points: Points = [
    [0, '60000'],
    [FALL_MS, '60000'],
    [FALL_MS + 100, '55500'],
    [FALL_MS + 5_000, '55500'],
    [FALL_MS + 30_000, '54400'],
    [FALL_MS + 120_000, '54400'],
    [FALL_MS + 140_000, '50000'],
  ];
  for (let atMs = 0; atMs < 5_000; atMs += 490) {
    const events = asleep(FALL_MS + 200 + atMs, FALL_MS + 60_000);
    const { of } = await play(sleepingWorld(FALL_MS + 160_000, points, events));
    const late = of('order_placed').filter((entry) => entry.atMs >= FALL_MS + 60_000);
    for (const { details } of late) expect(Number(details?.['activationPrice'])).toBeLessThan(54_400);
    expect(of('liquidation_started')).toEqual([]);
    const sold = of('fill').reduce((sum, { amount }) => sum + Number(amount), 0);
    expect(sold).toBeCloseTo(0.4, 6);
  }
});

test.each([200, 1_000, 3_000])(
  'throttled processor: the account survives stalls of %i ms with pauses as long in between',
  async (stallMs) => {
    const points: Points = [
      [0, '60000'],
      [FALL_MS, '60000'],
      [FALL_MS + 120_000, '50000'],
    ];
    const events: TimedEvent[] = [];
    for (let atMs = FALL_MS; atMs < FALL_MS + 120_000; atMs += 2 * stallMs)
      events.push(...asleep(atMs, atMs + stallMs));
    const { of } = await play(sleepingWorld(FALL_MS + 140_000, points, events));
    expect(of('liquidation_started')).toEqual([]);
    expect(of('fill').length).toBeGreaterThan(0);
  },
);
