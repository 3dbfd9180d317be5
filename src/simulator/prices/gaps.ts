/** Times without a price in a file. A path holds the price there and jumps at the end; it invents nothing. */
export interface Gaps {
  readonly count: number;
  readonly longestMs: number;
  /** Start of the longest gap, Unix milliseconds. */
  readonly longestFromMs: number;
  readonly totalMs: number;
}

interface Timed {
  readonly timestampMs: number;
}

/** Silence between trades is usual; only one of this length or more counts as a gap. */
const LONG_SILENCE_MS = 5 * 60_000;

/** Assumed duration of a single candle, which does not show it. */
const SINGLE_CANDLE_MS = 60_000;

/**
 * Finds the duration of candles, the shortest distance between two of them, and their gaps. If most are further apart,
 * the intervals are mixed.
 */
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
  // Most candles are further apart than the one at `shortestAt` and its predecessor.
  if (usual !== undefined && usual > candleMs) {
    return { kind: 'mixed', index: shortestAt, distanceMs: candleMs, candleMs: usual } as const;
  }
  return { kind: 'even', candleMs, gaps: gapsAbove(candles, candleMs, candleMs) } as const;
}

export function silences(trades: readonly Timed[]): Gaps | undefined {
  return gapsAbove(trades, LONG_SILENCE_MS - 1, 0);
}

/** @param lastsMs duration of the row before a gap, which is not part of the gap */
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
