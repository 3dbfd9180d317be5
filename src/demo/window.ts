import {
  type Candle,
  type CandleSeries,
  parseCandles,
  priceFaultText,
} from '../simulator/prices/price-file.ts';
import { SimulatorError } from '../simulator/simulated-exchange.ts';

/** The part of a file of candles that the demo plays. */
export interface CandleWindow {
  readonly series: CandleSeries;
  readonly fromMs: number;
  /** The largest move away from its first price, as a fraction; negative is a fall. */
  readonly move: number;
}

/** The window in which the price moves furthest from its beginning. @throws SimulatorError naming the line */
export function largestMove(csv: string, windowMs: number): CandleWindow {
  const parsed = parseCandles(csv);
  if (!parsed.ok) throw new SimulatorError('invalid-input', priceFaultText('prices', parsed.fault));
  const { candles, candleMs } = parsed.series;
  const lastMs = (candles.at(-1)?.timestampMs ?? 0) + candleMs;
  let best: { from: number; to: number; move: number } | undefined;
  for (const [from, first] of candles.entries()) {
    const untilMs = first.timestampMs + windowMs;
    if (best !== undefined && untilMs > lastMs) break;
    const { to, move } = excursion(candles, from, untilMs);
    if (best === undefined || Math.abs(move) > Math.abs(best.move)) best = { from, to, move };
  }
  const { from, to, move } = best ?? { from: 0, to: candles.length, move: 0 };
  const chosen = candles.slice(from, to);
  return { series: { ...parsed.series, candles: chosen }, fromMs: chosen[0]?.timestampMs ?? 0, move };
}

function excursion(candles: readonly Candle[], from: number, untilMs: number): { to: number; move: number } {
  const start = Number((candles[from] as Candle).open);
  let move = 0;
  let to = from;
  for (; to < candles.length; to += 1) {
    const candle = candles[to] as Candle;
    if (candle.timestampMs >= untilMs) break;
    for (const price of [candle.low, candle.high]) {
      const change = Number(price) / start - 1;
      if (Math.abs(change) > Math.abs(move)) move = change;
    }
  }
  return { to, move };
}
