import { expect, test } from 'vitest';
import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { AccountSpec, TimedEvent, WorldSpec } from '../../src/world/spec.ts';

/** Invariant 13: a failure elsewhere delays no reduction, by the times in the exchange's ledger. */

const BREACH_MS = 60_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 500ms }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, money: USDT }
accounts:
  - id: desk-1
    apiKey: { env: KEY }
    apiSecret: { env: SECRET }
    rules: [near, used, ltv]
    watch: { positions: true, creditLine: true, mainBalance: [USDT], transfers: true, spotOrders: true }
  - { id: desk-2, apiKey: { env: KEY2 }, apiSecret: { env: SECRET2 }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 4%, clearAbove: 6% } }
    do:
      - cancelAll: { types: [margin, futures], scope: market }
      - reduce: { by: 50%, slippage: 1% }
    severity: critical
  - id: used
    on: account
    when: { mainBalance: { asset: USDT, below: "1" } }
    do: [{ cancelAll: { types: [spot], scope: account } }]
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 80% } }
    do: [{ cancelAll: { types: [spot], scope: account } }]
`;

const LONG = { market: 'BTC_PERP', side: 'long', amount: '0.500' } as const;
const ACCOUNTS: readonly AccountSpec[] = [
  { id: 'desk-1', collateral: { USDT: '4000' }, main: { USDT: '100' }, positions: [LONG] },
  { id: 'desk-2', collateral: { USDT: '4000' }, positions: [LONG] },
];

interface Elsewhere {
  readonly effect: FaultEffect;
  readonly target: { readonly endpoint?: string; readonly account?: string };
}

function worldOf(elsewhere: Elsewhere | undefined): World {
  const events: TimedEvent[] = [
    { atMs: BREACH_MS, kind: 'setPrice', market: 'BTC_USDT', price: '54900' },
    { atMs: BREACH_MS + 8_000, kind: 'setPrice', market: 'BTC_USDT', price: '54600' },
  ];
  const spec: WorldSpec = {
    seed: 5,
    durationMs: BREACH_MS + 20_000,
    exchange: { accounts: ACCOUNTS },
    daemons: [{ name: 'north', config: CONFIG }],
    events,
    faults: elsewhere === undefined ? [] : [{ atMs: 0, fault: elsewhere }],
  };
  return openWorld(spec);
}

/** When the first order of an account was placed, since the breach. */
function placedMs({ exchange, startMs }: World): number {
  const placed = exchange.model.ledger({ accountId: 'desk-1', kinds: ['order_placed'] });
  const first = placed.find(({ atMs }) => atMs >= startMs + BREACH_MS);
  return (first?.atMs ?? Number.POSITIVE_INFINITY) - startMs - BREACH_MS;
}

const sizeOf = ({ exchange }: World): number | undefined =>
  exchange.model.openPositions('desk-1')[0]?.amount.toNumber();

let aloneMs: number | undefined;

/** The reference without trouble elsewhere: played once for all cases. */
async function placedAloneMs(): Promise<number> {
  const alone = worldOf(undefined);
  await alone.run();
  expect(sizeOf(alone)).toBe(0.25);
  return placedMs(alone);
}

test.each<[string, Elsewhere]>([
  ['a credit line that hangs', { effect: { kind: 'hang' }, target: { endpoint: 'creditLine' } }],
  [
    'a credit line that is not allowed',
    { effect: { kind: 'gatewayStatus', status: 403 }, target: { endpoint: 'creditLine' } },
  ],
  ['a main balance that hangs', { effect: { kind: 'hang' }, target: { endpoint: 'mainBalance' } }],
  ['a history that hangs', { effect: { kind: 'hang' }, target: { endpoint: 'transferHistory' } }],
  [
    'an order history of nonsense',
    { effect: { kind: 'malformedJson' }, target: { endpoint: 'orderHistory' } },
  ],
  ['cancels that hang', { effect: { kind: 'hang' }, target: { endpoint: 'cancelAll' } }],
  [
    'another account, of which nothing is answered',
    { effect: { kind: 'hang' }, target: { account: 'desk-2' } },
  ],
  [
    'another account whose key is refused',
    { effect: { kind: 'status', status: 401 }, target: { account: 'desk-2' } },
  ],
])('%s: the reduction is not sent later', async (_, elsewhere) => {
  aloneMs ??= await placedAloneMs();
  const world = worldOf(elsewhere);
  await world.run();
  expect(placedMs(world)).toBeLessThanOrEqual(aloneMs + 100);
  expect(sizeOf(world)).toBe(0.25);
  // The failing requests were made, without success.
  const asked = world.exchange.log.list(elsewhere.target);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter(({ delivered }) => delivered && elsewhere.effect.kind === 'hang')).toEqual([]);
  expect(world.errors).toEqual([]);
});
