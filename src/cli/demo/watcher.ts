import type { DemoExchange } from '../../app.ts';
import type { ReadOutcome } from '../../core/ports/exchange.ts';
import type { DemoEvent, DemoFrame, DemoMarket, WatchedPosition } from './view.ts';
import { loanRows, positionRows, remarks, type WatchedRow } from './watch.ts';

const READ_EVERY_MS = 400;
const HISTORY_POINTS = 48;
const LATENCIES_KEPT = 200;

/** Reads every account of the demo again and again, and keeps what a frame shows. */
export class Watcher {
  readonly #demo: DemoExchange;
  readonly #title: string;
  readonly #durationMs: number;
  readonly #startMs = performance.now();
  #rows: readonly WatchedRow[] = [];
  readonly #events: DemoEvent[] = [];
  readonly #prices = new Map<string, { start: number; history: number[] }>();
  readonly #latenciesMs: number[] = [];
  #sent = 0;
  #failed = 0;

  constructor(demo: DemoExchange, about: { readonly title: string; readonly durationMs: number }) {
    this.#demo = demo;
    this.#title = about.title;
    this.#durationMs = about.durationMs;
  }

  /** Returns when `ended` is aborted and the reads under way have come back. */
  async run(ended: AbortSignal): Promise<void> {
    this.#samplePrices();
    while (!ended.aborted) {
      const next = delay(READ_EVERY_MS, ended);
      await Promise.all(this.#demo.clients.map((client) => this.#readAccount(client, ended)));
      this.#samplePrices();
      await next;
    }
  }

  frame(): DemoFrame {
    return {
      title: this.#title,
      baseUrl: this.#demo.baseUrl,
      elapsedMs: Math.min(this.#elapsedMs(), this.#durationMs),
      durationMs: this.#durationMs,
      markets: this.#markets(),
      rows: this.#rows,
      events: this.#events,
      reads: { sent: this.#sent, failed: this.#failed, medianMs: median(this.#latenciesMs) },
    };
  }

  /** One line for logs. */
  line(): string {
    const prices = this.#markets().map(({ name, last, start }) => {
      const change = 100 * (last / start - 1);
      return `${name} ${last} (${change < 0 ? '' : '+'}${change.toFixed(1)} %)`;
    });
    const nearest = this.#rows
      .flatMap((row) => (row.kind === 'position' && isInDanger(row) ? [row] : []))
      .sort((a, b) => (a.distance ?? 0) - (b.distance ?? 0))[0];
    const danger =
      nearest === undefined
        ? 'no position is open'
        : `nearest to liquidation: ${nearest.accountId} ${nearest.market} ${(100 * (nearest.distance ?? 0)).toFixed(1)} %`;
    return `${(this.#elapsedMs() / 1000).toFixed(1).padStart(6)} s  ${prices.join('  ')}  ${danger}`;
  }

  async #readAccount(client: DemoExchange['clients'][number], signal: AbortSignal): Promise<void> {
    const { id, exchange } = client;
    const [positions, loans] = await Promise.all([
      exchange.openPositions({}, { signal }),
      exchange.creditLines({ signal }),
    ]);
    // A read that was cut off by the end says nothing about the exchange.
    if (signal.aborted) return;
    this.#count(positions);
    this.#count(loans);
    const before = this.#rows;
    this.#rows = loanRows(id, positionRows(id, before, positions), loans);
    this.#events.push(...remarks(before, this.#rows, this.#elapsedMs()));
  }

  #count(outcome: ReadOutcome<unknown>): void {
    this.#sent += 1;
    if (outcome.kind === 'failed') {
      this.#failed += 1;
      this.#events.push({
        atMs: this.#elapsedMs(),
        tone: 'warning',
        text: `read failed: ${outcome.error.message}`,
      });
      return;
    }
    this.#latenciesMs.push(outcome.timing.receivedAtMs - outcome.timing.sentAtMs);
    if (this.#latenciesMs.length > LATENCIES_KEPT) this.#latenciesMs.shift();
  }

  #samplePrices(): void {
    for (const { name, last } of this.#demo.markets()) {
      const seen = this.#prices.get(name) ?? { start: last, history: [] };
      seen.history.push(last);
      if (seen.history.length > HISTORY_POINTS) seen.history.shift();
      this.#prices.set(name, seen);
    }
  }

  #markets(): DemoMarket[] {
    return [...this.#prices].map(([name, { start, history }]) => ({
      name,
      start,
      last: history.at(-1) ?? start,
      history,
    }));
  }

  #elapsedMs(): number {
    return performance.now() - this.#startMs;
  }
}

/** Not the leg of a hedged account that liquidates on the other side: it would always look nearest. */
function isInDanger({ gone, distance, state }: WatchedPosition): boolean {
  return !gone && distance !== undefined && (distance >= 0 || state === 'liquidation');
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
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
