import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { CONTENDED_GRACE_MS } from './contended-world.ts';
import { cancelledInCalm, playJudged } from './invariants.ts';
import { longAccount } from './long-account.ts';
import { streamViolations } from './streams.ts';
import type { Arrival, Seen, SeenPosition } from './witness.ts';

/** Invariant 16: the judge by itself, and streams that a daemon's requests to a refusing exchange could become. */

const POSITION: SeenPosition = {
  positionId: 1,
  size: '0.5',
  mark: 60_000,
  priceStep: 0.1,
  direction: 'long',
  distance: 0.3,
  isCalled: false,
};
const sight = (atMs: number, changes: Partial<SeenPosition> = {}): Seen => {
  return { kind: 'sight', atMs, markets: new Map([['BTC_PERP', [{ ...POSITION, ...changes }]]]) };
};
const order = (atMs: number): Arrival => ({ kind: 'order', atMs, market: 'BTC_PERP', clientOrderId: 'bw1' });
const NO_TRAIL = { events: [], covers: new Set<string>() };

/** One set each `everyMs`, each after a look at the market. */
function stream(
  sets: number,
  everyMs: number,
  seen: (index: number) => Partial<SeenPosition> = () => ({}),
  one: (atMs: number) => Arrival = order,
): readonly string[] {
  const notes = Array.from({ length: sets }, (_, index) => index * everyMs).flatMap((atMs, index) => [
    sight(atMs, seen(index)),
    one(atMs),
  ]);
  return streamViolations(notes, NO_TRAIL);
}

describe('the judge', () => {
  test('finds a cancel in calm, and none behind a stop that was reached', () => {
    const cancel: Arrival = { ...order(60_000), kind: 'cancel' };
    const reached = { kind: 'coverTriggered', market: 'BTC_PERP', atMs: 40_000 } as AuditEvent;
    expect(cancelledInCalm([sight(0), cancel], [reached], 0)).toEqual([]);
    expect(cancelledInCalm([sight(0), cancel], [], 0)).toHaveLength(1);
    expect(cancelledInCalm([sight(0), cancel], [{ ...reached, atMs: 80_000 }], 0)).toHaveLength(1);
  });
  test('allows a dozen sets within a minute, and one a minute after them', () => {
    expect(stream(12, 100)).toEqual([]);
    expect(stream(30, 60_000)).toEqual([]);
  });
  test('finds a stream of orders, of cancels, and of cancels for the whole account', () => {
    expect(stream(20, 1_000)).toHaveLength(1);
    expect(stream(20, 1_000, undefined, (atMs) => ({ ...order(atMs), kind: 'cancel' }))).toHaveLength(1);
    const all = (atMs: number): Arrival => ({ ...order(atMs), kind: 'cancel', market: null });
    expect(stream(20, 1_000, undefined, all)).toHaveLength(1);
  });
  test('takes a moved mark as a reason for one set, and a changed position for all before', () => {
    expect(stream(40, 1_000, (index) => ({ mark: 60_000 - 100 * index, distance: 0.5 }))).toEqual([]);
    expect(stream(40, 1_000, (index) => ({ size: String(40 - Math.floor(index / 10)) }))).toEqual([]);
    // A tick moves nothing.
    expect(stream(40, 1_000, (index) => ({ mark: 60_000 + (index % 2) }))).not.toEqual([]);
  });
  test('allows one set each ten seconds near liquidation, and no more of a market that stands still', () => {
    expect(stream(40, 10_000, () => ({ distance: 0.05 }))).toEqual([]);
    expect(stream(40, 5_000, () => ({ distance: 0.05 }))).not.toEqual([]);
  });
});

const DURATION_MS = 240_000;

function refusing(endpoint: 'stopLimit' | 'cancelAll', does: string, status = 503): WorldSpec {
  const config = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
acting: { maxAttempts: 1000, maxRenewals: 1000 }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 90% } }, do: [${does}], severity: critical }
`;
  return {
    seed: 1,
    durationMs: DURATION_MS,
    exchange: { accounts: [longAccount('20000')], depth: '5' },
    daemons: [{ name: 'north', config }],
    faults: [{ atMs: 0, fault: { target: { endpoint }, effect: { kind: 'status', status } } }],
  };
}

const LADDER = `mode: enforce
exchange: { baseUrls: ["https://one.example"], readLag: 0ms, cancelCoversStops: yes }
cadence: { calm: 10s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [ladder] }
rules:
  - { id: ladder, on: position, when: { liquidationDistance: { below: 30% } }, do: [{ protect: { at: 65%, slippage: 2% } }] }
`;
const JUMP: [number, string][] = [
  [0, '60000'],
  [14_000, '60000'],
  [14_500, '50000'],
  [30_000, '50000'],
];

const REDUCE = '{ reduce: { by: 50%, slippage: 1% } }';
test.each([
  ['refused orders', refusing('stopLimit', REDUCE)],
  // The client sends each of them again by itself.
  ['orders whose nonce is refused', refusing('stopLimit', REDUCE, 429)],
  [
    'refused cancels of a market',
    refusing('cancelAll', `{ cancelAll: { types: [spot], scope: market } }, ${REDUCE}`),
  ],
  [
    'cancels whose nonce is refused',
    refusing('cancelAll', '{ cancelAll: { types: [spot], scope: account } }', 429),
  ],
  [
    'cancels of a market whose nonce is refused',
    refusing('cancelAll', `{ cancelAll: { types: [spot], scope: market } }, ${REDUCE}`, 429),
  ],
  [
    'refused cancels of the account',
    refusing('cancelAll', '{ cancelAll: { types: [spot], scope: account } }'),
  ],
])('%s are no stream', async (_what, spec) => {
  const { world, violations } = await playJudged(spec, { graceMs: CONTENDED_GRACE_MS });
  expect(violations).toEqual([]);
  expect(
    world.exchange.log.list({}).filter(({ status }) => status === 503 || status === 429).length,
  ).toBeGreaterThan(3);
});

test('a stop that the market jumped over gets another beside it, and neither is cancelled', async () => {
  const spec: WorldSpec = {
    seed: 1,
    durationMs: 30_000,
    exchange: { accounts: [longAccount('4800')], depth: '40' },
    prices: [{ market: 'BTC_USDT', points: JUMP, tickMs: 500 }],
    daemons: [{ name: 'north', config: LADDER }],
    events: [
      { atMs: 8_000, kind: 'trade', account: 'desk-1', market: 'BTC_PERP', side: 'sell', amount: '0.250' },
    ],
  };
  const { world, violations } = await playJudged(spec, { graceMs: CONTENDED_GRACE_MS });
  expect(violations).toEqual([]);
  expect(world.exchange.log.list({ endpoint: 'cancelAll' })).toEqual([]);
  const placed = world.exchange.model.ledger({ kinds: ['order_placed'] }).filter(isOurs);
  expect(placed.map(({ amount }) => amount)).toEqual(['0.5', '0.25']);
});
