import type { Style } from '../cli/io.ts';
import type { LedgerEntry } from '../simulator/model/ledger-entry.ts';
import { CURRENCY, LEVERAGE, PERPETUAL } from './accounts.ts';
import { FIRES_BELOW } from './config.ts';
import { type DemoSide, type DemoSides, keptMore } from './result.ts';
import { clock, coins, money, percent, price, signedMoney, signedPercent, wrapped } from './words.ts';

/** Draws the demo's live picture. Pure: takes the content and the terminal's size, returns lines of text. */

export interface DemoEvent {
  readonly atMs: number;
  readonly tone: 'info' | 'good' | 'warning' | 'danger';
  readonly text: string;
}

export interface DemoFrame extends DemoSides {
  /** Real time. */
  readonly elapsedMs: number;
  readonly durationMs: number;
  readonly speed: number;
  readonly price: number;
  readonly startPrice: number;
  /** Oldest first. */
  readonly events: readonly DemoEvent[];
}

export interface Canvas {
  readonly columns: number;
  readonly rows: number;
  readonly paint: (style: Style, text: string) => string;
}

/** The picture needs this much room. It uses at most `WIDEST` columns, to stay easy to read. */
export const SMALLEST = { columns: 80, rows: 24 };
const WIDEST = 100;
const LABEL_WIDTH = 18;
const TIME_WIDTH = 6;

export function renderFrame(frame: DemoFrame, given: Canvas): string[] {
  const canvas = { ...given, columns: Math.min(given.columns, WIDEST) };
  const { paint } = canvas;
  const above = [
    paint('bold', 'Breakwater demo: two equal accounts in a crash, one of them protected'),
    progressLine(frame, canvas),
    marketLine(frame, canvas),
    '',
    ...sideLines('PROTECTED', frame.protectedSide, canvas),
    '',
    ...sideLines('NOT PROTECTED', frame.twin, canvas),
    '',
    `${pad('KEPT MORE')}${paint('bold', signedMoney(keptMore(frame)))}, by the exchange's own ledger`,
    '',
  ];
  const below = [paint('dim', 'The bar fills towards liquidation. Ctrl-C ends.')];
  // The terminal's last row stays free for the cursor.
  const room = canvas.rows - 1 - above.length - below.length;
  return [...above, ...eventLines(frame.events, room, canvas), ...below];
}

function progressLine({ elapsedMs, durationMs, speed }: DemoFrame, { paint, columns }: Canvas): string {
  const words = `  ${clock(elapsedMs)} of ${clock(durationMs)}, ${speed} times as fast as life`;
  const width = columns - words.length;
  const done = Math.round(Math.min(1, elapsedMs / durationMs) * width);
  return `${paint('cyan', '━'.repeat(done))}${paint('dim', '─'.repeat(width - done))}${words}`;
}

function marketLine({ price: last, startPrice }: DemoFrame, { paint }: Canvas): string {
  const change = last / startPrice - 1;
  return `${pad(PERPETUAL)}${price(last)} ${CURRENCY}  ${paint(change < 0 ? 'red' : 'green', signedPercent(change))}`;
}

function sideLines(name: string, side: DemoSide, { paint, columns }: Canvas): string[] {
  const { amount, amountBefore, equityBefore, equity, change, ordersPlaced, closedByOrders } = side;
  const taken = side.wasLiquidated ? paint('red', `, ${coins(side.takenByExchange)} liquidated`) : '';
  const [open] = side.openOrders;
  const orders = open === undefined ? 'none open' : `open: ${open}`;
  return [
    `${paint('bold', pad(name))}long at ${LEVERAGE}x, ${coins(amount)} of ${coins(amountBefore)}${taken}`,
    `${pad('  to liquidation')}${distanceCells(side, columns - LABEL_WIDTH, paint)}`,
    `${pad('  orders')}${ordersPlaced} placed, ${coins(closedByOrders)} closed, ${orders}`,
    `${pad('  money')}${money(equityBefore)} before, ${money(equity)} now: ${paint('bold', signedMoney(change))}`,
  ];
}

const FIGURE_WIDTH = 9;
const STATE_WIDTH = 13;

function distanceCells(side: DemoSide, columns: number, paint: Canvas['paint']): string {
  const used = usedUp(side);
  const style: Style = used > 1 - FIRES_BELOW / BAR_END ? 'red' : 'green';
  const width = columns - FIGURE_WIDTH - STATE_WIDTH;
  const figure = side.distance === null ? '' : percent(side.distance);
  return `${figure.padEnd(FIGURE_WIDTH)}${paint(style, bar(used, width))}  ${paint(style, stateWords(side))}`;
}

function stateWords({ state, distance, wasLiquidated }: DemoSide): string {
  if (distance === null) return wasLiquidated ? 'liquidated' : 'closed';
  return state.replace('_', ' ');
}

/** The distance from which the bar is empty, as on the page for a rule that fires at 5 %. */
const BAR_END = 0.15;

/** How much of the way to liquidation is used up: 0 is far away, 1 is there. */
export function usedUp({ distance, wasLiquidated }: Pick<DemoSide, 'distance' | 'wasLiquidated'>): number {
  if (distance === null) return wasLiquidated ? 1 : 0;
  return 1 - Math.max(0, Math.min(1, distance / BAR_END));
}

export function bar(part: number, width: number): string {
  const filled = Math.round(part * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

const STYLES = { info: 'dim', good: 'green', warning: 'yellow', danger: 'red' } as const;

/** The latest events that fit, each whole; always the same number of lines. */
function eventLines(events: readonly DemoEvent[], room: number, { paint, columns }: Canvas): string[] {
  const lines: string[] = [];
  for (const { atMs, tone, text } of events.toReversed()) {
    const added = wrapped(text, columns - TIME_WIDTH).map((line, index) => {
      const time = (index === 0 ? clock(atMs) : '').padEnd(TIME_WIDTH);
      return `${paint('dim', time)}${paint(STYLES[tone], line)}`;
    });
    if (added.length + lines.length > room) break;
    lines.unshift(...added);
  }
  return [...lines, ...Array<string>(room - lines.length).fill('')];
}

function pad(text: string): string {
  return text.padEnd(LABEL_WIDTH);
}

interface Remark {
  readonly tone: DemoEvent['tone'];
  readonly words: (entry: LedgerEntry) => string;
  /** Shown only the first time per account: a liquidation has dozens of these entries. */
  readonly once?: boolean;
}

/** Kinds of ledger entries that interest a person; most do not. */
const REMARKS: { readonly [kind in LedgerEntry['kind']]?: Remark } = {
  order_placed: {
    tone: 'info',
    words: ({ side = '', amount = '', price = '', details }) =>
      `places a reduce-only stop: ${side} ${amount} once the price is ${details?.['activationPrice'] ?? '?'}, limit ${price}`,
  },
  fill: {
    tone: 'good',
    words: ({ side = '', amount = '', price = '' }) => `${side} ${amount} filled at ${price}`,
  },
  margin_call: { tone: 'warning', words: () => 'the exchange calls margin', once: true },
  liquidation: {
    tone: 'danger',
    words: ({ amount = '', price = '' }) => `LIQUIDATION begins: the exchange takes ${amount} at ${price}`,
    once: true,
  },
};

/** Turns ledger entries and the daemon's alerts into events; remembers what was shown. */
export class Remarks {
  /** Oldest first. */
  readonly events: DemoEvent[] = [];
  readonly #told = new Set<string>();
  #alertsTold = 0;

  /** @param alerts all so far @param entries only new ones */
  take(atMs: number, alerts: readonly string[], entries: readonly LedgerEntry[]): void {
    for (const text of alerts.slice(this.#alertsTold)) {
      this.events.push({ atMs, tone: 'warning', text: `Breakwater says: ${text}` });
    }
    this.#alertsTold = alerts.length;
    for (const entry of entries) {
      const remark = REMARKS[entry.kind];
      if (remark === undefined || entry.accountId === null) continue;
      const key = `${entry.accountId} ${entry.kind}`;
      if (remark.once === true && this.#told.has(key)) continue;
      this.#told.add(key);
      this.events.push({ atMs, tone: remark.tone, text: `${entry.accountId}: ${remark.words(entry)}` });
    }
  }
}
