import { type Html, markup } from '../../src/replay/report/html.ts';
import { percent } from '../../src/replay/words.ts';
import type { TuneRow } from './search.ts';

const WIDTH = 860;
const HEIGHT = 420;
const MARGIN = { left: 70, right: 20, top: 20, bottom: 50 };
const TICKS = [0, 0.25, 0.5, 0.75, 1] as const;

/** SVG of equity kept (to the right) against equity given up (upwards); anchors are labelled. */
export function picture(rows: readonly TuneRow[]): Html {
  const dots = rows.flatMap((row) => {
    const { kept, givenUpMean } = row.figures;
    return kept === null || givenUpMean === null ? [] : [{ row, kept, given: givenUpMean }];
  });
  if (dots.length === 0)
    return markup`<p>No case in which the account is liquidated without rules: nothing to draw.</p>`;
  const x = scaleOf(
    dots.map(({ kept }) => kept),
    MARGIN.left,
    WIDTH - MARGIN.right,
  );
  // The least given up is at the bottom.
  const y = scaleOf(
    dots.map(({ given }) => given),
    HEIGHT - MARGIN.bottom,
    MARGIN.top,
  );
  const front = dots.filter(({ row }) => row.isOnFront).toSorted((a, b) => a.kept - b.kept);
  const line = front.map(({ kept, given }) => `${x.at(kept).toFixed(1)},${y.at(given).toFixed(1)}`).join(' ');
  const labels = labelled(
    dots
      .filter(({ row }) => row.isAnchor)
      .map(({ row, kept, given }) => ({ name: row.name, x: x.at(kept), y: y.at(given) })),
  );
  return markup`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Equity kept against equity given up">
${TICKS.map((part) => markup`<text x="${x.place(part)}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle" fill="currentColor" font-size="11">${percent(x.value(part))}</text><text x="${MARGIN.left - 8}" y="${y.place(part) + 4}" text-anchor="end" fill="currentColor" font-size="11">${percent(y.value(part))}</text>`)}
<text x="${(WIDTH + MARGIN.left) / 2}" y="${HEIGHT - 10}" text-anchor="middle" fill="currentColor" font-size="12">equity kept by the doomed</text>
<text x="16" y="${HEIGHT / 2}" text-anchor="middle" fill="currentColor" font-size="12" transform="rotate(-90 16 ${HEIGHT / 2})">given up by those who come through (mean)</text>
<polyline points="${line}" fill="none" stroke="currentColor" stroke-width="1.5"/>
${dots.map(({ row, kept, given }) => markup`<circle cx="${x.at(kept)}" cy="${y.at(given)}" r="${row.isAnchor ? 6 : 4}" fill="${row.isAnchor ? 'none' : 'currentColor'}" stroke="currentColor" fill-opacity="${row.isOnFront ? '1' : '0.3'}"><title>${row.name}: keeps ${percent(kept)}, gives up ${percent(given)}</title></circle>`)}
${labels.map(({ name, x: at, y: height, isLeft }) => markup`<text x="${at}" y="${height}" text-anchor="${isLeft ? 'end' : 'start'}" fill="currentColor" font-size="11">${name}</text>`)}
</svg>`;
}

interface Dot {
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

interface Label extends Dot {
  /** The text ends at `x`; otherwise it begins there. */
  readonly isLeft: boolean;
}

const ABOVE = 10;
const LINE = 13;
/** Approximate width of a character. */
const CHARACTER = 6;

/** Puts a label above each dot, or higher if another label is in the way. */
function labelled(dots: readonly Dot[]): readonly Label[] {
  const placed: Label[] = [];
  const spanOf = ({ name, x, isLeft }: Label): readonly [number, number] => {
    const width = (name.length + 1) * CHARACTER;
    return isLeft ? [x - width, x] : [x, x + width];
  };
  const isFree = (one: Label): boolean => {
    const [from, to] = spanOf(one);
    return placed.every((other) => {
      const [start, end] = spanOf(other);
      return from >= end || start >= to || Math.abs(one.y - other.y) >= LINE;
    });
  };
  for (const { name, x, y } of dots.toSorted((a, b) => a.x - b.x)) {
    const at = (line: number): Label => ({ name, x, y: y - ABOVE - line * LINE, isLeft: x > WIDTH / 2 });
    let line = 0;
    while (!isFree(at(line))) line += 1;
    placed.push(at(line));
  }
  return placed;
}

interface Axis {
  at(value: number): number;
  /** Coordinate and value at a fraction of the axis, 0 to 1. */
  place(part: number): number;
  value(part: number): number;
}

function scaleOf(values: readonly number[], from: number, to: number): Axis {
  const [least, most] = [Math.min(0, ...values), Math.max(...values, 0.01)];
  return {
    at: (value) => from + ((value - least) / (most - least)) * (to - from),
    place: (part) => from + part * (to - from),
    value: (part) => least + part * (most - least),
  };
}
