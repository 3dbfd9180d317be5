import type { Clock } from '../core/ports/clock.ts';
import type { GuardedExchange, LastPrices, PositionList } from '../core/ports/exchange.ts';
import type { ExchangeClient } from './client.ts';

type PriceClient = Pick<ExchangeClient, 'lastPrices' | 'close'>;

/** The exchange keeps its reply for a second. */
const LEAST_INTERVAL_MS = 500;
/** Most requests under way, however slow their replies. */
const MOST_UNDER_WAY = 8;
/** Pause after a failure; it doubles up to the longest, as for an address that does not have these prices. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 300_000;

/** Reads the last prices of all markets for many accounts. Nothing waits for them, and nothing depends on them. */
export class LastPriceReader {
  readonly #client: PriceClient;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #closing = new AbortController();
  #newest: { readonly sentAtMs: number; readonly prices: LastPrices } | undefined;
  #underWay = 0;
  #nextMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(client: PriceClient, clock: Pick<Clock, 'monotonicMs'>) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Asks in the background, unless it did a moment ago. */
  refresh(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#nextMs || this.#underWay >= MOST_UNDER_WAY || this.#closing.signal.aborted) return;
    this.#nextMs = nowMs + LEAST_INTERVAL_MS;
    void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#underWay += 1;
    const outcome = await this.#client.lastPrices({ signal: this.#closing.signal }).catch(() => undefined);
    this.#underWay -= 1;
    if (outcome?.kind !== 'ok') return this.#pause();
    this.#pauseMs = FIRST_PAUSE_MS;
    const { sentAtMs } = outcome.timing;
    if (sentAtMs >= (this.#newest?.sentAtMs ?? sentAtMs)) this.#newest = { sentAtMs, prices: outcome.value };
  }

  #pause(): void {
    const nowMs = this.#clock.monotonicMs();
    // Requests that fail together count once.
    if (nowMs < this.#pausedUntilMs) return;
    this.#pausedUntilMs = nowMs + this.#pauseMs;
    this.#nextMs = this.#pausedUntilMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  /** Adds the newest prices of its markets to a list that was asked for at `sentAtMs`. */
  added(list: PositionList, sentAtMs: number): PositionList {
    const newest = this.#newest;
    if (newest === undefined) return list;
    const prices = Object.fromEntries(
      list.records.flatMap(({ market }) => {
        const price = Object.hasOwn(newest.prices, market) ? newest.prices[market] : undefined;
        return price === undefined ? [] : [[market, price]];
      }),
    ) as LastPrices;
    return { ...list, lastPrices: { sentBeforeMs: sentAtMs - newest.sentAtMs, prices } };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#client.close();
  }
}

/** Adds last prices to lists of positions, where the exchange shows them. */
export function withLastPrices(
  exchange: GuardedExchange,
  reader: Pick<LastPriceReader, 'refresh' | 'added'>,
): GuardedExchange {
  const openPositions: GuardedExchange['openPositions'] = async (query, options) => {
    reader.refresh();
    const outcome = await exchange.openPositions(query, options);
    if (outcome.kind === 'failed') return outcome;
    return { ...outcome, value: reader.added(outcome.value, outcome.timing.sentAtMs) };
  };
  const wrapped = { ...exchange, openPositions: Object.freeze(openPositions) };
  return Object.freeze(Object.assign(Object.create(null) as object, wrapped));
}
