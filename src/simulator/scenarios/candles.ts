import { type Decimal, parseDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { interpolate, type PricePoint, type PriceSource, sourceFromPoints } from './price-source.ts';

/** One candle of a CSV file; times in Unix milliseconds. */
export interface Candle {
  readonly timestampMs: number;
  readonly open: Decimal;
  readonly high: Decimal;
  readonly low: Decimal;
  readonly close: Decimal;
}

export type CandlesResult =
  | { readonly ok: true; readonly candles: readonly Candle[] }
  | { readonly ok: false; readonly line: number; readonly message: string };

const COLUMNS = ['timestamp_ms', 'open', 'high', 'low', 'close', 'volume'];
const HEADER = COLUMNS.join(',');

/** Parses `timestamp_ms,open,high,low,close,volume`; the first fault ends it and names its line. */
export function parseCandles(text: string): CandlesResult {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  if (lines[0]?.trim() !== HEADER)
    return { ok: false, line: 1, message: `line 1: expected the header ${HEADER}` };
  const candles: Candle[] = [];
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.trim() === '') continue;
    const parsed = parseLine(line, candles.at(-1));
    if (typeof parsed === 'string')
      return { ok: false, line: index + 1, message: `line ${index + 1}: ${parsed}` };
    candles.push(parsed);
  }
  return candles.length === 0
    ? { ok: false, line: lines.length, message: `line ${lines.length}: there is no candle` }
    : { ok: true, candles };
}

function parseLine(line: string, previous: Candle | undefined): Candle | string {
  const cells = line.split(',');
  if (cells.length !== COLUMNS.length)
    return `expected ${COLUMNS.length} columns (${HEADER}), found ${cells.length}`;
  const timestampMs = Number(cells[0]);
  if (!/^\d{1,15}$/.test(cells[0] ?? '')) return `timestamp_ms is not a whole number: ${cells[0]}`;
  if (previous !== undefined && timestampMs <= previous.timestampMs)
    return `timestamp_ms ${timestampMs} does not come after ${previous.timestampMs}`;
  const [open, high, low, close] = [1, 2, 3, 4].map((column) => parseDecimal(cells[column] ?? ''));
  for (const [column, value] of [open, high, low, close].entries()) {
    if (value === undefined || value.lte(ZERO))
      return `${COLUMNS[column + 1]} is not a positive number: ${JSON.stringify(cells[column + 1])}`;
  }
  if (parseDecimal(cells[5] ?? '')?.gte(ZERO) !== true)
    return `volume is not a number from 0: ${JSON.stringify(cells[5])}`;
  if (open === undefined || high === undefined || low === undefined || close === undefined)
    return 'a price is missing';
  const inside = [open, close].every((price) => price.lte(high) && price.gte(low));
  return inside ? { timestampMs, open, high, low, close } : 'open or close lies outside low and high';
}

export interface CandlePlay {
  readonly candles: readonly Candle[];
  /** Virtual time of the first candle's open; its own timestamp if absent. */
  readonly startMs?: number;
  readonly priceStep: Decimal;
  readonly tickMs?: number;
  /** How long each candle lasts; the shortest distance between two of them if absent. */
  readonly candleMs?: number;
  /** The extreme that comes first: `low` hurts longs (default), `high` hurts shorts. */
  readonly adverse?: 'low' | 'high';
}

/**
 * Plays candles: open, adverse extreme, other extreme, close at even distances, with the straight line in
 * between; a candle lasts until the next one opens, at most the shortest distance in the file.
 */
export function candleSource(play: CandlePlay): PriceSource {
  return sourceFromPoints(interpolateWithin(play));
}

function* interpolateWithin(play: CandlePlay): Generator<PricePoint> {
  const { candles, priceStep, tickMs = 1_000 } = play;
  const durationMs = play.candleMs ?? shortestDistance(candles);
  const shiftMs = (play.startMs ?? candles[0]?.timestampMs ?? 0) - (candles[0]?.timestampMs ?? 0);
  for (const candle of candles)
    yield* interpolate(pointsOf(candle, durationMs, shiftMs, play.adverse ?? 'low'), tickMs, priceStep);
}

/** Shortest distance between two candles; a minute when there is only one. */
export function shortestDistance(candles: readonly Candle[]): number {
  let shortest = 60_000;
  for (let index = 1; index < candles.length; index += 1) {
    const distance = (candles[index]?.timestampMs ?? 0) - (candles[index - 1]?.timestampMs ?? 0);
    shortest = index === 1 ? distance : Math.min(shortest, distance);
  }
  return shortest;
}

function pointsOf(
  candle: Candle,
  durationMs: number,
  shiftMs: number,
  adverse: 'low' | 'high',
): readonly PricePoint[] {
  const { open, close, high, low } = candle;
  const extremes = adverse === 'low' ? [low, high] : [high, low];
  const prices = [open, ...extremes, close];
  const lastMs = durationMs - 1;
  return prices.map((price, index) => ({
    atMs: candle.timestampMs + shiftMs + Math.floor((lastMs * index) / (prices.length - 1)),
    price,
  }));
}
