import { type Path, pricesWithin, type Range } from './scenario.ts';
import type { Trace, TracedOrder, TracedRead } from './trace.ts';

export type { Range } from './scenario.ts';

/** What a price may have been computed from, as far as reads and path tell. */
export interface PricedFrom {
  /** The mark price that the read showed. */
  readonly mark: Range;
  /** How far the market was reckoned to run until the order arrives; none for standing stops. */
  readonly run: Range;
}

interface Play {
  readonly path: Path;
  /** What every request takes at least. */
  readonly latencyMs: number;
  readonly liquidatedAt: number | undefined;
}

/**
 * The design's sentence, written down a second time: speed x (age of the read + round trip), speed being the larger
 * adverse move per second over 3 s and 20 s. When exactly a read was sent and answered is known within bounds only,
 * so the result is bounds too; one for each read that may have been the newest when the order was decided on.
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
 * What fills have taught, at most, a share of the mark beyond the default allowance: the reads before and after a fill
 * show how far the mark was from an activation that the last price had reached. Which fill a lane still goes by is not
 * traced, so that it may be none.
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

/** From deciding on an order to its arrival, where no answer tells. */
const UNANSWERED_MS = 100;
/** Times are in whole milliseconds. */
const ROUNDED_MS = 2;

/** Half of the distance to liquidation is the most that allowance and run together may take. */
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

/** Age of the read when the order is decided on, and a round trip: the lane's, or that of the read if it was longer. */
function travelMs(
  read: TracedRead,
  { decided, roundTripMs }: { readonly decided: Range; readonly roundTripMs: number },
  { latencyMs }: Play,
): Range {
  const { fromMs, toMs } = read;
  const earlierMs = statedEarlierMs(read);
  return {
    // A lane that had nothing to do has forgotten what its requests took.
    least: latencyMs + Math.max(0, decided.least - toMs) + latencyMs,
    most: decided.most - fromMs + earlierMs + Math.max(toMs - fromMs + earlierMs, roundTripMs) + ROUNDED_MS,
  };
}

const HORIZONS_MS = [3_000, 20_000];
/** Of the times that are known of reads; a new sample of the store's clock shifts them by its error besides. */
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

/** How much earlier than it was sent a read counts as sent: a poll's by the error of the clock, a lane's own not. */
function statedEarlierMs({ market, clockErrorMs }: TracedRead): number {
  return market === null ? clockErrorMs : 0;
}

/** Time between the sending of two reads, as lanes reckon it. */
function spanOf(one: TracedRead, other: TracedRead, { latencyMs }: Play): Range {
  const statedMs = statedEarlierMs(one) - statedEarlierMs(other);
  return {
    least: other.fromMs - Math.max(one.fromMs, one.toMs - latencyMs) + statedMs,
    most: Math.max(other.fromMs, other.toMs - latencyMs) - one.fromMs + statedMs,
  };
}

/** The first read within a horizon; several, where it may have been one or the other. */
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
  // Where none is within it for certain, the last one counts, whenever it was.
  return kept.slice(first, sure === -1 ? undefined : sure + 1);
}
