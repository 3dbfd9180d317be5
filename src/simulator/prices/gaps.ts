/** Times for which a file has no price. A path holds the price there and jumps at the end: nothing is invented. */
export interface Gaps {
  readonly count: number;
  readonly longestMs: number;
  /** Unix milliseconds at which the longest one begins. */
  readonly longestFromMs: number;
  readonly totalMs: number;
}

interface Timed {
  readonly timestampMs: number;
}

/** Between trades, silence is usual; only one of this length or more counts. */
const LONG_SILENCE_MS = 5 * 60_000;

/** A single candle does not show how long it lasts. */
const SINGLE_CANDLE_MS = 60_000;

/** Candles last as long as the shortest distance between two of them, unless most are further apart: then they mix. */
export function candleTiming(candles: readonly Timed[]) {
  const counts = new Map<number, number>();
  let shortestAt = 1;
  for (let index = 1; index < candles.length; index += 1) {
    const distanceMs = distance(candles, index);
    counts.set(distanceMs, (counts.get(distanceMs) ?? 0) + 1);
    if (distanceMs < distance(candles, shortestAt)) shortestAt = index;
  }
  const candleMs = candles.length < 2 ? SINGLE_CANDLE_MS : distance(candles, shortestAt);
  const usual = [...counts].find(([, count]) => count * 2 > candles.length - 1)?.[0];
  // Most candles are further apart than the one at `index` is from the one before it.
  if (usual !== undefined && usual > candleMs) {
    return { kind: 'mixed', index: shortestAt, distanceMs: candleMs, candleMs: usual } as const;
  }
  return { kind: 'even', candleMs, gaps: gapsAbove(candles, candleMs, candleMs) } as const;
}

export function silences(trades: readonly Timed[]): Gaps | undefined {
  return gapsAbove(trades, LONG_SILENCE_MS - 1, 0);
}

/** @param lastsMs how long what stands before a gap still counts */
function gapsAbove(rows: readonly Timed[], thresholdMs: number, lastsMs: number): Gaps | undefined {
  let [count, longestMs, longestFromMs, totalMs] = [0, 0, 0, 0];
  for (let index = 1; index < rows.length; index += 1) {
    const distanceMs = distance(rows, index);
    if (distanceMs <= thresholdMs) continue;
    const gapMs = distanceMs - lastsMs;
    count += 1;
    totalMs += gapMs;
    if (gapMs > longestMs) {
      longestMs = gapMs;
      longestFromMs = (rows[index - 1]?.timestampMs ?? 0) + lastsMs;
    }
  }
  return count === 0 ? undefined : { count, longestMs, longestFromMs, totalMs };
}

function distance(rows: readonly Timed[], index: number): number {
  return (rows[index]?.timestampMs ?? 0) - (rows[index - 1]?.timestampMs ?? 0);
}
