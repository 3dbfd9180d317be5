import { expect, test } from 'vitest';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import type { Candle } from '../../src/simulator/prices/price-file.ts';
import { candidateConfig } from './candidate-config.ts';
import { ANCHORS, candidatesOf, USUAL_SPACE } from './candidates.ts';
import { playBare, playCase } from './play-case.ts';
import { reachOf } from './reach.ts';
import { searchFront } from './search.ts';
import type { Candidate, TuneCase } from './tune-case.ts';
import { openTunePool } from './tune-pool.ts';

const TERMS = {
  BTC_PERP: { amountStep: '0.001', priceStep: '0.1', minAmount: '0.001', maintenanceMargin: '0.03' },
};
const BASE = {
  file: 'tune.yaml',
  text: JSON.stringify({
    mode: 'enforce',
    exchange: { baseUrls: ['https://one.example'] },
    markets: TERMS,
    accounts: [{ id: 'desk-1', apiKey: { env: 'KEY' }, apiSecret: { env: 'SECRET' }, rules: [] }],
    rules: [],
  }),
};
const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

/** Twenty minutes on a straight line from 60,000. */
function lineTo(end: number, book = '5x long', side: 'long' | 'short' = 'long'): TuneCase {
  const at = (minute: number): string => String(60_000 + Math.round(((end - 60_000) * minute) / 20));
  const candles = Array.from({ length: 20 }, (_, minute) => {
    const [open, close] = [at(minute), at(minute + 1)];
    const [low, high] = Number(open) < Number(close) ? [open, close] : [close, open];
    return { timestampMs: START_MS + minute * MINUTE_MS, open, high, low, close } as unknown as Candle;
  });
  const account = {
    id: 'desk-1',
    collateral: { USDT: '6000' },
    leverage: 5,
    hedgeMode: false,
    positions: [{ market: 'BTC_PERP', side, amount: '0.5' }],
    loans: [],
  } as unknown as TuneCase['account'];
  return {
    id: `${book} to ${end}`,
    book,
    kind: 'market',
    account,
    prices: [
      {
        market: 'BTC_PERP',
        start: '60000',
        series: { kind: 'candles', candles, candleMs: MINUTE_MS, gaps: undefined },
      },
    ],
    model: 'bridge',
    terms: TERMS,
    fromMs: START_MS,
    durationMs: 20 * MINUTE_MS,
    conditions: { latency: 50, faults: [] },
    seed: 1,
  };
}

const played = (one: TuneCase, candidate: Candidate) =>
  playCase(one, { file: BASE.file, text: candidateConfig(BASE.text, candidate, 'desk-1') });
const named = (name: string): Candidate => {
  const found = [...ANCHORS, ...candidatesOf(USUAL_SPACE)].find((one) => one.name === name);
  return found ?? expect.fail(`no set is called ${name}`);
};

test('an account doomed without rules survives with a single stop, reproducible to the digit', async () => {
  const fall = lineTo(45_000);
  const bare = await playBare(fall);
  expect(bare).toMatchObject({ liquidated: true, equityStart: 6_000, orders: 0 });
  expect(bare.way).toBeGreaterThan(1);
  const stop = await played(fall, named('lone stop at 95%'));
  expect(stop).toMatchObject({ liquidated: false, closings: 1 });
  expect(stop.equityEnd).toBeGreaterThan(bare.equityEnd);
  expect(await played(fall, named('lone stop at 95%'))).toEqual(stop);
});

test('a rise dooms a short, and a stop above saves it', async () => {
  const rise = lineTo(75_000, '5x short', 'short');
  expect(await playBare(rise)).toMatchObject({ liquidated: true });
  expect(await played(rise, named('stop at 75%'))).toMatchObject({ liquidated: false, closings: 1 });
});

test('a result inferred for a price that came near nothing equals the played one', async () => {
  const drift = lineTo(58_000);
  const { way, distance, ...bare } = await playBare(drift);
  expect(way).toBeLessThan(0.3);
  for (const name of [
    'stop at 75%',
    'below 4% until 8%',
    'stop at 60%; below 5% by 50%',
    'close at margin call',
  ]) {
    const ruled = await played(drift, named(name));
    const orders = name.startsWith('stop') ? 1 : 0;
    expect([name, ruled]).toEqual([name, { ...bare, orders }]);
  }
  expect(distance).toBeGreaterThan(0.1);
});

test('a summary without playing equals the played end', async () => {
  const walk: TuneCase = {
    ...lineTo(60_000),
    kind: 'quiet',
    prices: [{ market: 'BTC_PERP', start: '60000', dailyVolatility: 0.02 }],
  };
  const { way, distance, ...summed } = await playBare(walk);
  const ruled = await played(walk, named('below 2% until 4%'));
  expect(ruled.equityEnd).toBeCloseTo(summed.equityEnd, 6);
  expect(ruled).toMatchObject({ liquidated: false, closings: 0, playedMs: summed.playedMs });
  expect([way, distance].every((value) => value !== null && value > 0)).toBe(true);
});

test('two priced markets of one coin do not walk apart in quiet times', async () => {
  const drift = lineTo(60_000);
  const amount = drift.account.positions[0]?.amount ?? expect.fail();
  const hedged: TuneCase = {
    ...drift,
    kind: 'quiet',
    prices: ['BTC_PERP', 'BTC_USDT'].map((market) => ({ market, start: '60000', dailyVolatility: 0.05 })),
    terms: { ...TERMS, BTC_USDT: TERMS.BTC_PERP },
    account: {
      ...drift.account,
      positions: [
        { market: 'BTC_PERP', side: 'long', amount },
        { market: 'BTC_USDT', side: 'short', amount },
      ],
    },
  };
  const { equityStart, equityEnd } = await playBare(hedged);
  // Price steps and funding apart.
  expect(equityEnd).toBeCloseTo(equityStart, 0);
});

test('a walk that is summed up without playing it moves what coins of the collateral are worth', async () => {
  const drift = lineTo(60_000);
  const walk: TuneCase = {
    ...drift,
    kind: 'quiet',
    prices: [{ market: 'BTC_PERP', start: '60000', dailyVolatility: 0.02 }],
    account: { ...drift.account, collateral: { ...drift.account.collateral, BTC: '0.2' as DecimalString } },
  };
  const { equityStart, equityEnd } = await playBare(walk);
  const ruled = await played(walk, named('below 2% until 4%'));
  expect(ruled).toMatchObject({ closings: 0, equityStart });
  expect(ruled.equityEnd).toBeCloseTo(equityEnd, 6);
});

test('the threshold of a shipped set is read from its rules', () => {
  const reach = (name: string) => reachOf(BASE, { name, rules: [], uses: [{ use: name }] });
  for (const name of ['conservative', 'balanced', 'last-resort']) {
    const found = reach(name);
    expect([name, found !== undefined && found.distance >= 0.02 && found.distance < 0.3]).toEqual([
      name,
      true,
    ]);
    expect(found?.way).toBeLessThan(1);
  }
  const likely = {
    id: 'likely',
    on: 'position',
    when: { liquidationProbability: { within: '1h', above: '20%' } },
    do: [{ reduce: { by: '50%', slippage: '2%' } }],
  };
  expect(reachOf(BASE, { name: 'likely', rules: [likely] })).toBeUndefined();
});

test('threads play the same as this one, and end afterwards', async () => {
  const cases = [lineTo(45_000), lineTo(58_000)];
  const pool = openTunePool({ cases, base: BASE }, 1);
  try {
    const record = await searchFront({ cases, base: BASE, candidates: ANCHORS, seed: 1 }, pool, {
      signal: new AbortController().signal,
      nowMs: () => 0,
      budgetMs: 1,
    });
    expect(record).toMatchObject({ end: 'done', cases: { used: 2, all: 2 } });
    const stop = record.rows.find(({ name }) => name === 'lone stop at 95%');
    const alone = await played(cases[0] ?? expect.fail(), named('lone stop at 95%'));
    expect(stop?.figures.kept).toBeCloseTo(alone.equityEnd / alone.equityStart, 12);
    expect(stop?.figures).toMatchObject({ doomed: 1, prevented: 1, survivors: 1, givenUpMean: 0 });
  } finally {
    await pool.close();
  }
});
