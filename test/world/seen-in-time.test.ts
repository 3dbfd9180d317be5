import { expect, test } from 'vitest';
import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedFault, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

const configOf = (hold: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 3%, clearAbove: 8% } }
    for: ${hold}
    do: [{ reduce: { to: 20%, slippage: 3% } }]
    severity: critical
`;

const START = 60_000;
const FALL_MS = 60_000;
/** Distance to liquidation when the fall begins. */
const DISTANCE = 0.135;

interface Scene {
  /** Part of the start price lost per second. */
  readonly speed: number;
  readonly roundTripMs: number;
  /** Time of the first poll, relative to the beginning of the fall. */
  readonly phaseMs?: number;
  readonly faults?: readonly TimedFault[];
  /** Far from any threshold. */
  readonly isRich?: boolean;
  readonly hold?: string;
}

/** A fall that liquidates the account unless it is reduced. */
function sceneOf({
  speed,
  roundTripMs,
  phaseMs = 0,
  faults = [],
  isRich = false,
  hold = '0s',
}: Scene): WorldSpec {
  const fallMs = FALL_MS + phaseMs;
  const points: [number, string][] = [[0, String(START)]];
  for (let ms = 100; ms <= (1_000 * 0.3) / speed; ms += 100) {
    points.push([fallMs + ms, (START * (1 - (speed * ms) / 1_000)).toFixed(1)]);
  }
  // Long 0.5 at START: equity = collateral - 0.5 * fall, maintenance 3 % of its value.
  const liquidationPrice = START * (1 - DISTANCE);
  const collateral = 0.5 * (START - liquidationPrice) + 0.03 * 0.5 * liquidationPrice;
  return {
    seed: 5,
    durationMs: fallMs + 60_000,
    exchange: {
      accounts: [longAccount(isRich ? '29000' : collateral.toFixed(2))],
    },
    prices: [{ market: 'BTC_USDT', points }],
    daemons: [{ name: 'north', config: configOf(hold) }],
    network: { toExchange: roundTripMs / 2, toDaemon: roundTripMs / 2 },
    faults: [...faults],
  };
}

const liquidations = ({ exchange }: World): number =>
  exchange.model.ledger({ kinds: ['liquidation_started'] }).length;

/** When requests reached the exchange, in milliseconds since the start. */
const times = ({ exchange, startMs }: World, endpoint: string, fromMs = 0): readonly number[] =>
  exchange.log.list({ endpoint }).flatMap(({ atMs }) => (atMs - startMs >= fromMs ? [atMs - startMs] : []));

test.each([0, 2_500, 5_000, 7_500])(
  'a fall of 1 % a second, begun %i ms into a calm interval, is seen in time',
  async (phaseMs) => {
    const world = openWorld(sceneOf({ speed: 0.01, roundTripMs: 800, phaseMs }));
    await world.run();
    expect(liquidations(world)).toBe(0);
    expect(world.errors).toEqual([]);
  },
);

test('with replies that take three seconds it still reads each second near a breach', async () => {
  const world = openWorld(sceneOf({ speed: 0.002, roundTripMs: 3_000 }));
  const breachMs = FALL_MS + (1_000 * (DISTANCE - 0.03)) / 0.002;
  await world.run(breachMs + 3_000);
  const reads = times(world, 'openPositions', breachMs - 3_000).filter((atMs) => atMs < breachMs);
  expect(reads.length).toBeGreaterThanOrEqual(3);
  expect(world.errors).toEqual([]);
});

test('far from any threshold reads never overlap, however slow they are', async () => {
  const world = openWorld(sceneOf({ speed: 0.001, roundTripMs: 3_000, isRich: true }));
  await world.run(FALL_MS);
  // Its holdings are unknown before the first reply.
  const reads = times(world, 'openPositions', 10_000);
  const gaps = reads.slice(1).map((atMs, index) => atMs - (reads[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThan(5_000);
});

test('one 429 of the gateway with Retry-After 60 during a fall does not stop the polls for a minute', async () => {
  const atMs = FALL_MS + 15_000;
  const refusal = { kind: 'gatewayStatus', status: 429, retryAfterMs: 60_000 } as const;
  const fault: TimedFault = { atMs, untilMs: atMs + 11_000, fault: { effect: refusal } };
  const world = openWorld(sceneOf({ speed: 0.003, roundTripMs: 100, faults: [fault] }));
  await world.run();
  expect(liquidations(world)).toBe(0);
  // While it refuses, reads become less frequent.
  const reads = times(world, 'openPositions', atMs).filter((ms) => ms < atMs + 11_000);
  expect(reads.length).toBeLessThanOrEqual(6);
  expect(world.errors).toEqual([]);
});

test('the same far from any threshold: polls respect the minute', async () => {
  const refusal = { kind: 'gatewayStatus', status: 429, retryAfterMs: 60_000 } as const;
  const fault: TimedFault = { atMs: 1_000, untilMs: 12_000, fault: { effect: refusal } };
  const world = openWorld(sceneOf({ speed: 0.001, roundTripMs: 100, faults: [fault], isRich: true }));
  await world.run(FALL_MS);
  expect(times(world, 'openPositions', 13_000)).toEqual([]);
});

test.each<[string, Omit<Extract<FaultEffect, { kind: 'gatewayStatus' }>, 'kind' | 'status'>]>([
  ['999,999 seconds', { retryAfterMs: 999_999_000 }],
  ['a date in 2099', { retryAfterMs: 73 * 365 * 86_400_000, retryAfterAs: 'date' }],
])('one 429 of the gateway that asks for %s does not stop the polls until then', async (_what, asks) => {
  const refusal = { kind: 'gatewayStatus', status: 429, ...asks } as const;
  const fault: TimedFault = { atMs: 1_000, untilMs: 12_000, fault: { effect: refusal } };
  const scene = sceneOf({ speed: 0.001, roundTripMs: 100, faults: [fault], isRich: true });
  const world = openWorld({ ...scene, prices: [], durationMs: 200_000 });
  await world.run();
  expect(times(world, 'openPositions', 140_000).length).toBeGreaterThanOrEqual(5);
  expect(world.errors).toEqual([]);
});

test('a rule whose time is up after the last reply acts without another read', async () => {
  // The price crosses the threshold at 36.1 s; from 37 s on no read is answered.
  const atMs = FALL_MS + 37_000;
  const outage: TimedFault = {
    atMs,
    fault: { effect: { kind: 'hang' }, target: { endpoint: 'openPositions' } },
  };
  const world = openWorld(sceneOf({ speed: 0.003, roundTripMs: 100, hold: '1s', faults: [outage] }));
  await world.run();
  const [order] = times(world, 'stopLimit');
  expect(order).toBeLessThan(atMs + 2_000);
  expect(world.errors).toEqual([]);
});

test('an order does not discard the reads in flight, which are about to arrive', async () => {
  const slow = (at: 'request' | 'reply'): TimedFault => ({
    atMs: 0,
    fault: { effect: { kind: 'latency', delayMs: 1_450, at }, target: { endpoint: 'openPositions' } },
  });
  const faults = [slow('request'), slow('reply')];
  const given: string[] = [];
  const world = openWorld(sceneOf({ speed: 0.003, roundTripMs: 100, faults }), {
    observe: () => ({
      emit: (event) => {
        if (event.kind === 'read' && event.outcome !== 'ok') given.push(event.outcome);
      },
    }),
  });
  await world.run();
  expect(times(world, 'stopLimit').length).toBeGreaterThan(0);
  expect(given).toEqual([]);
  expect(world.errors).toEqual([]);
});
