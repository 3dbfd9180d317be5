import { describe, expect, test } from 'vitest';
import { outcomeTable } from '../../src/replay/outcome-table.ts';
import type { AccountRecord, ReplayRecord } from '../../src/replay/record.ts';
import { summaryOf } from '../../src/replay/summary.ts';

const ACCOUNT: AccountRecord = {
  id: 'desk-1',
  money: 'USDT',
  equityStart: 1000,
  equityEnd: 700,
  equity: [],
  liquidatedAtMs: null,
  closedFraction: 0.25,
  orders: 2,
  fees: 1.5,
  slippage: 3,
  breachToFillMs: [900, 100, 400],
  positions: [],
  bands: [],
  thresholds: [],
  events: [],
};

function record(
  ...runs: readonly (readonly [variant: string, path: string, account: Partial<AccountRecord>])[]
): ReplayRecord {
  return {
    title: 'x',
    seed: 3,
    wallMs: 5,
    fromMs: 0,
    toMs: 1,
    notes: [],
    runs: runs.map(([variant, path, account]) => ({
      variant,
      path,
      prices: {},
      accounts: [{ ...ACCOUNT, ...account }],
    })),
  };
}

const NOT_ACTED = { closedFraction: 0, orders: 0, breachToFillMs: [] };
const TWO_PATHS = record(
  ['unprotected', 'adverse', { ...NOT_ACTED, equityEnd: 20, liquidatedAtMs: 7 }],
  ['unprotected', 'bridge', { ...NOT_ACTED, equityEnd: 900 }],
  ['config', 'adverse', {}],
  ['config', 'bridge', { equityEnd: 812, breachToFillMs: [2_000] }],
);

describe('the JSON line', () => {
  test('has the worst path of each variant, and each path separately', () => {
    expect(summaryOf(TWO_PATHS)).toMatchObject({
      event: 'replay',
      seed: 3,
      wallMs: 5,
      variants: [
        {
          name: 'unprotected',
          accounts: [
            {
              id: 'desk-1',
              liquidated: true,
              closedFraction: 0,
              equityStart: 1000,
              equityEnd: 20,
              orders: 0,
              breachToFillMs: { p50: null, max: null },
            },
          ],
          paths: [
            { path: 'adverse', accounts: [{ liquidated: true, equityEnd: 20 }] },
            { path: 'bridge', accounts: [{ liquidated: false, equityEnd: 900 }] },
          ],
        },
        {
          name: 'config',
          accounts: [
            { liquidated: false, equityEnd: 700, orders: 2, breachToFillMs: { p50: 400, max: 2_000 } },
          ],
        },
      ],
    });
  });
});

describe('the table', () => {
  test('shows the range over the paths, and the hindsight', () => {
    const { columns, rows } = outcomeTable(TWO_PATHS);
    expect(columns.map(({ title }) => title)).toEqual([
      'ACCOUNT',
      'VARIANT',
      'LIQUIDATED',
      'EQUITY',
      'AT THE END',
      'KEPT',
      'CLOSED',
      'ORDERS',
      'FEES + SLIPPAGE',
      'BREACH TO FILL',
      'NOTE',
    ]);
    expect(rows).toEqual([
      [
        'desk-1',
        'without protection',
        'in 1 of 2 paths',
        '1,000',
        '20.00 to 900',
        '2.0 % to 90.0 %',
        '0.0 %',
        '0',
        '',
        '',
        '',
      ],
      [
        '',
        "with the config's rules",
        'no',
        '1,000',
        '700 to 812',
        '70.0 % to 81.2 %',
        '25.0 %',
        '2',
        '4.50',
        'at most 2.0 s',
        'hindsight: it would have come through; closing cost 88.00',
      ],
    ]);
  });

  test('of a single path has plain figures', () => {
    const { rows } = outcomeTable(record(['unprotected', 'trades', { ...NOT_ACTED, liquidatedAtMs: 1 }]));
    expect(rows[0]?.slice(2, 5)).toEqual(['yes', '1,000', '700']);
  });
});
