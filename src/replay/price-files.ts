import { type DecimalString, formatDecimal } from '../core/quantities/decimal.ts';
import type { Kinds } from '../core/schema/parts.ts';
import { minuteWords } from '../core/text/time-words.ts';
import type { Gaps } from '../simulator/prices/gaps.ts';
import { firstPrice, type PriceSeries, parsePrices, priceFaultText } from '../simulator/prices/price-file.ts';
import { span } from './words.ts';

export interface PriceFile {
  readonly market: string;
  readonly file: string;
  readonly text: string;
}

/** Prices of one market within the time that is replayed. */
export interface MarketPrices {
  readonly market: string;
  readonly file: string;
  readonly series: PriceSeries;
  readonly first: DecimalString;
}

export type PriceFilesResult = Kinds<{
  /** `fromMs` to `toMs`, Unix milliseconds: the time for which every market has prices. */
  read: { markets: readonly MarketPrices[]; fromMs: number; toMs: number; notes: readonly string[] };
  /** Each as `file:line: expected ..., found ...`. */
  refused: { problems: readonly string[] };
}>;

/** Reads all files, and cuts them to the part of the requested time that all of them cover. */
export function readPriceFiles(
  files: readonly PriceFile[],
  asked: { readonly fromMs?: number; readonly toMs?: number } = {},
): PriceFilesResult {
  const problems: string[] = [];
  const whole = files.flatMap(({ market, file, text }) => {
    const parsed = parsePrices(text);
    if (parsed.ok) return [{ market, file, series: parsed.series, has: spanOf(parsed.series) }];
    problems.push(priceFaultText(file, parsed.fault));
    return [];
  });
  if (problems.length > 0) return { kind: 'refused', problems };
  const fromMs = Math.max(asked.fromMs ?? 0, ...whole.map(({ has }) => has.fromMs));
  const toMs = Math.min(asked.toMs ?? Number.POSITIVE_INFINITY, ...whole.map(({ has }) => has.toMs));
  const markets = whole.flatMap(({ market, file, series, has }) => {
    const cut = cutTo(series, fromMs, toMs);
    if (cut !== undefined) return [{ market, file, series: cut, first: formatDecimal(firstPrice(cut)) }];
    const wanted = wantedWords(has, { fromMs, toMs });
    if (wanted !== undefined) {
      problems.push(`${file}: expected prices ${wanted}, found some ${rangeWords(has)}`);
    }
    return [];
  });
  if (problems.length > 0) return { kind: 'refused', problems };
  const startMs = Math.max(...markets.map(({ series }) => spanOf(series).fromMs));
  const notes = markets.flatMap(({ file, series }) => gapNote(file, series.gaps));
  return { kind: 'read', markets, fromMs: startMs, toMs, notes };
}

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

/** For an empty range, the end that this file misses; `undefined`: other files alone make it empty. */
function wantedWords(has: Range, wanted: Range): string | undefined {
  if (wanted.fromMs < wanted.toMs) return rangeWords(wanted);
  if (has.toMs <= wanted.fromMs) return `from ${minuteWords(wanted.fromMs)} on`;
  return has.fromMs >= wanted.toMs ? `before ${minuteWords(wanted.toMs)}` : undefined;
}

function rangeWords({ fromMs, toMs }: Range): string {
  return `from ${minuteWords(fromMs)} to ${minuteWords(toMs)}`;
}

function spanOf(series: PriceSeries): Range {
  const rows = series.kind === 'candles' ? series.candles : series.trades;
  const lastsMs = series.kind === 'candles' ? series.candleMs : 1;
  return { fromMs: rows[0]?.timestampMs ?? 0, toMs: (rows.at(-1)?.timestampMs ?? 0) + lastsMs };
}

/** Keeps whole candles only; `undefined`: nothing is left. */
export function cutTo(series: PriceSeries, fromMs: number, toMs: number): PriceSeries | undefined {
  if (series.kind === 'trades') {
    const trades = series.trades.filter(({ timestampMs }) => timestampMs >= fromMs && timestampMs < toMs);
    return trades.length === 0 ? undefined : { ...series, trades };
  }
  const { candleMs } = series;
  const candles = series.candles.filter(
    ({ timestampMs }) => timestampMs >= fromMs && timestampMs + candleMs <= toMs,
  );
  return candles.length === 0 ? undefined : { ...series, candles };
}

function gapNote(file: string, gaps: Gaps | undefined): readonly string[] {
  if (gaps === undefined) return [];
  const { count, longestMs, longestFromMs } = gaps;
  const many = count === 1 ? 'a gap' : `${count} gaps, the longest`;
  return [
    `${file} has ${many} of ${span(longestMs)} from ${minuteWords(longestFromMs)}: the price stands still in it, then jumps.`,
  ];
}
