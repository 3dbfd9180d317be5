import { twinOf } from './accounts.ts';
import type { Demo } from './open-demo.ts';
import {
  type DemoEvent,
  type DemoFrame,
  inSeconds,
  percent,
  signedPercent,
  type WatchedSide,
} from './view.ts';

const HISTORY_POINTS = 48;

type LedgerEntry = ReturnType<Demo['ledger']>[number];
type Remark = readonly [tone: DemoEvent['tone'], words: (entry: LedgerEntry) => string];

/** Entries of the exchange's ledger that a person would want to hear of; most are not worth a word. */
const REMARKS: { readonly [kind in LedgerEntry['kind']]?: Remark } = {
  order_placed: [
    'info',
    ({ side = '', amount = '', price = '' }) => `reduce-only stop to ${side} ${amount} at ${price} or better`,
  ],
  fill: ['good', ({ side = '', amount = '', price = '' }) => `${side} ${amount} at ${price}`],
  margin_call: ['warning', () => 'margin call'],
  liquidation: ['danger', ({ amount = '', price = '' }) => `LIQUIDATED ${amount} at ${price}`],
  loan_margin_call: ['warning', () => 'margin call of its credit line'],
  loan_liquidation: ['danger', () => 'collateral of its credit line sold'],
};

/** What a frame shows, taken from the exchange itself and not from what the daemon believes. */
export class Watcher {
  readonly #demo: Demo;
  readonly #durationMs: number;
  readonly #startMs = performance.now();
  readonly #events: DemoEvent[] = [];
  readonly #history: number[] = [];
  #startPrice: number | undefined;
  #lastSeq: number;
  #alertsTold = 0;

  constructor(demo: Demo, durationMs: number) {
    this.#demo = demo;
    this.#durationMs = durationMs;
    // What was before the beginning is no news.
    this.#lastSeq = demo.ledger(0).at(-1)?.seq ?? 0;
  }

  /** Takes in what has happened since the last time. */
  look(): void {
    const price = this.#demo.price();
    this.#startPrice ??= price;
    this.#history.push(price);
    if (this.#history.length > HISTORY_POINTS) this.#history.shift();
    const atMs = this.elapsedMs;
    for (const entry of this.#demo.ledger(this.#lastSeq)) {
      this.#lastSeq = entry.seq;
      const [tone, words] = REMARKS[entry.kind] ?? [];
      if (entry.accountId === null || tone === undefined || words === undefined) continue;
      this.#events.push({ atMs, tone, text: `${entry.accountId}: ${words(entry)}` });
    }
    const alerts = this.#demo.alerts();
    for (const text of alerts.slice(this.#alertsTold))
      this.#events.push({ atMs, tone: 'warning', text: `alert: ${text}` });
    this.#alertsTold = alerts.length;
  }

  /** Since the beginning, milliseconds of real time. */
  get elapsedMs(): number {
    return Math.min(performance.now() - this.#startMs, this.#durationMs);
  }

  /** Oldest first. */
  get events(): readonly DemoEvent[] {
    return this.#events;
  }

  frame(): DemoFrame {
    const last = this.#history.at(-1) ?? this.#demo.price();
    return {
      title: 'Breakwater demo',
      about: this.#demo.about,
      baseUrl: this.#demo.baseUrl,
      speed: this.#demo.speed,
      elapsedMs: this.elapsedMs,
      durationMs: this.#durationMs,
      market: { name: 'BTC_PERP', last, start: this.#startPrice ?? last, history: this.#history },
      rows: this.#demo.characters.map(({ id, about }) => ({
        about,
        protectedSide: this.#side(id),
        twinSide: this.#side(twinOf(id)),
      })),
      events: this.#events,
    };
  }

  /** One line for logs. */
  line(): string {
    const { market, rows } = this.frame();
    const change = signedPercent(market.last / market.start - 1);
    const nearest = rows
      .flatMap(({ about, protectedSide: { distance } }) =>
        distance === undefined ? [] : [{ about, distance }],
      )
      .sort((a, b) => a.distance - b.distance)[0];
    const danger =
      nearest === undefined
        ? 'no position is open'
        : `nearest to liquidation: ${nearest.about}, ${percent(nearest.distance)}`;
    return `${inSeconds(this.elapsedMs).padStart(8)}  ${market.name} ${market.last} (${change})  ${danger}`;
  }

  #side(id: string): WatchedSide {
    const { positions, creditLines, wasLiquidated } = this.#demo.account(id);
    const [creditLine] = creditLines;
    if (creditLine !== undefined) {
      const ltv = Number(creditLine.currentLtv.toString());
      const limit = Number(creditLine.marginCallLtv.toString());
      return {
        size: `${percent(ltv)} LTV`,
        distance: limit - ltv,
        state: creditLine.state ?? 'ok',
        wasLiquidated,
      };
    }
    const size = positions.map(({ amount }) => amount.toString()).join(' / ');
    const distances = positions.flatMap(({ direction, liquidationPrice, markPrice }) => {
      if (liquidationPrice === null) return [];
      const away = 1 - Number(liquidationPrice.toString()) / Number(markPrice.toString());
      const distance = direction === 'long' ? away : -away;
      // The other leg of a hedge: its price of liquidation lies where it earns.
      return distance < 0 && positions.length > 1 ? [] : [distance];
    });
    return {
      size: size === '' ? 'closed' : size,
      ...(distances.length === 0 ? {} : { distance: Math.min(...distances) }),
      state: positions.find(({ liquidationState }) => liquidationState !== null)?.liquidationState ?? 'ok',
      wasLiquidated,
    };
  }
}
