import { expect, test } from 'vitest';
import { toNumber } from '../../src/core/quantities/decimal.ts';
import type { FaultSpec } from '../../src/simulator/http/faults.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

const BREACH_MS = 60_000;
const LATE_ARRIVAL_MS = 5_000;
const CALM_MS = 2_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], lateArrival: ${LATE_ARRIVAL_MS}ms }
cadence: { calm: ${CALM_MS}ms, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 3%, clearAbove: 5% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
`;

/** Distance to liquidation falls below 3 % when the price is set, at 60 s. */
function scene(events: readonly TimedEvent[], faults: WorldSpec['faults'] = []): WorldSpec {
  return {
    seed: 11,
    durationMs: 4 * 60_000,
    exchange: {
      accounts: [longAccount('4000')],
    },
    daemons: [{ name: 'north', config: CONFIG }],
    events: [{ atMs: BREACH_MS, kind: 'setPrice', market: 'BTC_USDT', price: '54800' }, ...events],
    faults,
  };
}

const step = (atMs: number, byMs: number): TimedEvent => ({ atMs, kind: 'stepStoreClock', byMs });

function placed(world: World): readonly LedgerEntry[] {
  return world.exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' });
}

function sizeOf(world: World): number {
  const [position] = world.exchange.model.openPositions('desk-1');
  return position === undefined ? 0 : toNumber(position.amount);
}

function placedAtMs(world: World): readonly number[] {
  return placed(world).map(({ atMs }) => atMs - world.startMs);
}

test("the store's clock steps back 60 s: the daemon acts as usual", async () => {
  const stepped = openWorld(scene([step(BREACH_MS - 300, -60_000)]));
  await stepped.run(BREACH_MS + 30_000);
  const undisturbed = openWorld(scene([]));
  await undisturbed.run(BREACH_MS + 30_000);
  const [first = Number.POSITIVE_INFINITY] = placedAtMs(stepped);
  const [expected = Number.NaN] = placedAtMs(undisturbed);
  // All accounts are due at once after the step: the ticks of the calm cadence fall elsewhere.
  expect(first).toBeLessThanOrEqual(expected + CALM_MS);
  expect(stepped.errors).toEqual([]);
});

test.each([60_000, 3_600_000])(
  "the store's clock steps back %i ms under a lane at work: its recorded times do not delay it",
  async (byMs) => {
    // A first breach halves the position and passes; a second one comes right after the step.
    const again: readonly TimedEvent[] = [
      { atMs: BREACH_MS + 5_000, kind: 'setPrice', market: 'BTC_USDT', price: '54500' },
      { atMs: BREACH_MS + 30_000, kind: 'setPrice', market: 'BTC_USDT', price: '60000' },
      { atMs: BREACH_MS + 90_000, kind: 'setPrice', market: 'BTC_USDT', price: '51800' },
    ];
    const run = async (events: readonly TimedEvent[]): Promise<World> => {
      const world = openWorld(scene([...again, ...events]));
      await world.run(BREACH_MS + 120_000);
      return world;
    };
    const afterSecond = (world: World): number =>
      placedAtMs(world).find((atMs) => atMs > BREACH_MS + 90_000) ?? Number.POSITIVE_INFINITY;
    const expected = afterSecond(await run([]));
    expect(expected).toBeLessThan(BREACH_MS + 100_000);
    const stepped = await run([step(BREACH_MS + 89_700, -byMs)]);
    // Its wait begins anew, and lasts at most its full length.
    expect(afterSecond(stepped)).toBeLessThanOrEqual(expected + LATE_ARRIVAL_MS + CALM_MS);
    expect(stepped.errors).toEqual([]);
  },
);

test.each([60_000, 3_600_000])("the store's clock steps ahead %i ms: no fence ends early", async (byMs) => {
  // The reply of the first order is lost, so the next step waits for the fence.
  const fault: FaultSpec = {
    effect: { kind: 'lostReply', connection: 'reset' },
    target: { endpoint: 'stopLimit' },
    count: 1,
  };
  const run = async (events: readonly TimedEvent[]): Promise<World> => {
    const world = openWorld(scene(events, [{ atMs: BREACH_MS - 1_000, fault }]));
    await world.run(BREACH_MS + 30_000);
    return world;
  };
  const expected = await run([]);
  const stepped = await run([step(BREACH_MS + 2_500, byMs)]);
  expect(placed(expected).length).toBeGreaterThan(1);
  expect(sizeOf(stepped)).toBe(sizeOf(expected));
  const [, secondMs = Number.NaN] = placedAtMs(expected);
  expect(placedAtMs(stepped)[1]).toBeGreaterThanOrEqual(secondMs - 1_000);
});
