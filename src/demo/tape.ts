import { type Decimal, toNumber } from '../core/quantities/decimal.ts';
import type { PriceSource } from '../simulator/prices/price-source.ts';

/** What a position can bear. */
export interface Bound {
  readonly accountId: string;
  readonly direction: 'long' | 'short';
  readonly liquidationPrice: Decimal;
}

export interface Breach {
  readonly accountId: string;
  readonly atMs: number;
}

/** Hears how far prices go, and when a position is nearer to its liquidation than `nearness`. */
export class Tape {
  readonly #nearness: number;
  readonly #bounds: () => Iterable<Bound>;
  readonly #near = new Set<string>();
  readonly breaches: Breach[] = [];
  lowest = Number.POSITIVE_INFINITY;
  highest = Number.NEGATIVE_INFINITY;

  constructor(nearness: number, bounds: () => Iterable<Bound>) {
    this.#nearness = nearness;
    this.#bounds = bounds;
  }

  /** The largest part of the way from `startPrice` to one of the bounds that the prices went; 1 is there. */
  wayTo(bounds: Iterable<Bound>, startPrice: number): number {
    let farthest = 0;
    for (const { direction, liquidationPrice } of bounds) {
      const extreme = direction === 'long' ? this.lowest : this.highest;
      farthest = Math.max(farthest, (extreme - startPrice) / (toNumber(liquidationPrice) - startPrice));
    }
    return farthest;
  }

  /** The same source, heard by the tape. */
  hear(source: PriceSource): PriceSource {
    return {
      nextMs: () => source.nextMs(),
      take: (last) => {
        const atMs = source.nextMs() ?? 0;
        const price = source.take(last);
        this.note(atMs, toNumber(price));
        return price;
      },
    };
  }

  note(atMs: number, price: number): void {
    this.lowest = Math.min(this.lowest, price);
    this.highest = Math.max(this.highest, price);
    for (const { accountId, direction, liquidationPrice } of this.#bounds()) {
      const away = (price - toNumber(liquidationPrice)) / price;
      const isNear = (direction === 'long' ? away : -away) < this.#nearness;
      if (isNear && !this.#near.has(accountId)) this.breaches.push({ accountId, atMs });
      if (isNear) this.#near.add(accountId);
      else this.#near.delete(accountId);
    }
  }
}
