import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePrices, priceFaultText } from '../../../src/simulator/prices/price-file.ts';

const CANDLES = 'timestamp_ms,open,high,low,close,volume';
const TRADES = 'timestamp_ms,price,amount';
const T = 1_600_000_000_000;

function series(csv: string) {
  const parsed = parsePrices(csv);
  if (!parsed.ok) throw new Error(priceFaultText('prices.csv', parsed.fault));
  return parsed.series;
}

describe('an accepted file has', () => {
  const rows = `${T},100,110,90,105,7\n${T + 60_000},105,106,104,104.50,0`;

  test.each([
    ['with its header', `${CANDLES}\n${rows}\n`],
    ['without one', rows],
    [
      'with a byte order mark, carriage returns and empty lines',
      `\uFEFF${CANDLES}\r\n\r\n${rows.replace('\n', '\r\n\r\n')}\r\n`,
    ],
    [
      'with quotes and spaces',
      `"timestamp_ms","open","high","low","close","volume"\n${rows.replaceAll(/[^,\n]+/g, ' "$&" ')}`,
    ],
  ])('candles %s', (_name, csv) => {
    expect(series(csv)).toEqual({
      kind: 'candles',
      candleMs: 60_000,
      gaps: undefined,
      candles: [
        { timestampMs: T, open: '100', high: '110', low: '90', close: '105' },
        { timestampMs: T + 60_000, open: '105', high: '106', low: '104', close: '104.50' },
      ],
    });
  });

  test('trades, several of them in one millisecond', () => {
    const csv = `${TRADES}\n${T},100.5,1\n${T},99,0.1\n${T + 7},101,2\n`;
    expect(series(csv)).toEqual({
      kind: 'trades',
      gaps: undefined,
      trades: [
        { timestampMs: T, price: '100.5' },
        { timestampMs: T, price: '99' },
        { timestampMs: T + 7, price: '101' },
      ],
    });
  });

  test('candles of any interval, which is detected', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1_000, 60_000, 300_000, 86_400_000),
        fc.integer({ min: 2, max: 40 }),
        (ms, n) => {
          const csv = Array.from({ length: n }, (_, index) => `${T + index * ms},5,5,5,5,1`).join('\n');
          expect(series(csv)).toMatchObject({ candleMs: ms, gaps: undefined });
        },
      ),
    );
  });

  test('times that begin at zero', () => {
    expect(series('0,5,5,5,5,1')).toMatchObject({ candleMs: 60_000, candles: [{ timestampMs: 0 }] });
  });

  test("two million trades, read within a test's time", () => {
    const row = (index: number) => `${T + index * 3},${60_000 + (index % 977)}.5,0.01`;
    const parsed = series(Array.from({ length: 2_000_000 }, (_, index) => row(index)).join('\n'));
    expect(parsed.kind === 'trades' && parsed.trades.length).toBe(2_000_000);
  });
});

describe('gaps', () => {
  test('are counted, with the longest', () => {
    const minutes = [0, 1, 2, 5, 6, 20, 21];
    const csv = minutes.map((minute) => `${T + minute * 60_000},5,5,5,5,1`).join('\n');
    expect(series(csv)).toMatchObject({
      candleMs: 60_000,
      gaps: { count: 2, longestMs: 13 * 60_000, longestFromMs: T + 7 * 60_000, totalMs: 15 * 60_000 },
    });
  });

  test('between trades are long silences', () => {
    const csv = [0, 10, 299, 600, 601].map((second) => `${T + second * 1_000},5,1`).join('\n');
    expect(series(csv).gaps).toEqual({
      count: 1,
      longestMs: 301_000,
      longestFromMs: T + 299_000,
      totalMs: 301_000,
    });
  });
});

describe('a refusal names line, expected and found text', () => {
  const row = `${T},2,3,1,2,0`;
  test.each<[string, string, string]>([
    [
      'an empty file',
      '',
      '1: expected candles (timestamp_ms,open,high,low,close,volume) or trades (timestamp_ms,price,amount), separated by commas, found an empty file',
    ],
    ['only white space', ' \n\n', '1: expected candles'],
    ['a header alone', `${CANDLES}\n`, '2: expected candles below the header, found the end of the file'],
    ['a header alone, of trades', `${TRADES}\n`, '2: expected trades below the header'],
    [
      'an unknown header',
      `time,o,h,l,c,v\n${row}`,
      '1: expected candles (timestamp_ms,open,high,low,close,volume) or trades (timestamp_ms,price,amount), separated by commas, found the header "time,o,h,l,c,v"',
    ],
    ['another number of columns from the start', '1,2,3,4', '1: expected candles'],
    ['semicolons', '1;2;3;4;5;6', 'separated by commas, found 1 column ("1;2;3;4;5;6")'],
    [
      'another number of columns later',
      `${row}\n${T + 1},2,3,1,2`,
      `2: expected 6 columns (${CANDLES}), found 5 columns`,
    ],
    [
      'a trade among candles',
      `${row}\n${T + 1},2,3`,
      `2: expected 6 columns (${CANDLES}), found 3 columns ("${T + 1},2,3"), as trades have`,
    ],
    ['a candle among trades', `${T},2,3\n${row}`, `2: expected 3 columns (${TRADES}), found 6 columns`],
    [
      'a second header',
      `${CANDLES}\n${row}\n${CANDLES}\n`,
      '3: expected timestamp_ms in whole milliseconds since 1970, found "timestamp_ms"',
    ],
    [
      'a price that is no number',
      `${row}\n\n${T + 1},2,3,1,x,0`,
      '3: expected a positive number as close, found "x"',
    ],
    ['a missing price', `${T},,3,1,2,0`, '1: expected a positive number as open, found nothing'],
    ['NaN', `${T},NaN,1`, '1: expected a positive number as price, found "NaN"'],
    ['a price of zero', `${T},0.000,1`, '1: expected a positive number as price, found "0.000"'],
    ['a negative price', `${T},2,3,-1,2,0`, '1: expected a positive number as low, found "-1"'],
    ['a negative volume', `${T},2,3,1,2,-1`, '1: expected a number from 0 as volume, found "-1"'],
    ['an amount that is no number', `${T},2,much`, '1: expected a number from 0 as amount, found "much"'],
    ['high below low', `${T},2,1,3,2,0`, '1: expected high at or above low, found high 1, low 3'],
    ['an open outside', `${T},5,3,1,2,0`, '1: expected open from low to high (1 to 3), found 5'],
    [
      'a close outside by a digit that doubles do not have',
      `${T},1.5,2.00000000000000000001,1,2.00000000000000000002,0`,
      '1: expected close from low to high',
    ],
    [
      'a time that goes back',
      `${row}\n${T - 1},2,3,1,2,0`,
      `2: expected a timestamp_ms after the one before (${T}), found ${T - 1}, which is earlier`,
    ],
    [
      'a time that repeats',
      `${row}\n${row}`,
      `2: expected a timestamp_ms after the one before (${T}), found the same time again`,
    ],
    [
      'a trade that goes back',
      `${T},2,1\n${T - 1},2,1`,
      '2: expected a timestamp_ms at or after the one before',
    ],
    [
      'seconds',
      '1600000000,2,3,1,2,0',
      '1: expected timestamp_ms in whole milliseconds since 1970, found 1600000000, which looks like seconds (times 1000: 1600000000000)',
    ],
    ['microseconds', '1600000000000000,2,3', 'which looks like micro- or nanoseconds'],
    [
      'a date',
      '2020-03-12,2,3',
      'expected timestamp_ms in whole milliseconds since 1970, found "2020-03-12"',
    ],
    [
      'candles of two intervals',
      [0, 5, 10, 11, 16, 21].map((minute) => `${T + minute * 60_000},2,3,1,2,0`).join('\n'),
      '4: expected the next candle 300000 ms after the one before, as most of them, found one 60000 ms after it',
    ],
  ])('%s', (_name, csv, words) => {
    const parsed = parsePrices(csv);
    if (parsed.ok) throw new Error('it was accepted');
    expect(priceFaultText('prices.csv', parsed.fault)).toContain(words);
    expect(priceFaultText('prices.csv', parsed.fault)).toMatch(/^prices\.csv:\d+: expected .+, found .+/);
  });

  test('no text makes it throw, and every accepted file is ordered and positive', () => {
    const cell = fc.oneof(
      fc.constantFrom('', '1', '2', '0', '-1', '1e3', '1e99', 'x', '"3"', ' 4 ', String(T), '1600000000'),
      fc.string({ maxLength: 5 }),
    );
    const line = fc.array(cell, { minLength: 1, maxLength: 7 }).map((cells) => cells.join(','));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
        const parsed = parsePrices(lines.join('\n'));
        if (!parsed.ok || parsed.series.kind !== 'trades') return;
        const { trades } = parsed.series;
        expect(trades.every(({ price }) => Number(price) > 0)).toBe(true);
        expect(trades.toSorted((a, b) => a.timestampMs - b.timestampMs)).toEqual(trades);
      }),
    );
  });
});
