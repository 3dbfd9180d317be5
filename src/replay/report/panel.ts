import type { Track } from '../record.ts';
import { clock } from '../words.ts';
import { type Html, markup } from './html.ts';
import { type Frame, type Range, type Scale, scaleX, scaleY, thinned, ticksOf, timeTicks } from './scale.ts';

export interface Line {
  readonly track: Track;
  /** A class of the style sheet: `own`, `none`, `other-1`, `price`, `barrier`. */
  readonly style: string;
  /** At its right end. */
  readonly label: string;
  /** The value holds until the next point; otherwise points are connected by straight lines. */
  readonly isStep?: boolean;
}

export interface Panel {
  readonly title: string;
  readonly frame: Frame;
  readonly window: Range;
  readonly values: Range;
  readonly format: (value: number) => string;
  readonly lines: readonly Line[];
}

/** Axis, grid, lines and their labels. @param marks drawn above them */
export function panel(spec: Panel, marks: readonly Html[] = []): Html {
  const { title, frame, window, values, format, lines } = spec;
  const { left, top, width, height } = frame;
  const [x, y] = [scaleX(frame, window), scaleY(frame, values)];
  const levels = ticksOf(values, Math.max(2, Math.floor(height / 34))).map(
    (value) =>
      markup`<line class="grid" x1="${left}" x2="${left + width}" y1="${y(value)}" y2="${y(value)}"/><text class="tick" x="${left - 8}" y="${y(value) + 3.5}" text-anchor="end">${format(value)}</text>`,
  );
  const clip = `clip-${Math.round(left)}-${Math.round(top)}-${Math.round(height)}`;
  return markup`<g><text class="panel-title" x="${left}" y="${top - 7}">${title}</text>
<rect class="ground" x="${left}" y="${top}" width="${width}" height="${height}"/>${levels}${timeGrid(frame, window, x)}
<svg class="${clip}" x="${left}" y="${top}" width="${width}" height="${height}" viewBox="${left} ${top} ${width} ${height}">${lines.map((line) => drawn(line, spec, x, y))}</svg>
${labels(lines, spec, y)}${marks}</g>`;
}

function timeGrid({ top, height }: Frame, window: Range, x: Scale): readonly Html[] {
  return timeTicks(window, 9).map(
    (atMs) => markup`<line class="grid" x1="${x(atMs)}" x2="${x(atMs)}" y1="${top}" y2="${top + height}"/>`,
  );
}

/** The time labels below the last panel. */
export function timeAxis({ left, top, width, height }: Frame, window: Range): Html {
  const x = scaleX({ left, top, width, height }, window);
  const isFine = window.to - window.from < 600_000;
  const ticks = timeTicks(window, 9).map((atMs) => {
    const text = isFine ? clock(atMs) : clock(atMs).slice(0, 5);
    const day = text === '00:00' ? new Date(atMs).toISOString().slice(5, 10) : text;
    return markup`<text class="tick" x="${x(atMs)}" y="${top + height + 16}" text-anchor="middle">${day}</text>`;
  });
  return markup`<g>${ticks}</g>`;
}

function drawn({ track, style, isStep }: Line, { frame, window }: Panel, x: Scale, y: Scale): Html {
  const points = thinned(track, window, frame.width);
  let path = '';
  let isDown = false;
  for (const [atMs, value] of points) {
    if (value === null) {
      if (isDown && isStep === true) path += ` H${rounded(x(atMs))}`;
      isDown = false;
      continue;
    }
    const [px, py] = [rounded(x(atMs)), rounded(y(value))];
    if (!isDown) path += ` M${px},${py}`;
    else path += isStep === true ? ` H${px} V${py}` : ` L${px},${py}`;
    isDown = true;
  }
  if (isDown && isStep === true) path += ` H${rounded(x(window.to))}`;
  return path === '' ? markup`` : markup`<path class="line ${style}" d="${path.trim()}"/>`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

const LABEL_HEIGHT = 13;

/** Labels at the right ends, moved apart where they would overlap. */
function labels(lines: readonly Line[], { frame, window, values }: Panel, y: Scale): readonly Html[] {
  const { left, top, width, height } = frame;
  const ends = lines.flatMap(({ track, label, style }) => {
    const last = track.findLast(([atMs, value]) => atMs <= window.to && value !== null)?.[1];
    if (last === undefined || last === null) return [];
    if (style.startsWith('barrier') && (last < values.from || last > values.to)) return [];
    const inside = Math.min(values.to, Math.max(values.from, last));
    return [{ label, style, y: y(inside) + 4 }];
  });
  let lowest = top + 4;
  return ends
    .toSorted((a, b) => a.y - b.y)
    .map(({ label, style, y: wanted }, index) => {
      const room = top + height + 8 - (ends.length - 1 - index) * LABEL_HEIGHT;
      const at = Math.min(Math.max(wanted, lowest), room);
      lowest = at + LABEL_HEIGHT;
      return markup`<text class="label ${style}" x="${left + width + 8}" y="${at}">${label}</text>`;
    });
}
