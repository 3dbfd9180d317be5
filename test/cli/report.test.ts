import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import type { ActionCost } from '../../src/core/costs/action-cost.ts';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import { expectOk, json, type OperatorWorld, openOperatorWorld } from './operator.ts';

const text = (value: string): DecimalString => value as DecimalString;
const AT = Date.UTC(2026, 2, 12, 10);

function cost(changes: Partial<ActionCost>): ActionCost {
  return {
    id: 'one',
    clientOrderId: 'one',
    role: 'reduce',
    direction: 'long',
    amountBase: text('0.5'),
    money: 'USDT',
    filledMs: AT,
    decidedPrice: text('60000'),
    limitPrice: text('59400'),
    fill: { price: text('59900'), from: 'realizedPnl' },
    fee: { from: 'config', rate: 0.001 },
    liquidationPrice: text('58000'),
    ...changes,
  };
}

async function record(world: OperatorWorld, ...costs: readonly ActionCost[]): Promise<void> {
  const { load } = await world.state.store.read('long');
  if (load.kind === 'refused') throw new Error(load.problem.message);
  const audit = costs.map((one) => ({
    kind: 'action' as const,
    event: {
      kind: 'priced' as const,
      atMs: one.filledMs,
      accountId: 'long',
      market: 'BTC_PERP',
      ruleId: 'near',
      reason: 'filled',
      words: 'closed',
      alarm: false,
      cost: one,
    },
  }));
  await world.state.store.commit([{ base: load.account, audit }]);
}

test("report sums up an account's trail for a period, in words and JSON", async () => {
  const world = await openOperatorWorld();
  const empty = await world.cli(['report']);
  expectOk(empty);
  expect(empty.stdout).toBe('long: Breakwater closed nothing.\nhedged: Breakwater closed nothing.\n');
  const nextHour = { markPrice: text('59000'), passedLiquidation: true };
  await record(
    world,
    cost({ id: 'zero', filledMs: AT - 1 }),
    cost({}),
    cost({ nextHour }),
    cost({ id: 'two', fill: null, fee: null }),
  );
  const args = ['report', '--account', 'long', '--from', '2026-03-12T10:00', '--to', '2026-03-13'];
  const printed = await world.cli(args);
  expectOk(printed);
  const [, head, row] = printed.stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
  expect(Object.fromEntries((head ?? []).map((title, index) => [title, row?.[index]]))).toEqual({
    RULE: 'near',
    MARKET: 'BTC_PERP',
    MONEY: 'USDT',
    ORDERS: '2',
    SLIPPAGE: '50.00 (1?)',
    'AT MOST': '350.00',
    FEES: '29.95 (1?)',
    'NEXT HOUR': '500.00 (1?)',
    AVERTED: '1',
  });
  const said = json(await world.cli([...args, '--json']));
  expect(said).toMatchObject({
    event: 'report',
    accountId: 'long',
    fromMs: AT,
    totals: [
      { money: 'USDT', orders: 2, slippage: { known: 50, unknown: 1 }, kept: { known: 500, unknown: 1 } },
    ],
    actions: [{ cost: { id: 'one', nextHour } }, { cost: { id: 'two' } }],
  });
});

test('report refuses a period that ends before it begins, and an unknown account', async () => {
  const world = await openOperatorWorld();
  const backwards = await world.cli(['report', '--from', '2026-03-02', '--to', '2026-03-01']);
  expect(backwards).toMatchObject({ exitCode: EXIT.usage });
  expect(backwards.stderr).toContain('--to: expected a time after --from.');
  expect(await world.cli(['report', '--account', 'lng'])).toMatchObject({ exitCode: EXIT.usage });
});
