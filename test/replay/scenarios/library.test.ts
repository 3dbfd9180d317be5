import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimal, toNumber } from '../../../src/core/quantities/decimal.ts';
import { CONDITIONS } from '../../../src/replay/scenarios/conditions.ts';
import { SCENARIO_LIBRARY, SHOCK_GRID } from '../../../src/replay/scenarios/library.ts';
import {
  durationMsOf,
  firstMoveMs,
  movedBy,
  type Scenario,
  scenarioPrices,
  usualBeta,
} from '../../../src/replay/scenarios/scenario.ts';
import { parsePrices } from '../../../src/simulator/prices/price-file.ts';
import { CANDLE_FILES, CANDLES } from '../../support/candles.ts';

const ALL = [...SCENARIO_LIBRARY, ...SHOCK_GRID];
const START_MS = 1_700_000_000_000;

/** Every price with its time in ms from the start. */
function play(
  scenario: Scenario,
  market = 'BTC_PERP',
  beta?: number,
): (readonly [atMs: number, price: number])[] {
  const startPrice = decimal('1000');
  const place = { market, startMs: START_MS, startPrice, priceStep: decimal('0.01') };
  const source = scenarioPrices(scenario, beta === undefined ? place : { ...place, beta });
  const prices = [];
  for (let atMs = source.nextMs(); atMs !== undefined; atMs = source.nextMs()) {
    prices.push([atMs - START_MS, toNumber(source.take(startPrice))] as const);
  }
  return prices;
}

const known = (id: string): Scenario =>
  [...SCENARIO_LIBRARY, ...SHOCK_GRID].find((one) => one.id === id) ?? fail(id);
const lowest = (prices: ReturnType<typeof play>) => Math.min(...prices.map(([, price]) => price));

function fail(id: string): never {
  throw new Error(`no scenario ${id}`);
}

describe('every scenario', () => {
  test.each(ALL.map((scenario) => [scenario.id, scenario] as const))('%s is well formed', (_id, scenario) => {
    for (const points of [scenario.majors, scenario.others ?? scenario.majors]) {
      expect(points[0]).toEqual([0, 0]);
      expect(points.every(([, percent]) => percent > -100)).toBe(true);
      expect(points.map(([minute]) => minute)).toEqual(
        points.map(([minute]) => minute).toSorted((a, b) => a - b),
      );
      expect(points.at(-1)?.[0]).toBe(scenario.majors.at(-1)?.[0]);
    }
    expect(scenario.about).toMatch(/^[^ ].*\.$/);
    const prices = play(scenario);
    expect(prices[0]).toEqual([0, 1000]);
    expect(prices.at(-1)).toEqual([
      durationMsOf(scenario),
      Number((1000 * (1 + (scenario.majors.at(-1)?.[1] ?? 0) / 100)).toFixed(2)),
    ]);
  });

  test('has an id of its own', () => {
    expect(new Set(ALL.map(({ id }) => id)).size).toBe(ALL.length);
  });

  test('never brings a price to zero, with any beta', () => {
    const betas = fc.double({ min: 0, max: 20, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom(...SHOCK_GRID), betas, (scenario, beta) => {
        expect(play(scenario, 'DOGE_PERP', beta).every(([, price]) => price > 0)).toBe(true);
      }),
    );
  });
});

test('the library has every promised shock and event', () => {
  const shocks = [5, 10, 20, 30, 50].flatMap((percent) => [`shock-down-${percent}`, `shock-up-${percent}`]);
  const others = [
    '2020-03-12',
    '2021-05-19',
    '2022-11-08',
    '2025-10-10',
    'slow-bleed',
    'wick',
    'weekend-gap',
    'rally',
  ];
  for (const id of [...shocks, ...others, 'alts-together', 'alts-alone', 'grid-down-66', 'grid-up-500'])
    known(id);
  expect(CONDITIONS.map(({ id }) => id)).toEqual(['calm', 'crash']);
});

test.each([2, 5])(
  'stress of a move by %i percent does not begin before the price has moved that far',
  (percent) => {
    const misplaced = ALL.filter((scenario) => {
      const prices = [...play(scenario), ...play(scenario, 'SOL_PERP', 1)].toSorted(([a], [b]) => a - b);
      const moved = prices.find(([, price]) => Math.abs(price / 10 - 100) >= percent - 0.01);
      const [movedMs] = moved ?? [durationMsOf(scenario)];
      // Prices come every 10 s at least.
      return Math.abs(firstMoveMs(scenario, percent) - movedMs) > 10_000;
    });
    expect(misplaced.map(({ id }) => id)).toEqual([]);
  },
);

describe('a move', () => {
  test('of a coin is that of the majors times its beta, and never a fall of 100 %', () => {
    expect(movedBy(10, 1.4)).toBeCloseTo(0.14, 12);
    expect(movedBy(-10, 1)).toBeCloseTo(-0.1, 12);
    expect(movedBy(-20, 2)).toBeCloseTo(-0.36, 12);
    expect([usualBeta('BTC_PERP'), usualBeta('ETH_USDT'), usualBeta('SOL_PERP')]).toEqual([1, 1, 1.4]);
    expect(lowest(play(known('shock-down-20'), 'SOL_PERP'))).toBeCloseTo(1000 * 0.8 ** 1.4, 1);
    expect(lowest(play(known('shock-down-20'), 'SOL_PERP', 1))).toBe(800);
  });

  test('may affect alt coins only', () => {
    expect(lowest(play(known('alts-alone')))).toBe(970);
    expect(lowest(play(known('alts-alone'), 'SOL_PERP'))).toBe(550);
  });

  test('at once has nothing in between', () => {
    expect(new Set(play(known('shock-down-50')).map(([, price]) => price))).toEqual(new Set([1000, 500]));
  });
});

const crashes = [
  ['2020-03-12', '2020-03-12_BTCUSDT-PERP_1m.csv', '2020-03-12T10:00Z'],
  ['2021-05-19', '2021-05-19_BTCUSDT_1m.csv', '2021-05-19T06:00Z'],
  ['2022-11-08', '2022-11-08_BTCUSDT-PERP_5m.csv', '2022-11-08T14:00Z'],
  ['2025-10-10', '2025-10-10_BTCUSDT-PERP_1m.csv', '2025-10-10T20:30Z'],
] as const;
const hasCandles = CANDLE_FILES.length > 0;
if (!hasCandles) {
  process.stdout.write(
    `crash shapes against candles: skipped, none in ${CANDLES} (set BREAKWATER_CANDLES)\n`,
  );
}

test.skipIf(!hasCandles).each(crashes)('%s has the shape of the real candles', (id, file, from) => {
  const parsed = parsePrices(readFileSync(path.join(CANDLES, file), 'utf8'));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.fault));
  const { series } = parsed;
  if (series.kind !== 'candles') throw new Error(`${file}: no candles`);
  const scenario = known(id);
  expect(scenario.majors.length).toBeGreaterThanOrEqual(20);
  expect(scenario.majors.length).toBeLessThanOrEqual(60);
  const startMs = Date.parse(from);
  const inside = series.candles.filter(
    ({ timestampMs }) => timestampMs >= startMs && timestampMs < startMs + durationMsOf(scenario),
  );
  const first = Number(inside[0]?.open);
  const prices = play(scenario);
  const highest = Math.max(...prices.map(([, price]) => price));
  expect(lowest(prices) / 1000).toBeCloseTo(Math.min(...inside.map(({ low }) => Number(low))) / first, 3);
  expect(highest / 1000).toBeCloseTo(Math.max(...inside.map(({ high }) => Number(high))) / first, 3);
  const off = inside.map(({ timestampMs, low, high }) => {
    const own = prices.filter(([atMs]) => Math.abs(atMs - (timestampMs - startMs)) <= series.candleMs);
    const nearest = Math.min(
      ...own.map(([, price]) =>
        Math.max(Number(low) / first - price / 1000, price / 1000 - Number(high) / first, 0),
      ),
    );
    return nearest;
  });
  // In between it stays near the candles: within 2 % in nine of ten.
  expect(off.toSorted((a, b) => a - b)[Math.floor(off.length * 0.9)]).toBeLessThan(0.02);
});
