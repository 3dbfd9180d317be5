import type { DemoCharacter } from './accounts.ts';
import type { Demo } from './open-demo.ts';
import { remarkOn } from './remarks.ts';
import type { DemoEvent, DemoFrame, DemoRow, WatchedSide } from './view.ts';

const HISTORY_POINTS = 48;

/** What a frame shows, taken from the exchange itself and not from what the daemon believes. */
export class Watcher {
  readonly #demo: Demo;
  readonly #durationMs: number;
  readonly #startMs = performance.now();
  readonly #events: DemoEvent[] = [];
  readonly #history: number[] = [];
  #startPrice: number | undefined;
  #lastSeq = 0;
  #alertsTold = 0;

  constructor(demo: Demo, durationMs: number) {
    this.#demo = demo;
    this.#durationMs = durationMs;
    // What was before the beginning is no news.
    this.#lastSeq = demo.ledger(0).at(-1)?.seq ?? 0;
    this.#alertsTold = 0;
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
      const remark = remarkOn(entry);
      if (remark !== undefined) this.#events.push({ atMs, ...remark });
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
      rows: this.#demo.characters.map((character) => this.#row(character)),
      events: this.#events,
    };
  }

  /** One line for logs. */
  line(): string {
    const { market, rows } = this.frame();
    const change = 100 * (market.last / market.start - 1);
    const nearest = rows
      .flatMap(({ about, protectedSide: { distance } }) =>
        distance === undefined ? [] : [{ about, distance }],
      )
      .sort((a, b) => a.distance - b.distance)[0];
    const danger =
      nearest === undefined
        ? 'no position is open'
        : `nearest to liquidation: ${nearest.about}, ${(100 * nearest.distance).toFixed(1)} %`;
    const signed = `${change < 0 ? '' : '+'}${change.toFixed(1)}`;
    return `${(this.elapsedMs / 1000).toFixed(1).padStart(6)} s  ${market.name} ${market.last} (${signed} %)  ${danger}`;
  }

  #row({ id, about }: DemoCharacter): DemoRow {
    return { about, protectedSide: this.#side(id), twinSide: this.#side(`${id}-twin`) };
  }

  #side(id: string): WatchedSide {
    const { positions, creditLines, wasLiquidated } = this.#demo.account(id);
    const [creditLine] = creditLines;
    if (creditLine !== undefined) {
      const ltv = Number(creditLine.currentLtv.toString());
      const limit = Number(creditLine.marginCallLtv.toString());
      return {
        size: `${(100 * ltv).toFixed(1)} % LTV`,
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

/** A sleep that ends early, without an error, when the demo does. */
export function delay(delayMs: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      ended.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    ended.addEventListener('abort', done, { once: true });
    if (ended.aborted) done();
  });
}
