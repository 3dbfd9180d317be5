import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { AccountSpec, DaemonSpec, PriceSpec, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** Two daemons on one account of the exchange, neither aware of the other; by the exchange's ledger. */

function configOf(ids: readonly string[], rule: string): string {
  const accounts = ids.map(
    (id) => `  - { id: ${id}, apiKey: { env: KEY_${id} }, apiSecret: { env: SECRET_${id} }, rules: [near] }`,
  );
  return `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${accounts.join('\n')}
rules:
  - id: near
    on: position
${rule}
    severity: critical
`;
}

const LONG: AccountSpec = longAccount('4000', { id: 'desk1', leverage: 30 });

async function run(spec: Omit<WorldSpec, 'seed'>): Promise<World> {
  const world = openWorld({ seed: 7, ...spec });
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

const sizeOf = ({ exchange }: World): number =>
  exchange.model.openPositions('desk1')[0]?.amount.toNumber() ?? 0;

const alarmsOf = ({ daemons }: World, name: string): readonly AuditEvent[] =>
  daemons
    .filter((daemon) => daemon.name === name)
    .flatMap(({ events }) => events)
    .flatMap((event) => (event.kind === 'audited' && event.event.alarm ? [event.event] : []));

test('the same exchange account under two keys: half is closed, not twice half, and the daemon that does not act says so', async () => {
  const rule = `    when: { liquidationDistance: { below: 5%, clearAbove: 6% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]`;
  const fall: PriceSpec = {
    market: 'BTC_USDT',
    points: [
      [0, '60000'],
      [20_000, '60000'],
      [40_000, '54000'],
    ],
    tickMs: 100,
  };
  const world = await run({
    durationMs: 60_000,
    exchange: { accounts: [{ ...LONG, alsoAs: ['desk2'] }] },
    prices: [fall],
    daemons: [{ name: 'north', config: configOf(['desk1', 'desk2'], rule) }],
  });
  expect(sizeOf(world)).toBe(0.25);
  const told = alarmsOf(world, 'north').filter(({ kind }) => kind === 'sharedAccount');
  expect(told.map(({ accountId }) => accountId)).toEqual(['desk2']);
});

describe('a second daemon on another Redis', () => {
  /** A sawtooth between where the rule fires and where it has cleared. */
  const TEETH = 8;
  const SAW: PriceSpec = {
    market: 'BTC_USDT',
    points: Array.from({ length: 2 * TEETH + 1 }, (_, index) => [
      index * 15_000,
      index % 2 === 0 ? '60000' : '57000',
    ]),
    tickMs: 100,
  };
  const rule = `    when: { markPrice: { below: 58000, clearAbove: 59000 } }
    do: [{ reduce: { by: 10%, slippage: 1% } }]`;
  const config = configOf(['desk1'], rule);
  const north: DaemonSpec = { name: 'north', config };
  const south: DaemonSpec = { name: 'south', config, store: 'another' };
  const spec = { durationMs: TEETH * 30_000, exchange: { accounts: [LONG] }, prices: [SAW] };

  test('after an unexplained fall both report it at the first one, and neither reduces after the third', async () => {
    const world = await run({ ...spec, daemons: [north, south] });
    // Three teeth, at each of which both took a tenth.
    expect(sizeOf(world)).toBe(0.256);
    for (const { name } of [north, south]) {
      const told = alarmsOf(world, name);
      expect(told.filter(({ kind }) => kind === 'reducedByOthers')).toHaveLength(3);
      expect(told.some(({ kind, reason }) => kind === 'blocked' && reason === 'reducedByOthers')).toBe(true);
    }
  });

  test('a single daemon goes on: its own actions explain every fall', async () => {
    const world = await run({ ...spec, daemons: [north] });
    expect(sizeOf(world)).toBeLessThan(0.23);
    // Nor are people notified of orders that have filled.
    expect(alarmsOf(world, 'north')).toEqual([]);
  });
});
