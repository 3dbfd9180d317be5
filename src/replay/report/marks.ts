import type { EventKind, ReplayEvent } from '../record.ts';
import { type Html, markup } from './html.ts';

/** How an event looks in the picture: the shape tells the kind, colour only repeats it. */
interface MarkStyle {
  /** Around (0, 0). */
  readonly path: string;
  readonly style: 'hollow' | 'filled' | 'cross';
  readonly level: 'plain' | 'good' | 'warning' | 'critical';
  readonly legend: string;
}

const DOWN = 'M-5.5,-4.5 L5.5,-4.5 L0,5 Z';
const UP = 'M-5.5,4.5 L5.5,4.5 L0,-5 Z';
const CROSS = 'M-4.5,-4.5 L4.5,4.5 M-4.5,4.5 L4.5,-4.5';
const DIAMOND = 'M0,-8 L8,0 L0,8 L-8,0 Z';
const RING = 'M-3.5,0 A3.5,3.5 0 1 0 3.5,0 A3.5,3.5 0 1 0 -3.5,0 Z';
const TICK = 'M0,-5 L0,5';

/** In the order of the legend. */
const MARKS: Readonly<Record<EventKind, MarkStyle>> = {
  order: { path: DOWN, style: 'hollow', level: 'plain', legend: 'order placed, at its activation price' },
  trigger: { path: RING, style: 'hollow', level: 'plain', legend: 'stop triggered' },
  fill: { path: DOWN, style: 'filled', level: 'good', legend: 'fill' },
  cancel: { path: CROSS, style: 'cross', level: 'plain', legend: 'order cancelled' },
  refusal: { path: CROSS, style: 'cross', level: 'critical', legend: 'order refused' },
  'margin-call': { path: DIAMOND, style: 'hollow', level: 'warning', legend: 'margin call' },
  liquidation: { path: DIAMOND, style: 'filled', level: 'critical', legend: 'liquidated by the exchange' },
  rule: { path: TICK, style: 'cross', level: 'warning', legend: 'rule or decision' },
  decision: { path: TICK, style: 'cross', level: 'plain', legend: '' },
  notice: { path: TICK, style: 'cross', level: 'plain', legend: '' },
};

/** The shape of an event at (0, 0); buys point up, sells down. */
function shape({ kind, side }: Pick<ReplayEvent, 'kind' | 'side'>): Html {
  const { path, style, level } = MARKS[kind];
  return markup`<path class="mark ${style} ${level}" d="${side === 'buy' && path === DOWN ? UP : path}"/>`;
}

export interface MarkPlace {
  readonly x: number;
  readonly y: number;
  /** Link to its line in the list; absent: it has none. */
  readonly href?: string;
  /** Absent if another picture has the mark that the list links to. */
  readonly id?: string | undefined;
}

export function mark(event: ReplayEvent, { x, y, href, id }: MarkPlace): Html {
  const name = id === undefined ? markup`` : markup` id="${id}"`;
  const spot = markup`<g class="spot"${name} transform="translate(${x} ${y})"><title>${event.words}</title><circle class="halo" r="11"/>${shape(event)}</g>`;
  return href === undefined ? spot : markup`<a href="${href}">${spot}</a>`;
}

/** Marks an event of another variant, which has no line in the list. */
export function otherMark(event: ReplayEvent, variant: string, x: number, y: number): Html {
  return markup`<g transform="translate(${x} ${y})"><title>${variant}: ${event.words}</title>${shape(event)}<text class="label barrier" x="12" y="4">${variant}</text></g>`;
}

export function legend(kinds: ReadonlySet<EventKind>): Html {
  const shown = (Object.keys(MARKS) as EventKind[]).filter(
    (kind) => kinds.has(kind) && MARKS[kind].legend !== '',
  );
  const items = shown.map(
    (kind) =>
      markup`<li><svg viewBox="-9 -9 18 18" width="18" height="18" aria-hidden="true">${shape({ kind })}</svg> ${MARKS[kind].legend}</li>`,
  );
  return markup`<ul class="legend">${items}</ul>`;
}
