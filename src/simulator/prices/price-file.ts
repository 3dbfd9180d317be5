import {
  type Decimal,
  type DecimalString,
  isDecimalString,
  toDecimal,
} from '../../core/quantities/decimal.ts';
import { candleTiming, type Gaps, silences } from './gaps.ts';

/** The only parser of price files. It is here because the simulator imports nothing but decimals and port types. */

/** One candle; times in Unix milliseconds, prices as written. */
export interface Candle {
  readonly timestampMs: number;
  readonly open: DecimalString;
  readonly high: DecimalString;
  readonly low: DecimalString;
  readonly close: DecimalString;
}

export interface Trade {
  readonly timestampMs: number;
  readonly price: DecimalString;
}

/** Never empty. `gaps` is `undefined` if there are none. */
export interface CandleSeries {
  readonly kind: 'candles';
  readonly candles: readonly Candle[];
  /** Duration of each candle; a minute if there is only one. */
  readonly candleMs: number;
  readonly gaps: Gaps | undefined;
}

export interface TradeSeries {
  readonly kind: 'trades';
  readonly trades: readonly Trade[];
  readonly gaps: Gaps | undefined;
}

export type PriceSeries = CandleSeries | TradeSeries;

/** The first fault in a file; lines count from 1. */
export interface PriceFault {
  readonly line: number;
  readonly expected: string;
  readonly found: string;
}

export type PricesResult =
  | { readonly ok: true; readonly series: PriceSeries }
  | { readonly ok: false; readonly fault: PriceFault };

export function firstPrice(series: PriceSeries): Decimal {
  const text = series.kind === 'candles' ? series.candles[0]?.open : series.trades[0]?.price;
  return toDecimal(text as DecimalString);
}

/** `prices.csv:17: expected ..., found ...` */
export function priceFaultText(file: string, { line, expected, found }: PriceFault): string {
  return `${file}:${line}: expected ${expected}, found ${found}`;
}

/** Parses a text and describes its first fault; `undefined` if there is none. */
export function priceFileFault(file: string, text: string): string | undefined {
  const parsed = parsePrices(text);
  return parsed.ok ? undefined : priceFaultText(file, parsed.fault);
}

const HEADERS = {
  candles: ['timestamp_ms', 'open', 'high', 'low', 'close', 'volume'],
  trades: ['timestamp_ms', 'price', 'amount'],
} as const;
const KINDS = ['candles', 'trades'] as const;
type Kind = (typeof KINDS)[number];

const EITHER =
  'candles (timestamp_ms,open,high,low,close,volume) or trades (timestamp_ms,price,amount), separated by commas';

/** Parses candles or trades, with or without a header; stops at the first fault. */
export function parsePrices(text: string): PricesResult {
  const reader = new Reader();
  try {
    eachLine(text, (line, number) => reader.read(line, number));
    return { ok: true, series: reader.series() };
  } catch (error) {
    if (error instanceof Fault) return { ok: false, fault: error.fault };
    throw error;
  }
}

/** Private to this file: ends the loop over the lines. */
class Fault extends Error {
  readonly fault: PriceFault;

  constructor(line: number, expected: string, found: string) {
    super(expected);
    this.fault = { line, expected, found };
  }
}

function eachLine(text: string, read: (line: string, number: number) => void): void {
  let start = text.startsWith('\uFEFF') ? 1 : 0;
  for (let number = 1; start <= text.length; number += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(start, end).trim();
    if (line !== '') read(line, number);
    start = end + 1;
  }
}

/** Collects the rows of one file; not reusable. */
class Reader {
  #kind: Kind | undefined;
  #hasHeader = false;
  #lastLine = 1;
  #lastMs = Number.NEGATIVE_INFINITY;
  readonly #lines: number[] = [];
  readonly #candles: Candle[] = [];
  readonly #trades: Trade[] = [];

  read(line: string, number: number): void {
    this.#lastLine = number;
    const cells = line.split(',');
    if (this.#kind === undefined && !/^"?[\d+-]/.test(line)) {
      this.#kind = kindOfHeader(cells, number);
      this.#hasHeader = true;
      return;
    }
    this.#kind ??= kindOfRow(cells, number);
    if (cells.length !== HEADERS[this.#kind].length) refuseColumns(this.#kind, cells, number);
    if (this.#kind === 'candles') this.#readCandle(cells, number);
    else this.#readTrade(cells, number);
    this.#lines.push(number);
  }

  #readCandle(cells: readonly string[], number: number): void {
    const timestampMs = this.#time(cells[0] ?? '', number, 'after');
    const candle = {
      timestampMs,
      open: price(cells, 1, number, 'open'),
      high: price(cells, 2, number, 'high'),
      low: price(cells, 3, number, 'low'),
      close: price(cells, 4, number, 'close'),
    };
    amount(cells[5] ?? '', number, 'volume');
    refuseImpossible(candle, number);
    this.#candles.push(candle);
  }

  #readTrade(cells: readonly string[], number: number): void {
    const timestampMs = this.#time(cells[0] ?? '', number, 'at or after');
    this.#trades.push({ timestampMs, price: price(cells, 1, number, 'price') });
    amount(cells[2] ?? '', number, 'amount');
  }

  /** Several trades may have the same millisecond, candles may not. */
  #time(cell: string, number: number, order: 'after' | 'at or after'): number {
    const timestampMs = readTime(cell, number);
    const isLater = order === 'after' ? timestampMs > this.#lastMs : timestampMs >= this.#lastMs;
    if (!isLater) {
      const how = timestampMs === this.#lastMs ? 'the same time again' : `${timestampMs}, which is earlier`;
      throw new Fault(number, `a timestamp_ms ${order} the one before (${this.#lastMs})`, how);
    }
    this.#lastMs = timestampMs;
    return timestampMs;
  }

  series(): PriceSeries {
    if (this.#lines.length === 0) {
      throw this.#hasHeader
        ? new Fault(this.#lastLine + 1, `${this.#kind} below the header`, 'the end of the file')
        : new Fault(1, EITHER, 'an empty file');
    }
    if (this.#kind === 'trades') {
      return { kind: 'trades', trades: this.#trades, gaps: silences(this.#trades) };
    }
    const timing = candleTiming(this.#candles);
    if (timing.kind === 'mixed') {
      const { index, distanceMs, candleMs } = timing;
      throw new Fault(
        this.#lines[index] ?? 0,
        `the next candle ${candleMs} ms after the one before, as most of them`,
        `one ${distanceMs} ms after it: candles of one interval only can be played`,
      );
    }
    return { kind: 'candles', candles: this.#candles, candleMs: timing.candleMs, gaps: timing.gaps };
  }
}

function kindOfHeader(cells: readonly string[], number: number): Kind {
  const names = cells.map((cell) => cell.trim().replaceAll('"', '').toLowerCase()).join(',');
  const kind = KINDS.find((each) => names === HEADERS[each].join(','));
  if (kind !== undefined) return kind;
  throw new Fault(number, EITHER, `the header ${shown(cells.join(','))}`);
}

function kindOfRow(cells: readonly string[], number: number): Kind {
  const kind = KINDS.find((each) => cells.length === HEADERS[each].length);
  if (kind !== undefined) return kind;
  throw new Fault(number, EITHER, columns(cells));
}

function refuseColumns(kind: Kind, cells: readonly string[], number: number): never {
  const expected = `${HEADERS[kind].length} columns (${HEADERS[kind].join(',')})`;
  const other = kind === 'candles' ? 'trades' : 'candles';
  const isMixed = cells.length === HEADERS[other].length;
  throw new Fault(number, expected, isMixed ? `${columns(cells)}, as ${other} have` : columns(cells));
}

function columns(cells: readonly string[]): string {
  const count = cells.length === 1 ? '1 column' : `${cells.length} columns`;
  return `${count} (${shown(cells.join(','))})`;
}

/** As seconds this is 1973, as milliseconds still 1970: a value from here on is likely seconds. */
const EARLIEST_SECONDS = 100_000_000;
const LATEST_SECONDS = 100_000_000_000;
const LATEST_MS = 100_000_000_000_000;

function readTime(cell: string, number: number): number {
  const text = unquoted(cell);
  const expected = 'timestamp_ms in whole milliseconds since 1970';
  if (!/^\d{1,20}$/.test(text)) throw new Fault(number, expected, shown(text));
  const value = Number(text);
  if (value >= EARLIEST_SECONDS && value < LATEST_SECONDS) {
    throw new Fault(number, expected, `${text}, which looks like seconds (times 1000: ${value * 1000})`);
  }
  if (value >= LATEST_MS)
    throw new Fault(number, expected, `${text}, which looks like micro- or nanoseconds`);
  return value;
}

function price(cells: readonly string[], index: number, number: number, column: string): DecimalString {
  const text = unquoted(cells[index] ?? '');
  if (isDecimalString(text) && Number(text) > 0) return text;
  throw new Fault(number, `a positive number as ${column}`, shown(text));
}

function amount(cell: string, number: number, column: string): void {
  const text = unquoted(cell);
  if (isDecimalString(text) && Number(text) >= 0) return;
  throw new Fault(number, `a number from 0 as ${column}`, shown(text));
}

function refuseImpossible({ open, high, low, close }: Candle, number: number): void {
  if (isAbove(low, high)) throw new Fault(number, 'high at or above low', `high ${high}, low ${low}`);
  for (const [column, value] of [['open', open] as const, ['close', close] as const]) {
    if (isAbove(value, high) || isAbove(low, value)) {
      throw new Fault(number, `${column} from low to high (${low} to ${high})`, value);
    }
  }
}

/** Exact; fast wherever the doubles differ. */
function isAbove(a: DecimalString, b: DecimalString): boolean {
  const [x, y] = [Number(a), Number(b)];
  return x === y && a !== b ? toDecimal(a).gt(toDecimal(b)) : x > y;
}

function unquoted(cell: string): string {
  const text = cell.trim();
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

const MAX_SHOWN = 60;

function shown(text: string): string {
  if (text === '') return 'nothing';
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text);
}
