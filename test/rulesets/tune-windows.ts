import { formatDecimal } from '../../src/core/quantities/decimal.ts';
import { MS_PER_DAY } from '../../src/core/quantities/units.ts';
import { cutTo } from '../../src/replay/price-files.ts';
import { firstPrice, type PriceSeries } from '../../src/simulator/prices/price-file.ts';
import type { TunePrices } from './tune-case.ts';

/** The same stretch of time in one or more markets. */
export interface PriceWindow {
  readonly id: string;
  /** How lively a quiet window is; absent: it is not quiet. */
  readonly pace?: string;
  readonly fromMs: number;
  readonly durationMs: number;
  readonly prices: readonly TunePrices[];
}

export interface PricedMarket {
  readonly market: string;
  readonly series: PriceSeries;
}

interface WindowChoice {
  readonly lengthMs: number;
  /** Most windows of each kind; they do not overlap. */
  readonly count: number;
}

interface Move {
  readonly fromMs: number;
  /** Largest move away from the first price within the window, up or down; a fraction. */
  readonly size: number;
}

const CALM_PACE = 'calm candles';
/** Largest calm move: twice the standard deviation of a market that moves by 5 % a day, so 2.9 % in two hours. */
const CALM_MOVE_PER_DAY = 0.1;

/** The stretches of a file in which the first market moved most, and the calm ones, in which it moved least. */
export function windowsOf(
  id: string,
  markets: readonly PricedMarket[],
  { lengthMs, count }: WindowChoice,
): { readonly wild: readonly PriceWindow[]; readonly calm: readonly PriceWindow[] } {
  const moves = movesOf(markets, lengthMs);
  const windows = (sorted: readonly Move[]): readonly PriceWindow[] =>
    apart(sorted, lengthMs, count)
      .toSorted((a, b) => a.fromMs - b.fromMs)
      .flatMap(({ fromMs }) => windowAt(id, markets, fromMs, lengthMs) ?? []);
  const wild = windows(moves.toSorted((a, b) => b.size - a.size));
  const calmMove = CALM_MOVE_PER_DAY * Math.sqrt(lengthMs / MS_PER_DAY);
  // Without this bound, a file that contains only a crash would yield the crash as calm.
  const calm = windows(moves.filter(({ size }) => size <= calmMove).toSorted((a, b) => a.size - b.size));
  return { wild, calm: calm.map((window) => Object.assign(window, { pace: CALM_PACE })) };
}

/** Moves of the first market in windows that begin at every quarter of a window's length. */
function movesOf(markets: readonly PricedMarket[], lengthMs: number): readonly Move[] {
  const first = markets[0]?.series;
  if (first?.kind !== 'candles') return [];
  const { candles } = first;
  const [startMs, endMs] = [
    candles[0]?.timestampMs ?? 0,
    (candles.at(-1)?.timestampMs ?? 0) + first.candleMs,
  ];
  const moves: Move[] = [];
  for (let fromMs = startMs; fromMs + lengthMs <= endMs; fromMs += lengthMs / 4) {
    const within = candles.filter(
      ({ timestampMs }) => timestampMs >= fromMs && timestampMs < fromMs + lengthMs,
    );
    const open = Number(within[0]?.open);
    const highest = Math.max(...within.map(({ high }) => Number(high)));
    const lowest = Math.min(...within.map(({ low }) => Number(low)));
    if (open > 0) moves.push({ fromMs, size: Math.max(highest / open, open / lowest) - 1 });
  }
  return moves;
}

function apart(sorted: readonly Move[], lengthMs: number, count: number): readonly Move[] {
  const chosen: Move[] = [];
  for (const move of sorted) {
    if (chosen.length === count) break;
    if (chosen.every(({ fromMs }) => Math.abs(fromMs - move.fromMs) >= lengthMs)) chosen.push(move);
  }
  return chosen;
}

/** A window of the markets; undefined: one of them has no prices then. */
export function windowAt(
  id: string,
  markets: readonly PricedMarket[],
  fromMs: number,
  durationMs: number,
): PriceWindow | undefined {
  const prices = markets.flatMap(({ market, series }) => {
    const cut = cutTo(series, fromMs, fromMs + durationMs);
    return cut === undefined ? [] : [{ market, series: cut, start: formatDecimal(firstPrice(cut)) }];
  });
  const at = new Date(fromMs).toISOString().slice(0, 16);
  return prices.length === markets.length ? { id: `${id} ${at}`, fromMs, durationMs, prices } : undefined;
}

export interface WalkChoice {
  readonly dailyVolatility: number;
  readonly durationMs: number;
  /** Each number gives another walk. */
  readonly number: number;
}

/** A window of the simulator's own walk, without news. */
export function walkWindow(
  starts: readonly { readonly market: string; readonly start: string }[],
  { dailyVolatility, durationMs, number }: WalkChoice,
): PriceWindow {
  const pace = `${Math.round(dailyVolatility * 1_000) / 10} % a day`;
  return {
    id: `walk ${number} of ${pace}`,
    pace,
    fromMs: Date.UTC(2026, 0, 1) + number * MS_PER_DAY,
    durationMs,
    prices: starts.map((one) => ({ ...one, dailyVolatility })),
  };
}
