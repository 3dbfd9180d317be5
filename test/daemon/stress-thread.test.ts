import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { readHeldBook } from '../../src/app/scheduled-stress/held-book.ts';
import { runInThread, StressRefusedError } from '../../src/app/scheduled-stress/run-in-thread.ts';
import type { AccountLoad, StateStore } from '../../src/core/ports/state-store.ts';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import type { StoredFigures } from '../../src/core/view/stored-figures.ts';
import type { WatchedAccount } from '../../src/pipeline/pipeline-context.ts';
import type { StartingBook } from '../../src/replay/positions/starting-account.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { configText, loadText } from './config.ts';

const RULES = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { untilDistance: 12%, slippage: 0.5% } }]
`;

const CONFIG = configText(
  { baseUrl: 'https://a.example' },
  {
    accounts: { desk: { rules: ['near'] }, other: { rules: ['near'] } },
    rules: RULES,
    cadence: '{ calm: 10s, alert: 2s }',
  },
);

const text = (value: string) => value as DecimalString;

const HELD: StartingBook = {
  id: 'desk',
  collateral: { USDT: text('4500') },
  hedgeMode: false,
  positions: [{ market: 'BTC_PERP', side: 'long', amount: text('0.5'), entry: text('60000') }],
  loans: [],
  markPrices: { BTC_PERP: 60_000 },
};

async function configFile(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-stress-'));
  closeAfterTest(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'breakwater.yaml');
  await writeFile(file, CONFIG);
  return file;
}

const bounds = (timeLimitMs = 600_000) => ({ timeLimitMs, signal: new AbortController().signal });

const LONG_RUN = { scenarios: ['2022-11-08', '2020-03-12'], conditions: ['crash'] };

test('a simulation runs beside the event loop, which stays free', async () => {
  const input = {
    configFile: await configFile(),
    accounts: [HELD],
    scenarios: ['shock-up-10', 'shock-down-10'],
    conditions: ['calm'],
  };
  const before = performance.eventLoopUtilization();
  const { end, cases } = await runInThread(input, bounds());
  // A share: on the event loop itself it would be nearly 1.
  expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5);
  expect(end).toBe('finished');
  expect(cases.map(({ scenario, conditions }) => `${scenario.id} ${conditions}`)).toEqual([
    'shock-down-10 calm',
    'shock-up-10 calm',
  ]);
  // The same again, to the last digit.
  expect((await runInThread(input, bounds())).cases).toEqual(cases);
});

test('a run ends at its time limit, and when it is aborted', async () => {
  const input = { configFile: await configFile(), accounts: [HELD], ...LONG_RUN };
  expect(await runInThread(input, bounds(300))).toEqual({ end: 'late', cases: [] });
  const over = new AbortController();
  const running = runInThread(input, { timeLimitMs: 60_000, signal: over.signal });
  over.abort();
  expect(await running).toEqual({ end: 'stopped', cases: [] });
  expect(await runInThread(input, { timeLimitMs: 60_000, signal: over.signal })).toEqual({
    end: 'stopped',
    cases: [],
  });
});

test('an invalid run is refused with its reason', async () => {
  const file = await configFile();
  const elsewhere = { ...HELD, positions: [{ ...HELD.positions[0]!, market: 'DOGE_PERP' }] };
  const input = { configFile: file, accounts: [elsewhere], scenarios: ['wick'], conditions: ['calm'] };
  await expect(runInThread(input, bounds())).rejects.toThrow(/DOGE_PERP/);
  await writeFile(file, 'nonsense: yes\n');
  await expect(runInThread({ ...input, accounts: [HELD] }, bounds())).rejects.toBeInstanceOf(
    StressRefusedError,
  );
});

/** The state store with accounts that have these figures. */
function storeOf(figures: Readonly<Record<string, StoredFigures | 'refused' | undefined>>) {
  const loadOf = (accountId: string): AccountLoad => {
    const found = figures[accountId];
    return found === 'refused'
      ? ({ kind: 'refused', problem: { accountId } } as AccountLoad)
      : ({ kind: 'loaded', account: { accountId, documents: { figures: found } } } as unknown as AccountLoad);
  };
  return {
    readBucket: async (_bucket: number, ids: readonly string[]) => ({
      accounts: ids.map(loadOf),
      controls: {},
    }),
  } as unknown as Pick<StateStore, 'readBucket'>;
}

const NOW_MS = Date.UTC(2026, 0, 2);

function figures(changed: Partial<StoredFigures> = {}, complete = true): StoredFigures {
  const position = {
    positionId: '1',
    market: 'BTC_PERP',
    amount: text('0.5'),
    basePrice: text('60000'),
    liquidationPrice: text('52783.5'),
    unrealizedPnl: text('0'),
  };
  return {
    version: 1,
    at: { wallMs: NOW_MS - 5_000, monotonicMs: 1, clockId: 'a' },
    settings: { mode: 'enforce', bothSign: 'signed', ltvUnit: 'auto', maxSnapshotAgeMs: 15_000 },
    positions: { kind: 'read', ageMs: 0, value: { records: [position], setAside: [], complete } },
    ...changed,
  };
}

test('the book is the latest read; unknown parts are left out, and listed', async () => {
  const env = { KEY_desk: 'k', SECRET_desk: 's', KEY_other: 'k2', SECRET_other: 's2' };
  const accounts = loadText(CONFIG, env).accounts.map(
    ({ id, rules, settings }) => ({ id, rules: compileRules(rules, settings) }) as unknown as WatchedAccount,
  );
  const read = (desk: StoredFigures | 'refused' | undefined) =>
    readHeldBook({ store: storeOf({ desk, other: figures() }), accounts, nowMs: NOW_MS });
  const both = await read(figures());
  expect(both.leftOut).toEqual([]);
  expect(both.accounts.map(({ id }) => id)).toEqual(['desk', 'other']);
  expect(both.accounts[0]?.positions).toEqual(HELD.positions);
  expect(Number(both.accounts[0]?.collateral['USDT'])).toBeCloseTo(4_400, -2);
  const old = { at: { wallMs: NOW_MS - 11 * 60_000, monotonicMs: 1, clockId: 'a' } };
  const loan = { asset: 'USDT', createdAt: 1, amount: text('5000') };
  const lent = { kind: 'read', ageMs: 0, value: { records: [loan], setAside: [], complete: true } };
  const opening = {
    records: [],
    setAside: [],
    complete: true,
    notOpenYet: [{ positionId: '2', market: 'ETH_PERP' }],
  };
  for (const [given, words, held, unknown] of [
    [
      figures({ positions: { kind: 'read', ageMs: 0, value: opening } }),
      'a position in ETH_PERP is left out, as the exchange lists it without an amount',
      1,
      1,
    ],
    ['refused', 'its stored state cannot be read', 1, 1],
    [undefined, 'it has not been read yet', 1, 1],
    [figures(old), 'its positions were last read 11 min ago', 1, 1],
    [figures({}, false), 'records of its positions were not valid', 1, 1],
    [figures({ creditLine: lent } as unknown as StoredFigures), 'its loan of 5000 USDT is left out', 2, 0],
  ] as const) {
    const book = await read(given);
    expect(book.leftOut.join()).toContain(`Account desk: ${words}`);
    expect(book.accounts).toHaveLength(held);
    expect(book.unknown).toBe(unknown);
  }
});
