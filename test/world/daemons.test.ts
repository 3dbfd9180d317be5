import { expect, test } from 'vitest';
import { toNumber } from '../../src/core/quantities/decimal.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { DaemonSpec, TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

const MINUTE_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 3%, clearAbove: 5% } }
    do: [{ reduce: { untilDistance: 8%, slippage: 1% } }]
    severity: critical
`;

/** The distance to liquidation falls below 3 % when the price is set, at 60 s, and stays there without an action. */
function scene(events: readonly TimedEvent[], daemons?: readonly DaemonSpec[]): WorldSpec {
  return {
    seed: 7,
    durationMs: 5 * MINUTE_MS,
    exchange: {
      accounts: [longAccount('4000')],
    },
    daemons: daemons ?? [{ name: 'north', config: CONFIG }],
    events: [{ atMs: MINUTE_MS, kind: 'setPrice', market: 'BTC_USDT', price: '54800' }, ...events],
  };
}

function ordersOf(world: World): readonly LedgerEntry[] {
  return world.exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' });
}

function sizeOf(world: World): number {
  const [position] = world.exchange.model.openPositions('desk-1');
  return position === undefined ? 0 : toNumber(position.amount);
}

function requestsBetween(world: World, fromMs: number, toMs: number): number {
  const { startMs } = world;
  return world.exchange.log.list().filter(({ atMs }) => atMs >= startMs + fromMs && atMs <= startMs + toMs)
    .length;
}

test('a daemon acts on a breach within seconds of virtual time', async () => {
  const world = openWorld(scene([]));
  expect(await world.run(() => ordersOf(world).length > 0)).toBe(true);
  expect(world.elapsedMs()).toBeGreaterThan(MINUTE_MS);
  expect(world.elapsedMs()).toBeLessThan(MINUTE_MS + 5_000);
  await world.run(MINUTE_MS + 10_000);
  await world.apply({ kind: 'setPrice', market: 'BTC_USDT', price: '54700' });
  await world.run();
  expect(sizeOf(world)).toBeLessThan(0.5);
  expect(world.errors).toEqual([]);
});

test('a suspended daemon does nothing until it is resumed, then acts', async () => {
  const world = openWorld(
    scene([
      { atMs: 50_000, kind: 'suspend', daemon: 'north' },
      { atMs: 120_000, kind: 'resume', daemon: 'north' },
    ]),
  );
  await world.run(119_999);
  expect(world.daemon('north').state).toBe('suspended');
  // A request in flight may have arrived.
  expect(requestsBetween(world, 50_100, 119_999)).toBe(0);
  await world.run(() => ordersOf(world).length > 0);
  expect(world.elapsedMs()).toBeGreaterThan(120_000);
  expect(world.elapsedMs()).toBeLessThan(130_000);
});

test('a killed daemon disappears at any point; its successor continues from the stored state', async () => {
  const world = openWorld(scene([]));
  await world.run(() => ordersOf(world).length > 0);
  world.daemon('north').kill();
  const killedMs = world.elapsedMs();
  await world.run(killedMs + 30_000);
  expect(requestsBetween(world, killedMs + 100, killedMs + 30_000)).toBe(0);
  expect(world.daemon('north').state).toBe('down');
  world.daemon('north').start();
  await world.run();
  expect(requestsBetween(world, killedMs + 30_000, killedMs + 60_000)).toBeGreaterThan(10);
  expect(await world.audit.verify('desk-1')).toMatchObject({ kind: 'intact' });
  expect(world.errors).toEqual([]);
});

test('a gracefully stopped daemon ends, and one that is started again continues', async () => {
  const world = openWorld(
    scene([
      { atMs: 30_000, kind: 'stop', daemon: 'north' },
      { atMs: 40_000, kind: 'start', daemon: 'north' },
    ]),
  );
  await world.run(39_000);
  expect(world.daemon('north').state).toBe('down');
  await world.run();
  expect(ordersOf(world).length).toBeGreaterThan(0);
});

test('a daemon started while it stops starts afterwards', async () => {
  const events = [
    { atMs: 29_000, kind: 'suspend', daemon: 'north' },
    { atMs: 30_000, kind: 'stop', daemon: 'north' },
    { atMs: 31_000, kind: 'start', daemon: 'north' },
    { atMs: 35_000, kind: 'resume', daemon: 'north' },
  ] as const;
  // It has begun a poll that cannot end.
  const fault = {
    effect: { kind: 'latency', delayMs: 4_000 },
    target: { endpoint: 'openPositions' },
  } as const;
  const world = openWorld({ ...scene(events), faults: [{ atMs: 20_000, untilMs: 30_000, fault }] });
  await world.run(34_000);
  expect(world.daemon('north').state).toBe('suspended');
  await world.run(50_000);
  expect(world.daemon('north').state).toBe('running');
});

test('two daemons share the work and the account; each continues when the other is killed', async () => {
  const daemons = [
    { name: 'north', config: CONFIG, clock: { skewMs: 2_000, driftPpm: 50 } },
    { name: 'south', config: CONFIG, clock: { skewMs: -1_500 } },
  ];
  const world = openWorld(scene([{ atMs: 58_000, kind: 'kill', daemon: 'north' }], daemons));
  await world.run();
  const [north, south] = world.daemons;
  expect(north?.polls).toBeGreaterThan(5);
  expect(south?.polls).toBeGreaterThan(5);
  expect(ordersOf(world).length).toBeGreaterThan(0);
  expect(world.errors).toEqual([]);
});

test('a paused daemon sends nothing; when the pause is lifted it acts', async () => {
  const world = openWorld(
    scene([
      { atMs: 30_000, kind: 'pause', account: null },
      { atMs: 150_000, kind: 'unpause', account: null },
    ]),
  );
  await world.run(150_000);
  expect(ordersOf(world)).toEqual([]);
  await world.run(() => ordersOf(world).length > 0);
  expect(world.elapsedMs()).toBeLessThan(160_000);
});

test('an operator reduces by order, and the owner trades without the daemon', async () => {
  const target = { kind: 'by', fraction: 0.5 } as const;
  const world = openWorld(
    scene([
      { atMs: 10_000, kind: 'reduce', account: 'desk-1', markets: ['BTC_PERP'], target, slippage: 0.01 },
      // The daemon has placed a stop one step below the price.
      { atMs: 20_000, kind: 'setPrice', market: 'BTC_USDT', price: '59800' },
      {
        atMs: 40_000,
        kind: 'trade',
        account: 'desk-1',
        market: 'BTC_PERP',
        side: 'sell',
        amount: '0.050',
        reduceOnly: true,
      },
    ]),
  );
  await world.run(30_000);
  expect(sizeOf(world)).toBe(0.25);
  await world.run(50_000);
  expect(sizeOf(world)).toBe(0.2);
});

test('a reload is adopted; an invalid one is refused and changes nothing', async () => {
  const observing = CONFIG.replace('mode: enforce', 'mode: observe');
  const world = openWorld(
    scene([
      { atMs: 20_000, kind: 'reload', daemon: 'north', config: observing },
      { atMs: 30_000, kind: 'reload', daemon: 'north', config: 'mode: whatever' },
    ]),
  );
  await world.run();
  expect(ordersOf(world)).toEqual([]);
  const kinds = world.daemon('north').events.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'configReloaded')).toHaveLength(1);
  expect(kinds.filter((kind) => kind === 'configRefused')).toHaveLength(1);
});

test('requests use the second address when the first goes down', async () => {
  const world = openWorld(scene([{ atMs: 20_000, kind: 'region', index: 0, state: { mode: 'down' } }]));
  await world.run();
  expect(ordersOf(world).length).toBeGreaterThan(0);
  const regions = world.exchange.log.list({ outcome: 'served', limit: 20 }).map(({ region }) => region);
  expect(new Set(regions)).toEqual(new Set([1]));
});

test('while the shared store is down a daemon goes on from its memory', async () => {
  const world = openWorld(
    scene([
      { atMs: 40_000, kind: 'store', state: 'down' },
      { atMs: 90_000, kind: 'store', state: 'up' },
    ]),
  );
  await world.run(90_000);
  const sent = ordersOf(world).length;
  expect(sent).toBeGreaterThan(0);
  await world.run();
  expect(await world.audit.verify('desk-1')).toMatchObject({ kind: 'intact' });
});
