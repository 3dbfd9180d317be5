import { type Decimal, formatDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { plain } from '../schemas.ts';
import type { LedgerDetail, LedgerEntry, LedgerFilter, LedgerKind } from './ledger-entry.ts';

/** One leg of an entry before it is written. */
export interface Leg {
  readonly book: string;
  readonly asset: string;
  readonly amount: Decimal;
}

type Plain = 'market' | 'orderId' | 'clientOrderId' | 'positionId' | 'side' | 'reason';

/** An entry before it is written: decimals become text, fields that are undefined are left out. */
export type EntryFields = { readonly [F in Plain]?: LedgerEntry[F] | undefined } & {
  readonly [F in 'amount' | 'price' | 'fee']?: Decimal;
} & {
  readonly accountId: string | null;
  readonly details?: Readonly<Record<string, LedgerDetail | Decimal | undefined>>;
};

export const BOOKS = {
  /** The other side of every fill. */
  counterparty: 'exchange:counterparty',
  fees: 'exchange:fees',
  funding: 'exchange:funding',
  /** Receives liquidation fees and covers negative balances. */
  insurance: 'exchange:insurance',
  lending: 'exchange:lending',
  outside: 'outside',
} as const;

/** About half a gigabyte of entries, twice that at most. */
const LEDGER_CAPACITY = 250_000;

/** The two legs that move `amount` of `asset` from one book to another. */
export function transfer(from: string, to: string, asset: string, amount: Decimal): readonly Leg[] {
  return [
    { book: from, asset, amount: ZERO.minus(amount) },
    { book: to, asset, amount },
  ];
}

/** Sums legs per book and asset and drops zero sums. */
function condense(legs: readonly Leg[]): readonly Leg[] {
  const sums = new Map<string, Leg>();
  for (const leg of legs) {
    const key = `${leg.book} ${leg.asset}`;
    const known = sums.get(key);
    sums.set(key, known === undefined ? leg : { ...leg, amount: known.amount.plus(leg.amount) });
  }
  return [...sums.values()].filter((leg) => !leg.amount.eq(ZERO));
}

function assertBalanced(kind: LedgerKind, legs: readonly Leg[]): void {
  const sums = new Map<string, Decimal>();
  for (const { asset, amount } of legs) sums.set(asset, (sums.get(asset) ?? ZERO).plus(amount));
  for (const [asset, sum] of sums) {
    if (!sum.eq(ZERO)) throw new RangeError(`${kind}: ${asset} is off balance by ${formatDecimal(sum)}`);
  }
}

/**
 * Double-entry journal, the only place where money moves. Every entry sums to zero in every asset. At least the newest
 * `capacity` entries are kept.
 */
export class Ledger {
  readonly #capacity: number;
  #entries: LedgerEntry[] = [];
  #nextSeq = 1;
  readonly #books = new Map<string, Map<string, Decimal>>();

  constructor(capacity: number = LEDGER_CAPACITY) {
    this.#capacity = Math.max(1, capacity);
  }

  /** Entries ever written, and how many of them were dropped. */
  get totals(): { readonly total: number; readonly dropped: number } {
    const total = this.#nextSeq - 1;
    return { total, dropped: total - this.#entries.length };
  }

  append(atMs: number, kind: LedgerKind, fields: EntryFields, legs: readonly Leg[] = []): LedgerEntry {
    const condensed = condense(legs);
    assertBalanced(kind, condensed);
    for (const leg of condensed) this.#post(leg);
    const entry = plain({ seq: this.#nextSeq, atMs, kind, ...fields, postings: condensed }) as LedgerEntry;
    this.#nextSeq += 1;
    this.#entries.push(entry);
    // Drops half at once: dropping one from the front costs as much as dropping many.
    if (this.#entries.length >= 2 * this.#capacity) this.#entries = this.#entries.slice(-this.#capacity);
    return entry;
  }

  balance(book: string, asset: string): Decimal {
    return this.#books.get(book)?.get(asset) ?? ZERO;
  }

  /** Non-zero balances of a book. */
  balances(book: string): ReadonlyMap<string, Decimal> {
    return this.#books.get(book) ?? new Map<string, Decimal>();
  }

  entries(filter: LedgerFilter = {}): readonly LedgerEntry[] {
    const { accountId, kinds, afterSeq = 0, limit = Number.POSITIVE_INFINITY } = filter;
    const found: LedgerEntry[] = [];
    for (
      let index = Math.max(0, afterSeq - this.totals.dropped);
      index < this.#entries.length && found.length < limit;
      index += 1
    ) {
      const entry = this.#entries[index];
      if (entry === undefined) break;
      const matches =
        (accountId === undefined || entry.accountId === accountId) &&
        (kinds === undefined || kinds.includes(entry.kind));
      if (matches) found.push(entry);
    }
    return found;
  }

  #post({ book, asset, amount }: Leg): void {
    const balances = this.#books.get(book) ?? new Map<string, Decimal>();
    const balance = (balances.get(asset) ?? ZERO).plus(amount);
    if (balance.eq(ZERO)) balances.delete(asset);
    else balances.set(asset, balance);
    if (balances.size === 0) this.#books.delete(book);
    else this.#books.set(book, balances);
  }
}
