import { MS_PER_MINUTE } from '../../core/quantities/units.ts';
import { type Track, valueAt } from '../record.ts';

/** A part of the picture, in drawing units; y grows downwards. */
export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

export type Scale = (value: number) => number;

export function scaleX({ left, width }: Frame, { from, to }: Range): Scale {
  return (value) => left + ((value - from) / (to - from || 1)) * width;
}

export function scaleY({ top, height }: Frame, { from, to }: Range): Scale {
  return (value) => top + height - ((value - from) / (to - from || 1)) * height;
}

/** From the lowest to the highest value, with some air; never empty. */
export function rangeOf(values: Iterable<number>, airShare = 0.06): Range {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    from = Math.min(from, value);
    to = Math.max(to, value);
  }
  if (from > to) return { from: 0, to: 1 };
  const air = (to - from || Math.abs(to) || 1) * airShare;
  return { from: from - air, to: to + air };
}

/** Round values within a range, at most `most`. */
export function ticksOf({ from, to }: Range, most: number): readonly number[] {
  return multiplesIn({ from, to }, roundStep((to - from) / most));
}

function multiplesIn({ from, to }: Range, step: number): readonly number[] {
  const first = Math.ceil(from / step);
  const count = Math.max(0, Math.floor(to / step) - first + 1);
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= least) ?? 10;
  return factor * power;
}

const TIME_STEPS_MS = [
  1_000,
  5_000,
  15_000,
  30_000,
  ...[1, 2, 5, 10, 30, 60, 120, 240, 480, 720, 1440, 2880, 10_080].map((minutes) => minutes * MS_PER_MINUTE),
];

/** Round moments within a range, at most `most`. */
export function timeTicks({ from, to }: Range, most: number): readonly number[] {
  return multiplesIn({ from, to }, TIME_STEPS_MS.find((step) => (to - from) / step <= most) ?? to - from);
}

/** Thins a track to `columns` columns: first, lowest, highest and last point of each. */
export function thinned(track: Track, { from, to }: Range, columns: number): Track {
  const before = valueAt(track, from);
  const shown: (readonly [number, number | null])[] = before === null ? [] : [[from, before]];
  let column: (readonly [number, number | null])[] = [];
  let current = -1;
  for (const point of track) {
    if (point[0] <= from) continue;
    if (point[0] > to) {
      // The line continues to this point and is cut at the edge.
      return [...shown, ...extremes(column), point];
    }
    const index = Math.floor(((point[0] - from) / (to - from)) * columns);
    if (index !== current) {
      shown.push(...extremes(column));
      column = [];
      current = index;
    }
    column.push(point);
  }
  return [...shown, ...extremes(column)];
}

function extremes(column: Track): Track {
  if (column.length <= 4) return column;
  const kept = new Set<Track[number]>();
  let [lowest, highest] = [column[0], column[0]];
  for (const point of column) {
    if ((point[1] ?? Infinity) < (lowest?.[1] ?? Infinity)) lowest = point;
    if ((point[1] ?? -Infinity) > (highest?.[1] ?? -Infinity)) highest = point;
  }
  for (const point of [column[0], lowest, highest, column.at(-1)]) if (point !== undefined) kept.add(point);
  return [...kept].toSorted((a, b) => a[0] - b[0]);
}
