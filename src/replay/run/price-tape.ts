import { toNumber } from '../../core/quantities/decimal.ts';
import type { PriceSource } from '../../simulator/prices/price-source.ts';

/** A price beyond which an account is in breach of one of its rules. */
export interface Barrier {
  readonly market: string;
  /** A long is in breach below the price, a short above it. */
  readonly side: 'long' | 'short';
  readonly price: number;
}

/** A span in which the price was beyond a barrier of an account; Unix milliseconds. */
export interface PriceBreach {
  readonly fromMs: number;
  /** Absent: it is not over. */
  toMs?: number;
}

interface GuardedAccount {
  readonly barriers: readonly Barrier[];
  readonly breaches: PriceBreach[];
}

/** An order may fill after the price has come back. */
const ANSWERED_WITHIN_MS = 60_000;

/** Records every price on its way into the market, and since when accounts are in breach. */
export class PriceTape {
  /** By market. */
  readonly prices: Record<string, [atMs: number, price: number][]> = {};
  readonly #accounts = new Map<string, GuardedAccount>();

  hear(market: string, source: PriceSource): PriceSource {
    const prices: [number, number][] = [];
    this.prices[market] = prices;
    return {
      nextMs: () => source.nextMs(),
      take: (last) => {
        const atMs = source.nextMs() ?? 0;
        const taken = source.take(last);
        const price = toNumber(taken);
        if (prices.at(-1)?.[1] !== price) prices.push([atMs, price]);
        this.#judge(market, atMs, price);
        return taken;
      },
    };
  }

  last(market: string): number | undefined {
    return this.prices[market]?.at(-1)?.[1];
  }

  /** The breach that a fill at this moment answers: an open one, or one that has just ended. */
  breachBefore(accountId: string, atMs: number): PriceBreach | undefined {
    const breach = this.#accounts.get(accountId)?.breaches.findLast(({ fromMs }) => fromMs <= atMs);
    return breach !== undefined && atMs - (breach.toMs ?? atMs) <= ANSWERED_WITHIN_MS ? breach : undefined;
  }

  /** Barriers move with every fill and, under cross margin, with other markets. */
  setBarriers(accountId: string, barriers: readonly Barrier[], atMs: number): void {
    const account = { barriers, breaches: this.#accounts.get(accountId)?.breaches ?? [] };
    this.#accounts.set(accountId, account);
    this.#update(account, atMs);
  }

  #judge(market: string, atMs: number, price: number): void {
    for (const account of this.#accounts.values()) {
      const { barriers, breaches } = account;
      const isConcerned = barriers.some((barrier) => barrier.market === market && isBeyond(barrier, price));
      if (isConcerned || openBreach(breaches) !== undefined) this.#update(account, atMs);
    }
  }

  #update({ barriers, breaches }: GuardedAccount, atMs: number): void {
    const isInBreach = barriers.some((barrier) => {
      const price = this.last(barrier.market);
      return price !== undefined && isBeyond(barrier, price);
    });
    const open = openBreach(breaches);
    if (isInBreach && open === undefined) breaches.push({ fromMs: atMs });
    else if (!isInBreach && open !== undefined) open.toMs = atMs;
  }
}

function openBreach(breaches: readonly PriceBreach[]): PriceBreach | undefined {
  const last = breaches.at(-1);
  return last?.toMs === undefined ? last : undefined;
}

function isBeyond({ side, price: barrier }: Barrier, price: number): boolean {
  return side === 'long' ? price < barrier : price > barrier;
}
