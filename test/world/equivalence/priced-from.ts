import { type Path, pricesWithin, type Range } from './scenario.ts';
import type { Trace, TracedOrder, TracedRead } from './trace.ts';

export type { Range } from './scenario.ts';

/** Possible inputs of a price, as far as reads and path show. */
export interface PricedFrom {
  /** The mark price of the read. */
  readonly mark: Range;
  /** Estimated run of the market until the order arrives; zero for standing stops. */
  readonly run: Range;
}

interface Play {
  readonly path: Path;
  /** Minimum latency of every request. */
  readonly latencyMs: number;
  readonly liquidatedAt: number | undefined;
}

/**
 * Independent copy of the design's formula: speed x (age of the read + round trip), where speed is the larger adverse
 * move per second over 3 s and 20 s. The times of a read's request and answer are known only within bounds, so the
 * result has bounds too; one result for each read that may have been the newest when the order was decided.
 */
export function pricedFrom(
  order: TracedOrder,
  { reads, orders }: Pick<Trace, 'reads' | 'orders'>,
  play: Play,
): readonly PricedFrom[] {
  const { market, atMs, priced, what } = order;
  const seen = reads.filter((read) => read.market === null || read.market === market);
  const decided: Range = {
    least: atMs - (priced?.tookMs ?? play.latencyMs + UNANSWERED_MS) - ROUNDED_MS,
    most: atMs - play.latencyMs,
  };
  const last = seen.findLastIndex(({ toMs }) => toMs <= decided.most);
  const first = seen.findLastIndex(({ toMs }) => toMs <= decided.least);
  if (last === -1) throw new RangeError(`no read before the order at ${atMs} ms`);
  const learned = learnedAllowance(order, orders, { seen, play });
  return seen.slice(Math.max(first, 0), last + 1).map((read) => {
    const mark = marksOf(read, play);
    if (priced?.role === 'cover') return { mark, run: NONE };
    const speed = speedAt(read, seen, play, what.startsWith('sell') ? -1 : 1);
    const travel = travelMs(read, { decided, roundTripMs: priced?.roundTripMs ?? 0 }, play);
    const run = {
      least: mark.least * speed.least * travel.least,
      most: mark.most * speed.most * travel.most + mark.most * learned,
    };
    return { mark, run: drawnIn(run, mark, play) };
  });
}

/**
 * Upper bound of the allowance learned from fills, as a share of the mark beyond the default allowance: the reads
 * before and after a fill show how far the mark was from an activation that the last price had reached. The fill that a
 * lane currently uses is not traced, so the lower bound is zero.
 */
function learnedAllowance(
  { market, atMs }: TracedOrder,
  orders: readonly TracedOrder[],
  { seen, play }: { readonly seen: readonly TracedRead[]; readonly play: Play },
): number {
  const apart = orders.flatMap(({ filledAtMs, activation, what, ...other }) => {
    if (!other.isOurs || other.market !== market || filledAtMs === undefined || filledAtMs > atMs) return [];
    const before = seen.findLastIndex(({ toMs }) => toMs <= filledAtMs);
    const after = seen.findIndex(({ fromMs }) => fromMs >= filledAtMs);
    const around = seen.slice(Math.max(before, 0), after === -1 ? undefined : after + 1);
    return around.flatMap((read) => {
      const { least, most } = marksOf(read, play);
      return what.startsWith('sell') ? (most - activation) / most : (activation - least) / least;
    });
  });
  return Math.max(0, ...apart.map((share) => share - ALLOWANCE));
}

/** From the decision on an order to its arrival, if no answer shows it. */
const UNANSWERED_MS = 100;
/** Times are in whole milliseconds. */
const ROUNDED_MS = 2;

/** Allowance and run together are limited to half of the distance to liquidation. */
function drawnIn(run: Range, mark: Range, { liquidatedAt }: Play): Range {
  if (liquidatedAt === undefined) return run;
  const room = (price: number): number => Math.abs(price - liquidatedAt) / 2 - price * ALLOWANCE;
  const rooms = [room(mark.least), room(mark.most)];
  return {
    least: Math.min(run.least, ...rooms),
    most: Math.min(run.most, Math.max(...rooms)),
  };
}

/** The default allowance for the gap between mark and last price. */
const ALLOWANCE = 0.001;
const NONE: Range = { least: 0, most: 0 };

function marksOf({ fromMs, toMs }: TracedRead, { path, latencyMs }: Play): Range {
  return pricesWithin(path, Math.min(fromMs + latencyMs, toMs), toMs);
}

/** Age of the read at the decision, plus a round trip: the lane's, or that of the read if longer. */
function travelMs(
  read: TracedRead,
  { decided, roundTripMs }: { readonly decided: Range; readonly roundTripMs: number },
  { latencyMs }: Play,
): Range {
  const { fromMs, toMs } = read;
  const earlierMs = statedEarlierMs(read);
  return {
    // A lane that had nothing to do has forgotten its round trip.
    least: latencyMs + Math.max(0, decided.least - toMs) + latencyMs,
    most: decided.most - fromMs + earlierMs + Math.max(toMs - fromMs + earlierMs, roundTripMs) + ROUNDED_MS,
  };
}

const HORIZONS_MS = [3_000, 20_000];
/** Error of the known times of reads; a new sample of the store's clock also shifts them by its error. */
const JITTER_MS = 10;
const KEPT_MS = 20_000;
const LEAST_SPAN_MS = 1_000;

/** Adverse move per millisecond; `adverse`: the sign of one. */
function speedAt(newest: TracedRead, reads: readonly TracedRead[], play: Play, adverse: 1 | -1): Range {
  const now = marksOf(newest, play);
  const earlier = reads.filter((read) => read.fromMs < newest.fromMs);
  const ranges = HORIZONS_MS.map((horizonMs) => {
    const speeds = sinceWhen(newest, earlier, horizonMs, play).map((read): Range => {
      const then = marksOf(read, play);
      const span = spanOf(read, newest, play);
      const moves = [
        (adverse * (now.least - then.most)) / now.least,
        (adverse * (now.most - then.least)) / now.most,
      ].map((move) => Math.max(0, move));
      return {
        least: Math.min(...moves) / Math.max(span.most, LEAST_SPAN_MS),
        most: Math.max(...moves) / Math.max(span.least, LEAST_SPAN_MS),
      };
    });
    if (speeds.length === 0) return NONE;
    return {
      least: Math.min(...speeds.map(({ least }) => least)),
      most: Math.max(...speeds.map(({ most }) => most)),
    };
  });
  return {
    least: Math.max(...ranges.map(({ least }) => least)),
    most: Math.max(...ranges.map(({ most }) => most)),
  };
}

/** How much earlier than sent a read counts as sent: for a poll's read the error of the clock, for a lane's zero. */
function statedEarlierMs({ market, clockErrorMs }: TracedRead): number {
  return market === null ? clockErrorMs : 0;
}

/** Time between the sending of two reads, by the lanes' reckoning. */
function spanOf(one: TracedRead, other: TracedRead, { latencyMs }: Play): Range {
  const statedMs = statedEarlierMs(one) - statedEarlierMs(other);
  return {
    least: other.fromMs - Math.max(one.fromMs, one.toMs - latencyMs) + statedMs,
    most: Math.max(other.fromMs, other.toMs - latencyMs) - one.fromMs + statedMs,
  };
}

/** The first read within a horizon; several candidates if that is uncertain. */
function sinceWhen(
  newest: TracedRead,
  earlier: readonly TracedRead[],
  horizonMs: number,
  play: Play,
): readonly TracedRead[] {
  const kept = earlier.filter((read) => spanOf(read, newest, play).least <= KEPT_MS);
  const jitterMs = (read: TracedRead): number => JITTER_MS + read.clockErrorMs + newest.clockErrorMs;
  const first = kept.findIndex((read) => spanOf(read, newest, play).least <= horizonMs + jitterMs(read));
  if (first === -1) return kept.slice(-1);
  const sure = kept.findIndex((read) => spanOf(read, newest, play).most <= horizonMs - jitterMs(read));
  // If none is certainly within it, the last one counts, whatever its time.
  return kept.slice(first, sure === -1 ? undefined : sure + 1);
}
