import { describe, expect, test } from 'vitest';
import type { Candle } from '../../src/simulator/prices/price-file.ts';
import { windowsOf } from './tune-windows.ts';

const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A candle a minute; each hour is a straight line to its price. */
function marketOf(hourly: readonly number[]) {
  const candles = hourly.flatMap((end, hour) => {
    const start = hourly[hour - 1] ?? hourly[0] ?? 0;
    return Array.from({ length: 60 }, (_, minute) => {
      const [open, close] = [0, 1].map((next) => start + ((end - start) * (minute + next)) / 60) as [
        number,
        number,
      ];
      return {
        timestampMs: START_MS + hour * HOUR_MS + minute * MINUTE_MS,
        open: String(open),
        high: String(Math.max(open, close)),
        low: String(Math.min(open, close)),
        close: String(close),
      } as unknown as Candle;
    });
  });
  const series = { kind: 'candles', candles, candleMs: MINUTE_MS, gaps: undefined } as const;
  return [{ market: 'BTC_PERP', series }];
}

const startsOf = (windows: readonly { readonly fromMs: number }[]) =>
  windows.map(({ fromMs }) => (fromMs - START_MS) / HOUR_MS);

describe('stretches of a file of prices', () => {
  test('wild and calm ones are told apart', () => {
    const hourly = [60_000, 60_000, 60_300, 60_600, 60_600, 54_000, 50_000, 50_000, 50_100];
    const { wild, calm } = windowsOf('file', marketOf(hourly), { lengthMs: 2 * HOUR_MS, count: 1 });
    expect(startsOf(wild)).toEqual([5]);
    expect(startsOf(calm)).toEqual([0]);
    expect(calm.map(({ pace }) => pace)).toEqual(['calm candles']);
  });

  test('a file that is all crash has no calm ones', () => {
    const { wild, calm } = windowsOf('crash', marketOf([60_000, 57_000, 54_000, 51_000]), {
      lengthMs: 2 * HOUR_MS,
      count: 2,
    });
    expect(wild.length).toBeGreaterThan(0);
    expect(calm).toEqual([]);
  });
});
