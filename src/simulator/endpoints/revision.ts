import type { Decimal } from '../../core/quantities/decimal.ts';
import type { ExchangeModel } from '../model/exchange-model.ts';

/**
 * A number that rises whenever something happened that a read could show: an entry in the ledger, or another
 * price. Interest that only grows with time is the one thing that it does not see.
 */
export class Revision {
  readonly #model: ExchangeModel;
  #revision = 0;
  #seq = 0;
  #seenMs = Number.NaN;
  #prices: readonly Decimal[] = [];

  constructor(model: ExchangeModel) {
    this.#model = model;
  }

  /** Something changed that neither the ledger nor the prices show, such as a setting. */
  touch(): void {
    this.#revision += 1;
  }

  current(): number {
    const entries = this.#model.ledger({ afterSeq: this.#seq });
    const nowMs = this.#model.nowMs();
    // Prices change with time, or by hand, which the ledger shows.
    if (entries.length === 0 && nowMs === this.#seenMs) return this.#revision;
    this.#seenMs = nowMs;
    this.#seq = entries.at(-1)?.seq ?? this.#seq;
    const prices = this.#model.markets().flatMap((market) => [market.last, market.mark]);
    if (entries.length > 0 || !equal(prices, this.#prices)) this.#revision += 1;
    this.#prices = prices;
    return this.#revision;
  }
}

function equal(prices: readonly Decimal[], others: readonly Decimal[]): boolean {
  return prices.length === others.length && prices.every((price, index) => others[index]?.eq(price));
}
