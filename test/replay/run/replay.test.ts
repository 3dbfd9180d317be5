import { describe, expect, test } from 'vitest';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { readPriceFiles } from '../../../src/replay/price-files.ts';
import type { ReplayRecord } from '../../../src/replay/record.ts';
import { type ReplayPlan, runReplay } from '../../../src/replay/replay.ts';
import { renderReport } from '../../../src/replay/report/render-report.ts';
import { runWorld } from '../../../src/replay/run/run-world.ts';
import { summaryOf } from '../../../src/replay/summary.ts';

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://a.example", "https://b.example"] }
markets: { "*": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
accounts:
  - { id: desk-1, apiKey: { env: K }, apiSecret: { env: S }, cadence: { calm: 10s, alert: 1s }, rules: [near] }
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 5%, clearAbove: 7% } }, do: [{ reduce: { untilDistance: 12%, slippage: 0.5% } }] }
`;

const START_MS = 1_700_000_000_000;
const text = (value: string) => value as DecimalString;

/** A fall of 15 % within ten minutes, in candles of a minute, then calm. */
function candles(): string {
  const closes = [100, 100, 99, 97, 95, 93, 91, 89, 87, 85, 85, 85];
  return closes
    .map((close, index) => {
      const open = closes[index - 1] ?? 100;
      const row = [open, Math.max(open, close) + 0.1, Math.min(open, close) - 0.1, close].map(
        (price) => price * 600,
      );
      return [START_MS + index * 60_000, ...row, 1].join(',');
    })
    .join('\n');
}

function plan(changes: Partial<ReplayPlan> = {}): ReplayPlan {
  const prices = readPriceFiles([{ market: 'BTC_PERP', file: 'btc.csv', text: candles() }]);
  if (prices.kind === 'refused') throw new Error(prices.problems.join());
  const position = { market: 'BTC_PERP', side: 'long', amount: text('0.5') } as const;
  return {
    title: 'Replay of BTC_PERP',
    seed: 1,
    accounts: [
      {
        id: 'desk-1',
        collateral: { USDT: text('4500') },
        hedgeMode: false,
        positions: [position],
        loans: [],
      },
    ],
    markets: prices.markets,
    fromMs: prices.fromMs,
    toMs: prices.toMs,
    paths: ['adverse'],
    variants: [{ name: 'config', file: 'breakwater.yaml', text: CONFIG }],
    terms: {
      BTC_PERP: { amountStep: '0.001', priceStep: '0.1', minAmount: '0.001', maintenanceMargin: '0.03' },
    },
    conditions: { latency: 50, faults: [] },
    notes: [],
    ...changes,
  };
}

const play = (changes: Partial<ReplayPlan> = {}) => runReplay(plan(changes), { nowMs: () => 0 });

function account({ runs }: ReplayRecord, variant: string) {
  const found = runs.find((run) => run.variant === variant)?.accounts[0];
  if (found === undefined) throw new Error(`no account in ${variant}`);
  return found;
}

test.each(['adverse', 'favourable', 'bridge'] as const)(
  'in a gap the price stands still, then jumps: nothing is invented (%s)',
  async (path) => {
    const rows = candles().split('\n');
    const kept = rows.filter((_, index) => index < 4 || index > 7).join('\n');
    const prices = readPriceFiles([{ market: 'BTC_PERP', file: 'btc.csv', text: kept }]);
    if (prices.kind === 'refused') throw new Error(prices.problems.join());
    const { runs } = await play({ markets: prices.markets, paths: [path], variants: [] });
    const track = runs[0]?.prices['BTC_PERP'] ?? [];
    const [gapMs, endMs] = [4, 8].map((minute) => START_MS + minute * 60_000) as [number, number];
    expect(track.filter(([atMs]) => atMs > gapMs && atMs < endMs)).toEqual([]);
    expect(track.findLast(([atMs]) => atMs <= gapMs)?.[1]).toBe(97 * 600);
    expect(track.find(([atMs]) => atMs >= endMs)?.[1]).toBe(89 * 600);
  },
);

describe('a crash', () => {
  test('liquidates without protection and not with the rules, and the record shows how', async () => {
    const record = await play();
    const [without, withRules] = [account(record, 'unprotected'), account(record, 'config')];
    expect(without.liquidatedAtMs).toBeGreaterThan(START_MS);
    expect(without).toMatchObject({ orders: 0, closedFraction: 0, fees: 0, thresholds: [], bands: [] });
    expect(withRules.liquidatedAtMs).toBeNull();
    expect(withRules.equityStart).toBe(4500);
    expect(withRules.equityEnd).toBeGreaterThan(without.equityEnd);
    expect(withRules.thresholds).toEqual([{ ruleId: 'near', distance: 0.05 }]);
    const of = (kind: string) => withRules.events.filter((event) => event.kind === kind);
    expect(of('order')).toHaveLength(withRules.orders);
    const filled = of('fill').reduce((sum, { amount }) => sum + Number(amount), 0);
    expect(withRules.closedFraction).toBeCloseTo(filled / 0.5, 9);
    expect(of('order')[0]?.reason).toMatch(/^Rule near: distance to liquidation is .* below 5 %\.$/);
    expect(of('rule')[0]?.words).toBe('Rule near fires for long BTC_PERP.');
    const last = withRules.positions[0]?.size.at(-1)?.[1];
    expect(last).toBeCloseTo(0.5 - filled, 9);
    expect(withRules.bands[0]).toMatchObject({ ruleId: 'near', subject: 'long BTC_PERP' });
  });

  test('the time from breach to fill begins when the price crossed the threshold, not at the next poll', async () => {
    const withRules = account(await play(), 'config');
    const [first] = withRules.breachToFillMs;
    const seenMs = withRules.events.find(({ kind }) => kind === 'rule')?.atMs ?? 0;
    const filledMs = withRules.events.find(({ kind }) => kind === 'fill')?.atMs ?? 0;
    expect(first).toBeGreaterThanOrEqual(filledMs - seenMs);
    expect(first).toBeLessThan(filledMs - seenMs + 10_000);
    const slow = account(await play({ conditions: { latency: 300, faults: [] } }), 'config');
    expect(Math.max(...slow.breachToFillMs)).toBeGreaterThan(Math.max(...withRules.breachToFillMs));
  });

  test('is the same for the same seed, with any observer', async () => {
    const [first, second] = [await play({ paths: ['bridge'] }), await play({ paths: ['bridge'] })];
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    const other = await play({ paths: ['bridge'], seed: 2 });
    expect(JSON.stringify(summaryOf(other))).not.toBe(JSON.stringify(summaryOf({ ...first, seed: 2 })));
  });

  test('in the report every order, fill and liquidation has its mark', async () => {
    const record = await play();
    const html = renderReport(record);
    const { events } = account(record, 'config');
    for (const [index, { price }] of events.entries()) {
      if (price !== undefined) expect(html).toContain(`id="m-0-${index}"`);
    }
    expect(html).toContain('Kept from liquidation');
  });
});

describe('options', () => {
  test('an exchange that refuses every order saves nobody', async () => {
    const faults = [{ effect: { kind: 'status', status: 503 }, target: { endpoint: 'stopLimit' } } as const];
    const withRules = account(await play({ conditions: { latency: 50, faults } }), 'config');
    expect(withRules.liquidatedAtMs).not.toBeNull();
    expect(withRules.events.some(({ kind }) => kind === 'refusal')).toBe(true);
    expect(withRules.orders).toBe(0);
  });

  test('a fault for an unknown endpoint is refused', async () => {
    const faults = [{ effect: { kind: 'reset' }, target: { endpoint: 'nothing' } } as const];
    await expect(play({ conditions: { latency: 50, faults } })).rejects.toThrow(/"nothing" is none of/);
  });

  test('a short meets the high first', async () => {
    const short = { market: 'BTC_PERP', side: 'short', amount: text('0.5') } as const;
    const { runs } = await play({
      accounts: [
        { id: 'desk-1', collateral: { USDT: text('4500') }, hedgeMode: false, positions: [short], loans: [] },
      ],
    });
    const prices = runs[0]?.prices['BTC_PERP'] ?? [];
    expect(prices.findIndex(([, price]) => price === 60_060)).toBeLessThan(
      prices.findIndex(([, price]) => price === 59_940),
    );
  });

  test('coins held as collateral fall with the perpetual', async () => {
    const { runs } = await play({
      accounts: [
        {
          id: 'desk-1',
          collateral: { BTC: text('1') },
          hedgeMode: false,
          positions: [{ market: 'BTC_PERP', side: 'long', amount: text('0.01') }],
          loans: [],
        },
      ],
    });
    const { equityStart, equityEnd } = runs[0]?.accounts[0] ?? {};
    expect((equityEnd ?? 0) / (equityStart ?? 1)).toBeCloseTo(0.85, 2);
  });
});

test('a stopped run says how far it came', async () => {
  const stop = new AbortController();
  const record = await runReplay(plan(), {
    nowMs: () => 0,
    signal: stop.signal,
    onProgress: (share) => {
      if (share > 0.25) stop.abort();
    },
  });
  expect(record.runs).toHaveLength(1);
  expect(record.stoppedAtMs).toBeGreaterThan(START_MS + 5 * 60_000);
  expect(record.stoppedAtMs).toBeLessThan(START_MS + 7 * 60_000);
});

test('a run reports progress in market time', async () => {
  const seen: number[] = [];
  const prices = plan();
  await runWorld(
    {
      variant: 'unprotected',
      path: 'adverse',
      seed: 1,
      startMs: START_MS,
      durationMs: 10_000,
      accounts: prices.accounts,
      markets: {},
      startPrices: { BTC_PERP: '60000' },
      sources: new Map(),
      conditions: { latency: 0, faults: [] },
      lookMs: 1_000,
    },
    { onProgress: (elapsedMs) => seen.push(elapsedMs) },
  );
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((second) => second * 1_000));
});
