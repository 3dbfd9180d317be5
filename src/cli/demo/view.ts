import { stripVTControlCharacters } from 'node:util';
import type { Style } from '../io.ts';

/**
 * Draws the demo's live table. Pure: what to show and how wide the terminal is come in, lines of text go out.
 */

/** A position as the client saw it last. */
export interface WatchedPosition {
  readonly kind: 'position';
  readonly accountId: string;
  readonly positionId: string;
  readonly market: string;
  readonly direction: 'long' | 'short' | '?';
  readonly size: string;
  readonly markPrice: number | undefined;
  /** `null`: the exchange says that there is none. */
  readonly liquidationPrice: number | null | undefined;
  /** Fraction of the mark price. */
  readonly distance: number | undefined;
  readonly state: string;
  readonly gone: boolean;
}

export interface WatchedLoan {
  readonly kind: 'loan';
  readonly accountId: string;
  readonly asset: string;
  /** Unix seconds; tells two loans in one asset apart. */
  readonly createdAt: number;
  readonly amount: string;
  /** LTVs in percent, as the exchange reports them. */
  readonly currentLtv: number | undefined;
  readonly marginCallLtv: number | undefined;
  readonly liquidationLtv: number | undefined;
  readonly gone: boolean;
}

export interface DemoMarket {
  readonly name: string;
  readonly last: number;
  readonly start: number;
  /** Recent prices, oldest first. */
  readonly history: readonly number[];
}

export interface DemoEvent {
  readonly atMs: number;
  readonly tone: 'info' | 'warning' | 'danger';
  readonly text: string;
}

export interface DemoFrame {
  readonly title: string;
  readonly baseUrl: string;
  readonly elapsedMs: number;
  readonly durationMs: number;
  readonly markets: readonly DemoMarket[];
  readonly rows: readonly (WatchedPosition | WatchedLoan)[];
  readonly events: readonly DemoEvent[];
  readonly reads: { readonly sent: number; readonly failed: number; readonly medianMs: number | undefined };
}

export interface Canvas {
  readonly columns: number;
  readonly paint: (style: Style, text: string) => string;
}

/** Distances beyond this fill the whole bar. */
const BAR_FULL_DISTANCE = 0.2;
const BAR_WIDTH = 20;
const EVENT_LINES = 6;
const SPARKS = '▁▂▃▄▅▆▇█';

export function renderFrame(frame: DemoFrame, canvas: Canvas): string[] {
  return [
    ...header(frame, canvas),
    '',
    ...frame.markets.map((market) => marketLine(market, canvas)),
    '',
    canvas.paint('bold', POSITION_COLUMNS.map(({ title, width, end }) => pad(title, width, end)).join(' ')),
    ...frame.rows.map((row) => (row.kind === 'position' ? positionLine(row, canvas) : loanLine(row, canvas))),
    '',
    ...eventLines(frame, canvas),
    '',
    footer(frame, canvas),
  ].map((line) => clip(line, canvas.columns));
}

function header(frame: DemoFrame, { paint, columns }: Canvas): string[] {
  const share = Math.min(1, frame.elapsedMs / frame.durationMs);
  const clock = `${seconds(frame.elapsedMs)} / ${seconds(frame.durationMs)}`;
  const width = Math.max(10, Math.min(60, columns - clock.length - 4));
  const done = Math.round(share * width);
  return [
    `${paint('bold', frame.title)}  ${paint('dim', frame.baseUrl)}`,
    `${paint('cyan', '━'.repeat(done))}${paint('dim', '─'.repeat(width - done))}  ${clock}`,
  ];
}

function marketLine(market: DemoMarket, { paint }: Canvas): string {
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

const POSITION_COLUMNS = [
  { title: 'ACCOUNT', width: 12, end: false },
  { title: 'WHAT', width: 9, end: false },
  { title: 'SIDE', width: 5, end: false },
  { title: 'SIZE', width: 10, end: true },
  { title: 'MARK', width: 11, end: true },
  { title: 'LIQUIDATION', width: 11, end: true },
  { title: 'AWAY', width: 8, end: true },
  { title: ' ROOM BEFORE LIQUIDATION', width: BAR_WIDTH + 1, end: false },
  { title: '', width: 11, end: false },
] as const;

function positionLine(row: WatchedPosition, { paint }: Canvas): string {
  const cells = [
    row.accountId,
    row.market,
    row.direction,
    row.size,
    row.markPrice === undefined ? '?' : price(row.markPrice),
    row.liquidationPrice === null ? 'none' : figure(row.liquidationPrice, price),
    row.liquidationPrice === null ? '∞' : figure(row.distance, percent),
  ].map((cell, index) =>
    pad(cell, POSITION_COLUMNS[index]?.width ?? 0, POSITION_COLUMNS[index]?.end ?? false),
  );
  if (row.gone) return paint('dim', [...cells.slice(0, 4), '  gone: closed or liquidated'].join(' '));
  if (isOnSafeSide(row)) {
    return [...cells, paint('dim', ` ${'liquidates the other way'.padEnd(BAR_WIDTH)}`), row.state].join(' ');
  }
  const style = dangerStyle(row.distance);
  const room = row.liquidationPrice === null ? 1 : (row.distance ?? 0) / BAR_FULL_DISTANCE;
  return [...cells, paint(style, ` ${bar(room)}`), paint(style, row.state)].join(' ');
}

/** The smaller leg of a hedged account: its price of liquidation lies where this leg earns. */
function isOnSafeSide({ distance, state }: WatchedPosition): boolean {
  return distance !== undefined && distance < 0 && state !== 'liquidation';
}

function figure(value: number | undefined, write: (value: number) => string): string {
  return value === undefined ? '?' : write(value);
}

function loanLine(row: WatchedLoan, { paint }: Canvas): string {
  const { currentLtv, marginCallLtv, liquidationLtv } = row;
  const cells = [pad(row.accountId, 12), pad(`${row.asset} loan`, 9), pad('', 5), pad(row.amount, 10, true)];
  if (row.gone) return paint('dim', [...cells, '  gone: repaid or liquidated'].join(' '));
  if (currentLtv === undefined || marginCallLtv === undefined || liquidationLtv === undefined) {
    return [...cells, '  LTV not reported'].join(' ');
  }
  const room = 1 - currentLtv / liquidationLtv;
  const style: Style =
    currentLtv >= marginCallLtv ? 'red' : currentLtv >= 0.9 * marginCallLtv ? 'yellow' : 'green';
  const state = currentLtv >= marginCallLtv ? 'margin call' : `call ${marginCallLtv} %`;
  return [
    ...cells,
    pad(`${currentLtv.toFixed(1)} %`, 11, true),
    pad(`${liquidationLtv} %`, 11, true),
    pad(percent(room), 8, true),
    paint(style, ` ${bar(room / (2 * BAR_FULL_DISTANCE))}`),
    paint(style, state),
  ].join(' ');
}

function dangerStyle(distance: number | undefined): Style {
  if (distance === undefined) return 'dim';
  if (distance < 0.03) return 'red';
  return distance < 0.08 ? 'yellow' : 'green';
}

/** Length says how much room is left; the colour only repeats it. */
export function bar(room: number): string {
  const filled = Math.round(Math.max(0, Math.min(1, room)) * BAR_WIDTH);
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
}

function eventLines(frame: DemoFrame, { paint }: Canvas): string[] {
  const styles = { info: 'dim', warning: 'yellow', danger: 'red' } as const;
  const shown = frame.events
    .slice(-EVENT_LINES)
    .map((event) => `${paint('dim', seconds(event.atMs))}  ${paint(styles[event.tone], event.text)}`);
  return [...shown, ...Array<string>(EVENT_LINES - shown.length).fill('')];
}

function footer(frame: DemoFrame, { paint }: Canvas): string {
  const { sent, failed, medianMs } = frame.reads;
  const latency = medianMs === undefined ? '' : `, median ${medianMs.toFixed(1)} ms`;
  return paint(
    'dim',
    `${sent} signed reads, ${failed} failed${latency}. Nothing protects these accounts yet. Ctrl-C ends.`,
  );
}

function seconds(durationMs: number): string {
  const total = Math.floor(durationMs / 1000);
  return `${Math.floor(total / 60)}:${String(total % 60).padStart(2, '0')}`;
}

function price(value: number): string {
  return value.toFixed(value >= 1000 ? 1 : value >= 1 ? 3 : 6);
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}

function signedPercent(fraction: number): string {
  return `${fraction < 0 ? '' : '+'}${percent(fraction)}`;
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
