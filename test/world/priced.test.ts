import { expect, test } from 'vitest';
import { type ActionCost, costFigures } from '../../src/core/costs/action-cost.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';

const configOf = (action: string, fee = 'takerFee: 0.055%'): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, ${fee} }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near], cadence: { calm: 10s, alert: 5s } }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [${action}]
`;

const START = 60_000;
const FALL_FROM_MS = 60_000;
const FALL_TO_MS = 120_000;

/** A fall of 8.5 %. */
function spec(config: string, side: 'long' | 'short' = 'long'): WorldSpec {
  const at = (price: number): string => String(side === 'long' ? price : 2 * START - price);
  return {
    seed: 3,
    durationMs: FALL_TO_MS + 1_200_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '4500' },
          positions: [{ market: 'BTC_PERP', side, amount: '0.500' }],
        },
      ],
      depth: '5',
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, at(START)],
          [FALL_FROM_MS, at(START)],
          [FALL_TO_MS, at(START * 0.915)],
        ],
        tickMs: 1_000,
      },
    ],
    daemons: [{ name: 'north', config }],
    network: { toExchange: 50, toDaemon: 50 },
  };
}

async function costsOf(
  world: World,
): Promise<readonly { readonly reason: string; readonly cost: ActionCost }[]> {
  const records = await world.audit.tail('desk-1', 100_000);
  return records.flatMap(({ record: { content } }) =>
    content.kind === 'action' && content.event.kind === 'priced' && content.event.cost !== undefined
      ? [{ reason: content.event.reason, cost: content.event.cost }]
      : [],
  );
}

/** The exchange's fills of the daemon's orders. */
function soldOf(world: World) {
  const fills = world.exchange.model
    .ledger({ kinds: ['fill'], accountId: 'desk-1' })
    .filter(({ clientOrderId }) => clientOrderId !== undefined && clientOrderId !== '');
  const amount = fills.reduce((sum, fill) => sum + Number(fill.amount), 0);
  const money = fills.reduce((sum, fill) => sum + Number(fill.amount) * Number(fill.price), 0);
  const fees = fills.reduce((sum, fill) => sum + Number(fill.fee), 0);
  return { amount, average: money / amount, fees };
}

test.each(['long', 'short'] as const)(
  'a %s reduced in part has the ledger’s amount, average price and fee',
  async (side) => {
    const world = openWorld(spec(configOf('{ reduce: { to: 40%, slippage: 1% } }'), side));
    await world.run();
    expect(world.errors).toEqual([]);
    const sold = soldOf(world);
    expect(sold.amount).toBeGreaterThan(0);
    const costs = await costsOf(world);
    expect(costs.every(({ reason }) => reason === 'filled')).toBe(true);
    const filled = costs.map(({ cost }) => cost);
    const amount = filled.reduce((sum, cost) => sum + Number(cost.amountBase), 0);
    expect(amount).toBeCloseTo(sold.amount, 9);
    const money = filled.reduce((sum, cost) => sum + Number(cost.amountBase) * Number(cost.fill?.price), 0);
    expect(Math.abs(money / amount - sold.average)).toBeLessThan(0.01);
    const figures = filled.map(costFigures);
    const sum = (of: 'fee' | 'slippage') =>
      figures.reduce((total, one) => total + (one[of] ?? Number.NaN), 0);
    expect(Math.abs(sum('fee') / sold.fees - 1)).toBeLessThan(1e-6);
    const [first] = filled;
    const sign = side === 'long' ? 1 : -1;
    const decided = Number(first?.decidedPrice);
    expect(sum('slippage')).toBeCloseTo(sign * (decided - sold.average) * sold.amount, 0);
  },
);

test('a position closed completely has an unknown price but a known bound, and nothing counts as zero', async () => {
  const world = openWorld(spec(configOf('{ reduce: { to: 0%, slippage: 1% } }', '')));
  await world.run();
  const sold = soldOf(world);
  expect(sold.amount).toBe(0.5);
  const costs = await costsOf(world);
  const last = costs.at(-1);
  expect(last?.reason).toBe('filled');
  if (last === undefined) return;
  expect(Number(last.cost.amountBase)).toBe(0.5);
  expect(last.cost.fill).toBeNull();
  const figures = costFigures(last.cost);
  expect(figures).toMatchObject({ slippage: null, fee: null });
  const real = (Number(last.cost.decidedPrice) - sold.average) * sold.amount;
  expect(figures.slippageAtMost).toBeGreaterThanOrEqual(real);
});
