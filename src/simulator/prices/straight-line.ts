import {
  type Decimal,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  toNumber,
} from '../../core/quantities/decimal.ts';
import type { PricePoint } from './price-source.ts';

/**
 * Bounds on the distance of points, in time and as a fraction of the price. Measured with stops in the crashes of 2020,
 * 2021 and 2025: compared with a point every 20 ms, the mean slippage differs by 0.006 percentage points (bridge:
 * 0.02), with a thirtieth of the points.
 */
export const LONGEST_TICK_MS = 1_000;
export const SHORTEST_TICK_MS = 50;
export const LARGEST_STEP = 0.0005;

/**
 * Yields the line between two points without its ends, rounded to the price step.
 * @param tickMs depends on the speed of the price if absent
 */
export function* straightLine(
  from: PricePoint,
  to: PricePoint,
  priceStep: Decimal,
  tickMs?: number,
): Generator<PricePoint> {
  const spanMs = to.atMs - from.atMs;
  const start = toNumber(from.price);
  const rise = toNumber(to.price) - start;
  const everyMs = tickMs ?? tickFor(spanMs, Math.abs(rise) / start);
  const round = rounding(minDecimal(from.price, to.price), maxDecimal(from.price, to.price), priceStep);
  for (let elapsedMs = everyMs; elapsedMs < spanMs; elapsedMs += everyMs) {
    yield { atMs: from.atMs + elapsedMs, price: round(start + (rise * elapsedMs) / spanMs) };
  }
}

/** @param change of the price over the whole span, as a fraction */
export function tickFor(spanMs: number, change: number, longestMs = LONGEST_TICK_MS): number {
  const byStepMs = change === 0 ? longestMs : Math.floor((spanMs * LARGEST_STEP) / change);
  return Math.min(longestMs, Math.max(SHORTEST_TICK_MS, byStepMs));
}

/** Returns a function that rounds to the nearest step within `low` and `high`. */
export function rounding(low: Decimal, high: Decimal, step: Decimal): (price: number) => Decimal {
  const stepSize = toNumber(step);
  return (price) =>
    minDecimal(high, maxDecimal(low, decimalFromNumber(Math.round(price / stepSize)).times(step)));
}
