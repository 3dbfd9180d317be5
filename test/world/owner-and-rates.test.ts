import { expect, test } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { longAccount } from './long-account.ts';

/** An owner who works against a rule, and a config with wrong rates of a market; checked by the exchange's ledger. */

const configOf = (when: string, reduce: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: ${when} }
    do: [{ reduce: ${reduce} }]
    severity: critical
`;

async function run(spec: Omit<WorldSpec, 'seed'>): Promise<World> {
  const world = openWorld({ seed: 7, ...spec });
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

async function alarms({ audit }: World): Promise<readonly AuditEvent[]> {
  const records = await audit.tail('desk-1', 10_000);
  return records.flatMap(({ record: { content } }) =>
    content.kind === 'action' && content.event.alarm ? [content.event] : [],
  );
}

const ours = ({ exchange }: World) =>
  exchange.model.ledger({ accountId: 'desk-1', kinds: ['fill'] }).filter(isOurs);

test('the owner, or a bot, adds after each reduction: the churn is bounded, and the owner notified', async () => {
  const world = openWorld({
    seed: 7,
    durationMs: 240_000,
    exchange: {
      accounts: [longAccount('4000', { leverage: 30 })],
    },
    // A saw between the price at which the rule fires and that at which its orders fill.
    prices: [
      {
        market: 'BTC_USDT',
        points: Array.from({ length: 17 }, (_, index) => [
          index * 15_000,
          index % 2 === 0 ? '58500' : '55500',
        ]),
        tickMs: 100,
      },
    ],
    daemons: [
      { name: 'north', config: configOf('{ below: 5%, clearAbove: 6% }', '{ by: 20%, slippage: 1% }') },
    ],
  });
  for (let second = 0; second < 230; second += 10) {
    await world.run((second + 10) * 1_000);
    const [position] = world.exchange.model.openPositions('desk-1');
    const missing = 0.5 - Number(position?.amount.toString() ?? 0.5);
    if (missing <= 0.001) continue;
    const amount = missing.toFixed(3);
    await world.apply({ kind: 'trade', account: 'desk-1', market: 'BTC_PERP', side: 'buy', amount });
  }
  expect(world.errors).toEqual([]);
  expect(ours(world)).toHaveLength(3);
  const told = (await alarms(world)).filter(({ reason }) => reason === 'contested');
  expect(told.length).toBeGreaterThan(0);
  expect(world.exchange.model.ledger({ kinds: ['liquidation_started'] })).toEqual([]);
});

test('a maintenance rate other than in the config is inferred, warned of, and the distance is reached nevertheless', async () => {
  const world = await run({
    durationMs: 800_000,
    exchange: {
      accounts: [longAccount('6000')],
      markets: { BTC_PERP: { maintenanceMargin: '0.06' } },
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '55000'],
          [800_000, '40000'],
        ],
        tickMs: 100,
      },
    ],
    daemons: [
      {
        name: 'north',
        config: configOf('{ below: 5%, clearAbove: 14% }', '{ untilDistance: 12%, slippage: 1% }'),
      },
    ],
  });
  const told = (await alarms(world)).filter(({ kind }) => kind === 'maintenanceDiffers');
  expect(told.map(({ reason }) => reason)).toEqual(['higher']);
  expect(told[0]?.words).toMatch(/about (5\.[5-9]|6)/);
  expect(ours(world).length).toBeGreaterThan(0);
  // Once two trades agree, the last order reaches exactly the requested distance: with the config's rate it would be
  // 14.5 %.
  const last = Number(ours(world).at(-1)?.price);
  const [position] = world.exchange.model.openPositions('desk-1');
  const distance = 1 - (position?.liquidationPrice?.toNumber() ?? Number.NaN) / last;
  expect(distance).toBeGreaterThan(0.11);
  expect(distance).toBeLessThan(0.125);
});
