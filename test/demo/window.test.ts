import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { largestMove } from '../../src/demo/window.ts';
import { parseCandles } from '../../src/simulator/prices/price-file.ts';

const MINUTE_MS = 60_000;
const FIRST_MS = 1_600_000_000_000;

interface Row {
  readonly open: number;
  readonly low: number;
  readonly high: number;
  readonly close: number;
}

const flat = (price: number): Row => ({ open: price, low: price, high: price, close: price });

function csvOf(rows: readonly Row[], stepMs = MINUTE_MS): string {
  const lines = rows.map(({ open, high, low, close }, index) =>
    [FIRST_MS + index * stepMs, open, high, low, close, 1].join(','),
  );
  return ['timestamp_ms,open,high,low,close,volume', ...lines, ''].join('\n');
}

const minutes = (count: number): number => count * MINUTE_MS;
/** Index of the first candle, how many, and the move. */
const chosen = (csv: string, windowMs: number, stepMs = MINUTE_MS) => {
  const { fromMs, series, move } = largestMove(csv, windowMs);
  return { from: (fromMs - FIRST_MS) / stepMs, count: series.candles.length, move: Number(move.toFixed(6)) };
};

describe('the window around the largest move', () => {
  const steps = [100, 100, 101, 120, 120, 90, 91].map(flat);

  test.each<[string, readonly Row[], number, { from: number; count: number; move: number }]>([
    ['a fall from its top', steps, minutes(2), { from: 4, count: 2, move: -0.25 }],
    ['with a longer one the fall may come later', steps, minutes(3), { from: 3, count: 3, move: -0.25 }],
    ['a rise', [100, 100, 150, 150].map(flat), minutes(2), { from: 1, count: 2, move: 0.5 }],
    [
      'of equal moves the first',
      [100, 110, 100, 110].map(flat),
      minutes(2),
      { from: 0, count: 2, move: 0.1 },
    ],
    ['less than a candle is one', [100, 100].map(flat), 1, { from: 0, count: 1, move: 0 }],
    ['a whole file that is shorter', [100, 90].map(flat), minutes(60), { from: 0, count: 2, move: -0.1 }],
    ['exactly the whole file', [100, 90].map(flat), minutes(2), { from: 0, count: 2, move: -0.1 }],
    [
      'a wick counts as much as a close',
      [flat(100), { open: 100, low: 70, high: 101, close: 100 }, flat(100), flat(60)],
      minutes(1),
      { from: 1, count: 1, move: -0.3 },
    ],
    [
      'of low and high the one that is further away',
      [{ open: 100, low: 90, high: 120, close: 100 }],
      minutes(1),
      { from: 0, count: 1, move: 0.2 },
    ],
    [
      'one that the file ends within is not taken, however large',
      [flat(100), flat(101), flat(100), flat(100), { open: 100, low: 10, high: 100, close: 10 }],
      minutes(4),
      { from: 1, count: 4, move: Number((10 / 101 - 1).toFixed(6)) },
    ],
  ])('%s', (_name, rows, windowMs, expected) => {
    expect(chosen(csvOf(rows), windowMs)).toEqual(expected);
  });

  test('candles may last longer than a minute', () => {
    const stepMs = minutes(5);
    const csv = csvOf([100, 100, 90, 90].map(flat), stepMs);
    expect(chosen(csv, minutes(10), stepMs)).toEqual({ from: 1, count: 2, move: -0.1 });
    expect(chosen(csv, minutes(5), stepMs)).toEqual({ from: 0, count: 1, move: 0 });
  });

  test('a gap in the file takes its time, and what follows it lasts no longer than others', () => {
    const lines = [0, 1, 10, 11].map((minute, index) => {
      const price = [100, 101, 150, 180][index];
      return [FIRST_MS + minutes(minute), price, price, price, price, 1].join(',');
    });
    const csv = ['timestamp_ms,open,high,low,close,volume', ...lines].join('\n');
    expect(chosen(csv, minutes(2))).toMatchObject({ from: 10, count: 2, move: 0.2 });
    expect(chosen(csv, minutes(3))).toMatchObject({ from: 0, count: 2, move: 0.01 });
    expect(chosen(csv, minutes(10))).toMatchObject({ from: 1, count: 2, move: 0.485149 });
  });

  const row: fc.Arbitrary<Row> = fc
    .tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 50, max: 150 })))
    .map((four) => four.toSorted((a, b) => a - b) as [number, number, number, number])
    .map(([low, open, close, high]) => ({ low, open, close, high }));
  const files = fc.array(row, { minLength: 1, maxLength: 40 });
  const windows = fc.integer({ min: 1, max: 50 });

  test('no window of the same length moves further away from where it begins', () => {
    const furthest = (rows: readonly Row[]) =>
      Math.max(
        ...rows.flatMap(({ low, high }) => [low, high].map((at) => Math.abs(at / (rows[0]?.open ?? 1) - 1))),
      );
    fc.assert(
      fc.property(files, windows, (rows, count) => {
        const starts = rows
          .map((_, from) => from)
          .filter((from) => from === 0 || from + count <= rows.length);
        const best = Math.max(...starts.map((from) => furthest(rows.slice(from, from + count))));
        const window = largestMove(csvOf(rows), minutes(count));
        expect(Math.abs(window.move)).toBeCloseTo(best, 12);
        expect(window.series.candles).toHaveLength(Math.min(count, rows.length));
      }),
    );
  });

  test('its move is one that its own candles make, and they are those of the file', () => {
    fc.assert(
      fc.property(files, windows, (rows, count) => {
        const { series, move, fromMs } = largestMove(csvOf(rows), minutes(count));
        const { candles, candleMs } = series;
        const start = Number(candles[0]?.open);
        const moves = candles.flatMap(({ low, high }) =>
          [low, high].map((price) => Number(price) / start - 1),
        );
        expect(move === 0 || moves.includes(move)).toBe(true);
        expect(candles[0]?.timestampMs).toBe(fromMs);
        expect(candleMs).toBe(MINUTE_MS);
        const parsed = parseCandles(csvOf(rows));
        const same = parsed.ok ? parsed.series.candles : [];
        const from = (fromMs - FIRST_MS) / MINUTE_MS;
        expect(candles).toEqual(same.slice(from, from + candles.length));
      }),
    );
  });

  test('a mistake in the file is named with its line', () => {
    const csv = `${csvOf([flat(100)])}${FIRST_MS + MINUTE_MS},1,2,oops,1,1\n`;
    expect(() => largestMove(csv, minutes(1))).toThrow(/prices:3: .*oops/);
  });
});
