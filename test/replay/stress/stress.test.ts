import { describe, expect, test } from 'vitest';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { CALM, CRASH } from '../../../src/replay/scenarios/conditions.ts';
import { SCENARIO_LIBRARY, SHOCK_GRID } from '../../../src/replay/scenarios/library.ts';
import type { Scenario } from '../../../src/replay/scenarios/scenario.ts';
import { runStress, type StressPlan } from '../../../src/replay/stress/stress.ts';
import { renderStress } from '../../../src/replay/stress/stress-report.ts';
import {
  accountTable,
  gridTable,
  scenarioTable,
  worstCase,
} from '../../../src/replay/stress/stress-tables.ts';

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://a.example", "https://b.example"] }
markets: { "*": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
accounts:
  - { id: desk-1, apiKey: { env: K }, apiSecret: { env: S }, cadence: { calm: 10s, alert: 1s }, rules: [near] }
  - { id: desk-2, apiKey: { env: K2 }, apiSecret: { env: S2 } }
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 5%, clearAbove: 7% } }, do: [{ reduce: { untilDistance: 12%, slippage: 0.5% } }] }
`;

const text = (value: string) => value as DecimalString;
const scenario = (id: string): Scenario =>
  [...SCENARIO_LIBRARY, ...SHOCK_GRID].find((one) => one.id === id) ?? fail(id);

function fail(id: string): never {
  throw new Error(`no scenario ${id}`);
}

const TERMS = { amountStep: '0.001', priceStep: '0.1', minAmount: '0.001', maintenanceMargin: '0.03' };

function plan(changes: Partial<StressPlan>): StressPlan {
  const holds = (side: 'long' | 'short') => [{ market: 'BTC_PERP', side, amount: text('0.5') }];
  return {
    seed: 1,
    startMs: 1_700_000_000_000,
    accounts: [
      {
        id: 'desk-1',
        collateral: { USDT: text('4500') },
        hedgeMode: false,
        positions: holds('long'),
        loans: [],
      },
      {
        id: 'desk-2',
        collateral: { USDT: text('9000') },
        hedgeMode: false,
        positions: holds('short'),
        loans: [],
      },
    ],
    prices: { BTC_PERP: '60000' },
    terms: { BTC_PERP: TERMS },
    config: { file: 'breakwater.yaml', text: CONFIG },
    scenarios: [],
    conditions: [CALM],
    grid: [],
    betas: {},
    notes: ['A note <b>.'],
    ...changes,
  };
}

const stress = (changes: Partial<StressPlan>) => runStress(plan(changes), { nowMs: () => 0 });

let fallen: ReturnType<typeof stress> | undefined;

/** Played once for all tests that use it. */
const stressOfAFall = () => (fallen ??= stress({ scenarios: [scenario('alts-together')] }));

describe('a book under stress', () => {
  test('the rules save it from a gradual fall, and from no gap', async () => {
    const [first, second] = [await stressOfAFall(), await stress({ scenarios: [scenario('shock-down-20')] })];
    const [fall, gap] = [...first.cases, ...second.cases].map(({ accounts }) =>
      accounts.find(({ id }) => id === 'desk-1'),
    );
    expect([first.stopped, second.stopped]).toEqual([false, false]);
    expect([fall?.without.liquidated, fall?.withRules.liquidated]).toEqual([true, false]);
    expect(fall?.withRules.closedFraction).toBeGreaterThan(0);
    expect([gap?.without.liquidated, gap?.withRules.liquidated]).toEqual([true, true]);
    expect(gap?.withRules.closedFraction).toBe(0);
  });

  test('an account that the move does not hurt is left alone', async () => {
    const { cases } = await stressOfAFall();
    const short = cases[0]?.accounts.find(({ id }) => id === 'desk-2');
    expect(short?.without).toEqual({ ...short?.withRules, orders: 0 });
    expect(short?.withRules.equityEnd).toBeGreaterThan(9000);
  });

  test('crash conditions are worse than calm ones, and reproducible', async () => {
    const conditions = { scenarios: [scenario('wick')], conditions: [CALM, CRASH] };
    const [first, second] = [await stress(conditions), await stress(conditions)];
    expect(second).toEqual(first);
    const [calm, crash] = first.cases.map(({ accounts }) => accounts[0]?.without.equityEnd ?? 0);
    expect(crash).toBeLessThan(calm ?? 0);
  });

  test('the grid moves everything at once', async () => {
    const record = await stress({
      grid: [scenario('grid-down-8'), scenario('grid-down-66'), scenario('grid-up-500')],
    });
    const { columns, rows } = gridTable(record);
    expect(columns.map(({ title }) => title)).toEqual(['MOVE', 'desk-1', 'desk-2']);
    expect(rows.map(([move]) => move)).toEqual(['-8 %', '-66 %', '+500 %']);
    // 4,500 less 8 % of 30,000.
    expect(rows[0]?.[1]).toBe('46.7 %');
    expect(rows[1]?.[1]).toMatch(/liquidated$/);
    expect(rows[2]?.[2]).toMatch(/liquidated$/);
    expect(scenarioTable(record).rows).toEqual([]);
  });

  test('a stopped run keeps the finished cases', async () => {
    const stop = new AbortController();
    const record = await runStress(plan({ scenarios: [scenario('shock-up-5'), scenario('rally')] }), {
      nowMs: () => 0,
      signal: stop.signal,
      onProgress: (_, what) => {
        if (what.startsWith('Rally')) stop.abort();
      },
    });
    expect(record.stopped).toBe(true);
    expect(record.cases.map(({ scenario: { id } }) => id)).toEqual(['shock-up-5']);
  });
});

test('tables and report say who was liquidated without and with the rules', async () => {
  const record = await stressOfAFall();
  expect(scenarioTable(record).rows[0]?.slice(0, 4)).toEqual([
    'Alt coins fall along',
    'calm',
    '1 of 2',
    '0 of 2',
  ]);
  expect(accountTable(record).rows.map((row) => row.slice(0, 5))).toEqual([
    ['desk-1', 'Alt coins fall along', 'calm', 'liquidated', 'came through'],
  ]);
  expect(worstCase(record)).toMatch(
    /^Worst: Alt coins fall along with a calm exchange: 1 of 2 liquidated, with your rules 0;/,
  );
  const html = renderStress(record);
  expect(html).toContain('Alt coins fall along');
  expect(html).toContain('A note &lt;b&gt;.');
  expect(html).not.toMatch(/<script|https?:|NaN|undefined/);
});
