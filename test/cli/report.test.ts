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

const record = (world: OperatorWorld, ...costs: readonly ActionCost[]) => write(world, costs);

async function write(
  world: OperatorWorld,
  costs: readonly ActionCost[],
  changes: { readonly reason?: string; readonly words?: string } = {},
): Promise<void> {
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
      ...changes,
    },
  }));
  await world.state.store.commit([{ base: load.account, audit }]);
}

test("report sums up an account's trail for a period, in words and JSON", async () => {
  const world = await openOperatorWorld();
  const empty = await world.cli(['report']);
  expectOk(empty);
  expect(empty.stdout).toBe('long: Breakwater closed nothing.\nhedged: Breakwater closed nothing.\n');
  await record(
    world,
    cost({ id: 'zero', filledMs: AT - 1 }),
    cost({ fee: null }),
    cost({}),
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
  });
  const said = json(await world.cli([...args, '--json']));
  expect(said).toMatchObject({
    event: 'report',
    accountId: 'long',
    fromMs: AT,
    totals: [{ money: 'USDT', orders: 2, slippage: { known: 50, unknown: 1 } }],
    actions: [{ cost: { id: 'one' } }, { cost: { id: 'two' } }],
  });
});

test('a trail in which an older version wrote what the market did an hour later is read and verified', async () => {
  const world = await openOperatorWorld();
  const nextHour = { markPrice: text('59000'), passedLiquidation: true };
  const later = { ...cost({}), nextHour };
  const words = 'closed 0.5 at 59900, an hour later it had kept 500 USDT';
  await record(world, cost({}));
  await write(world, [later], { reason: 'hourLater', words });
  const long = ['--account', 'long'];
  const tail = await world.cli(['audit', 'tail', ...long]);
  expectOk(tail);
  expect(tail.stdout).toContain(words);
  const shown = await world.cli(['audit', 'show', '3', ...long]);
  expectOk(shown);
  expect(shown.stdout).toContain('"passedLiquidation": true');
  expectOk(await world.cli(['audit', 'verify', ...long]));
  expect((await world.cli(['report', ...long])).stdout).toMatch(
    /near +BTC_PERP +USDT +1 +50\.00 +50\.00 +29\.95\n/,
  );
});

test('report refuses a period that ends before it begins, and an unknown account', async () => {
  const world = await openOperatorWorld();
  const backwards = await world.cli(['report', '--from', '2026-03-02', '--to', '2026-03-01']);
  expect(backwards).toMatchObject({ exitCode: EXIT.usage });
  expect(backwards.stderr).toContain('--to: expected a time after --from.');
  expect(await world.cli(['report', '--account', 'lng'])).toMatchObject({ exitCode: EXIT.usage });
});
