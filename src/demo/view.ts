import { stripVTControlCharacters } from 'node:util';
import type { Style } from '../cli/io.ts';

/**
 * Draws the demo's live table. Pure: what to show and how wide the terminal is come in, lines of text go out.
 */

/** One of two twins, as the exchange has it now. */
export interface WatchedSide {
  /** Of the position, of both legs, or the LTV of a credit line. */
  readonly size: string;
  /** To liquidation as a fraction of the mark price, of a credit line to its margin call; absent when there is none. */
  readonly distance?: number;
  readonly state: string;
  readonly wasLiquidated: boolean;
}

export interface DemoRow {
  readonly about: string;
  readonly protectedSide: WatchedSide;
  readonly twinSide: WatchedSide;
}

export interface DemoEvent {
  readonly atMs: number;
  readonly tone: 'info' | 'good' | 'warning' | 'danger';
  readonly text: string;
}

export interface DemoFrame {
  readonly title: string;
  /** What the market does. */
  readonly about: string;
  readonly baseUrl: string;
  readonly speed: number;
  readonly elapsedMs: number;
  readonly durationMs: number;
  readonly market: {
    readonly name: string;
    readonly last: number;
    readonly start: number;
    /** Recent prices, oldest first. */
    readonly history: readonly number[];
  };
  readonly rows: readonly DemoRow[];
  readonly events: readonly DemoEvent[];
}

export interface Canvas {
  readonly columns: number;
  readonly paint: (style: Style, text: string) => string;
}

/** Distances beyond this fill the whole bar. */
const BAR_FULL_DISTANCE = 0.2;
const BAR_WIDTH = 14;
const EVENT_LINES = 8;
const SPARKS = '▁▂▃▄▅▆▇█';

export function renderFrame(frame: DemoFrame, canvas: Canvas): string[] {
  return [
    ...header(frame, canvas),
    '',
    marketLine(frame.market, canvas),
    '',
    canvas.paint('bold', columnTitles()),
    ...frame.rows.map((row) => rowLine(row, canvas)),
    '',
    ...eventLines(frame, canvas),
    '',
    canvas.paint(
      'dim',
      'Bars: room before liquidation (of a credit line, before its margin call). Ctrl-C ends.',
    ),
  ].map((line) => clip(line, canvas.columns));
}

function header(frame: DemoFrame, { paint, columns }: Canvas): string[] {
  const share = Math.min(1, frame.elapsedMs / frame.durationMs);
  const passed = `${clock(frame.elapsedMs)} / ${clock(frame.durationMs)}`;
  const width = Math.max(10, Math.min(60, columns - passed.length - 4));
  const done = Math.round(share * width);
  return [
    `${paint('bold', frame.title)}  ${paint('dim', `${frame.about}; time runs ${frame.speed} times as fast; ${frame.baseUrl}`)}`,
    `${paint('cyan', '━'.repeat(done))}${paint('dim', '─'.repeat(width - done))}  ${passed}`,
  ];
}

function marketLine(market: DemoFrame['market'], { paint }: Canvas): string {
  const change = market.last / market.start - 1;
  const style: Style = change < 0 ? 'red' : 'green';
  return [
    pad(market.name, 10),
    pad(price(market.last), 12, true),
    paint(style, pad(signedPercent(change), 9, true)),
    ' ',
    paint(style, sparkline(market.history)),
  ].join(' ');
}

export function sparkline(values: readonly number[]): string {
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
  return values
    .map((value) => SPARKS[span === 0 ? 3 : Math.round(((value - low) / span) * (SPARKS.length - 1))] ?? '')
    .join('');
}

const ABOUT_WIDTH = 24;
const SIZE_WIDTH = 15;
const AWAY_WIDTH = 8;
const STATE_WIDTH = 11;
const SIDE_WIDTH = SIZE_WIDTH + AWAY_WIDTH + BAR_WIDTH + STATE_WIDTH + 3;

function columnTitles(): string {
  return `${pad('ACCOUNT', ABOUT_WIDTH)} ${pad('PROTECTED', SIDE_WIDTH)} │ ONLY WATCHED`;
}

function rowLine({ about, protectedSide, twinSide }: DemoRow, canvas: Canvas): string {
  return `${pad(about, ABOUT_WIDTH)} ${sideCells(protectedSide, canvas)} │ ${sideCells(twinSide, canvas)}`;
}

function sideCells({ size, distance, state, wasLiquidated }: WatchedSide, { paint }: Canvas): string {
  const isOpen = size !== 'closed';
  const style = wasLiquidated ? 'red' : dangerStyle(distance);
  const away = distance === undefined ? (isOpen ? '∞' : '') : percent(distance);
  const room = distance === undefined ? 1 : distance / BAR_FULL_DISTANCE;
  const word = wasLiquidated ? 'liquidated' : state.replace('_', ' ');
  return [
    pad(size, SIZE_WIDTH, true),
    pad(away, AWAY_WIDTH, true),
    paint(style, isOpen ? bar(room) : ' '.repeat(BAR_WIDTH)),
    paint(style, pad(word, STATE_WIDTH)),
  ].join(' ');
}

function dangerStyle(distance: number | undefined): Style {
  if (distance === undefined) return 'green';
  if (distance < 0.03) return 'red';
  return distance < 0.08 ? 'yellow' : 'green';
}

/** Length says how much room is left; the colour only repeats it. */
export function bar(room: number): string {
  const filled = Math.round(Math.max(0, Math.min(1, room)) * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

function eventLines(frame: DemoFrame, { paint }: Canvas): string[] {
  const styles = { info: 'dim', good: 'green', warning: 'yellow', danger: 'red' } as const;
  const shown = frame.events
    .slice(-EVENT_LINES)
    .map((event) => `${paint('dim', clock(event.atMs))}  ${paint(styles[event.tone], event.text)}`);
  return [...shown, ...Array<string>(EVENT_LINES - shown.length).fill('')];
}

/** `2:05` */
function clock(durationMs: number): string {
  const total = Math.floor(durationMs / 1000);
  return `${Math.floor(total / 60)}:${String(total % 60).padStart(2, '0')}`;
}

function price(value: number): string {
  return value.toFixed(value >= 1000 ? 1 : value >= 1 ? 3 : 6);
}

export function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}

export function signedPercent(fraction: number): string {
  return `${fraction < 0 ? '' : '+'}${percent(fraction)}`;
}

/** `12.3 s` */
export function inSeconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

function pad(text: string, width: number, end = false): string {
  return end ? text.padStart(width) : text.padEnd(width);
}

/** Cuts a line to the terminal's width; colour sequences take no room and are all kept, so that they end. */
function clip(line: string, columns: number): string {
  if (stripVTControlCharacters(line).length <= columns) return line;
  let room = columns;
  return line
    .split(COLOUR)
    .map((part, index) => {
      if (index % 2 === 1) return part;
      const kept = part.slice(0, room);
      room -= kept.length;
      return kept;
    })
    .join('');
}

const ESCAPE = String.fromCharCode(27);
const COLOUR = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);
