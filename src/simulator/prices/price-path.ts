import { type Decimal, type DecimalString, toDecimal, toNumber } from '../../core/quantities/decimal.ts';
import { createRandom, type SeededRandom } from '../scenarios/random.ts';
import type { Candle, CandleSeries, PriceSeries, TradeSeries } from './price-file.ts';
import { type PricePoint, type PriceSource, sourceFromPoints } from './price-source.ts';
import { LARGEST_STEP, LONGEST_TICK_MS, rounding, SHORTEST_TICK_MS, straightLine } from './straight-line.ts';

/**
 * Paths through a candle, of which only open, high, low and close are known. `adverse` visits the extreme that hurts
 * first, `favourable` the other first, both in straight lines; `bridge` is a random path. All reach both extremes.
 */
export const PATH_MODELS = ['adverse', 'favourable', 'bridge'] as const;
export type PathModel = (typeof PATH_MODELS)[number];

export interface PathSpec {
  readonly series: PriceSeries;
  /** Ignored for trades, which show the actual path. */
  readonly model: PathModel;
  /** The extreme that hurts: `low` hurts longs, `high` hurts shorts. */
  readonly adverse: 'low' | 'high';
  readonly priceStep: Decimal;
  /** Determines a bridge, together with the market and the time of the candle. */
  readonly seed: number;
  readonly market: string;
  /** Virtual time of the first price; its timestamp if absent. */
  readonly startMs?: number;
  /** Distance of two points; depends on the speed of the price if absent. */
  readonly tickMs?: number | undefined;
}

/** Plays a series of prices. During a gap the price stands still, then jumps. */
export function pathSource(spec: PathSpec): PriceSource {
  const { series } = spec;
  return sourceFromPoints(series.kind === 'trades' ? tradePoints(spec, series) : candlePoints(spec, series));
}

function* tradePoints(spec: PathSpec, { trades }: TradeSeries): Generator<PricePoint> {
  const shiftMs = shiftOf(spec, trades[0]?.timestampMs);
  let last: DecimalString | undefined;
  for (const { timestampMs, price } of trades) {
    if (price === last) continue;
    last = price;
    yield { atMs: timestampMs + shiftMs, price: toDecimal(price) };
  }
}

function* candlePoints(spec: PathSpec, { candles, candleMs }: CandleSeries): Generator<PricePoint> {
  const shiftMs = shiftOf(spec, candles[0]?.timestampMs);
  for (const candle of candles) {
    const shape: Shape = {
      startMs: candle.timestampMs + shiftMs,
      lastMs: candleMs - 1,
      prices: pricesOf(candle),
      priceStep: spec.priceStep,
      tickMs: spec.tickMs,
    };
    if (spec.model === 'bridge') {
      yield* bridge(shape, createRandom(seedOf(spec, candle.timestampMs)));
    } else {
      const isLowFirst = (spec.adverse === 'low') === (spec.model === 'adverse');
      yield* lines(shape, isLowFirst);
    }
  }
}

function shiftOf({ startMs }: PathSpec, firstMs = 0): number {
  return (startMs ?? firstMs) - firstMs;
}

/** FNV-1a hash. Every candle has its own seed, so that a shorter window replays the same path. */
function seedOf({ seed, market }: PathSpec, timestampMs: number): number {
  let hash = 0x81_1c_9d_c5;
  for (const character of `${seed}|${market}|${timestampMs}`) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01_00_01_93);
  }
  return hash >>> 0;
}

type Prices = Readonly<Record<'open' | 'high' | 'low' | 'close', Decimal>>;

function pricesOf({ open, high, low, close }: Candle): Prices {
  return { open: toDecimal(open), high: toDecimal(high), low: toDecimal(low), close: toDecimal(close) };
}

/** One candle to walk through. */
interface Shape {
  readonly startMs: number;
  /** Time from start to close: one less than the duration. */
  readonly lastMs: number;
  readonly prices: Prices;
  readonly priceStep: Decimal;
  readonly tickMs: number | undefined;
}

function* lines(shape: Shape, isLowFirst: boolean): Generator<PricePoint> {
  const way = waypoints(shape, isLowFirst, [1 / 3, 2 / 3]);
  for (const [from, to] of legs(way)) {
    yield from;
    yield* straightLine(from, to, shape.priceStep, shape.tickMs);
  }
  yield* way.slice(-1);
}

/** Open, both extremes at these fractions of the time, close. */
function waypoints(
  { startMs, lastMs, prices }: Shape,
  isLowFirst: boolean,
  [first, second]: readonly [number, number],
): readonly PricePoint[] {
  const { open, high, low, close } = prices;
  return [
    { atMs: startMs, price: open },
    { atMs: startMs + Math.floor(lastMs * first), price: isLowFirst ? low : high },
    { atMs: startMs + Math.floor(lastMs * second), price: isLowFirst ? high : low },
    { atMs: startMs + lastMs, price: close },
  ];
}

/** Mean of the range of a random walk in units of its deviation: sqrt(8 / pi). */
const RANGE_PER_DEVIATION = 1.5958;

function* bridge(shape: Shape, random: SeededRandom): Generator<PricePoint> {
  const { lastMs, prices, priceStep } = shape;
  const [open, high, low] = [prices.open, prices.high, prices.low].map(toNumber) as [number, number, number];
  // The nearer extreme is more likely to have come first.
  const isLowFirst = random.uniform() * (high - low) < high - open;
  const [early, late] = [random.uniform(), random.uniform()].sort((a, b) => a - b) as [number, number];
  const way = waypoints(shape, isLowFirst, [early, late]);
  const deviation = (high - low) / RANGE_PER_DEVIATION / Math.sqrt(lastMs);
  const tickMs = shape.tickMs ?? walkTick(deviation / open);
  const round = rounding(prices.low, prices.high, priceStep);
  for (const [from, to] of legs(way)) {
    yield from;
    const end = toNumber(to.price);
    let price = toNumber(from.price);
    for (let atMs = from.atMs + tickMs; atMs < to.atMs; atMs += tickMs) {
      const restMs = to.atMs - atMs;
      const pull = ((end - price) * tickMs) / (restMs + tickMs);
      const noise = deviation * Math.sqrt((tickMs * restMs) / (restMs + tickMs)) * random.normal();
      price = folded(price + pull + noise, low, high);
      yield { atMs, price: round(price) };
    }
  }
  yield* way.slice(-1);
}

/** @param deviation relative, per square root of a millisecond */
function walkTick(deviation: number): number {
  const byStepMs = deviation === 0 ? LONGEST_TICK_MS : Math.floor((LARGEST_STEP / deviation) ** 2);
  return Math.min(LONGEST_TICK_MS, Math.max(SHORTEST_TICK_MS, byStepMs));
}

/** Reflects the price at both ends until it lies between them. */
function folded(price: number, low: number, high: number): number {
  const range = high - low;
  if (range === 0) return low;
  const turns = (((price - low) % (2 * range)) + 2 * range) % (2 * range);
  return low + (turns <= range ? turns : 2 * range - turns);
}

function* legs(way: readonly PricePoint[]): Generator<readonly [PricePoint, PricePoint]> {
  for (let index = 1; index < way.length; index += 1) {
    yield [way[index - 1] as PricePoint, way[index] as PricePoint];
  }
}
