import type { Decimal } from '../core/quantities/decimal.ts';
import type { ExchangeClock } from './exchange-clock.ts';
import type { ExchangeModel } from './model/exchange-model.ts';

/** The reads of one account, as of now or of some time ago. */
export type AccountReads = ReturnType<typeof presentReads>;

/** What reads of all accounts showed from `atMs` until the next state. */
interface PastState {
  readonly atMs: number;
  /** Revision of the model; equal revisions show the same, except for interest. */
  readonly revision: number;
  readonly accounts: ReadonlyMap<string, AccountReads>;
}

/** While reads lag, the past is remembered in this many steps per shortest lag. */
const STEPS_PER_LAG = 8;
/** An exchange far behind its clock catches up in leaps of this length, and may stop between them. */
const LEAP_MS = 10_000;

/** Advances the model with the clock, and remembers as much of the past as lagging reads need. */
export class Timeline {
  readonly #model: ExchangeModel;
  readonly #clock: ExchangeClock;
  readonly revision: Revision;
  #horizonMs = 0;
  #stepMs = 1;
  #past: PastState[] = [];

  constructor(model: ExchangeModel, clock: ExchangeClock) {
    this.#model = model;
    this.#clock = clock;
    this.revision = new Revision(model);
  }

  /** Sets the ages of the states that reads must show. The past is kept from the first call with an age. */
  setAges(agesMs: readonly number[]): void {
    this.catchUp();
    const horizonMs = Math.max(0, ...agesMs);
    this.#horizonMs = horizonMs;
    this.#stepMs = Math.max(1, Math.ceil(Math.min(...agesMs) / STEPS_PER_LAG));
    if (horizonMs === 0) this.#past = [];
    else if (this.#past.length === 0) this.remember();
  }

  /** Advances the exchange to the clock while `mayGoOn` allows; returns whether it got there. */
  catchUp(mayGoOn: () => boolean = () => true): boolean {
    const toMs = this.#clock.nowMs();
    // States before the horizon are never shown.
    const shownFromMs = this.#horizonMs > 0 ? toMs - this.#horizonMs - this.#stepMs : toMs;
    for (let atMs = this.#model.nowMs(); atMs < toMs; ) {
      const isShown = atMs >= shownFromMs;
      atMs = isShown ? Math.min(toMs, atMs + this.#stepMs) : Math.min(shownFromMs, atMs + LEAP_MS);
      this.#model.advanceTo(atMs);
      if (isShown) this.#remember();
      if (atMs < toMs && !mayGoOn()) {
        this.#remember();
        return false;
      }
    }
    return true;
  }

  /** Must be called after every change of what reads show. */
  remember(): void {
    this.revision.touch();
    this.#remember();
  }

  #remember(): void {
    if (this.#horizonMs === 0) return;
    const atMs = this.#model.nowMs();
    // Keeps the first and the last of several states of one moment: reads beyond the past show the first.
    if (this.#past.at(-1)?.atMs === atMs && this.#past.at(-2)?.atMs === atMs) this.#past.pop();
    this.#past.push({ ...this.#present(), atMs });
    // Keep the newest state that is at least as old as the horizon, and all younger ones.
    const first = this.#past.findLastIndex((past) => past.atMs <= atMs - this.#horizonMs);
    if (first > 0) this.#past.splice(0, first);
  }

  /** Returns the present state; reuses the last one if nothing changed, as in most steps of a quiet market. */
  #present(): Omit<PastState, 'atMs'> {
    const revision = this.revision.current();
    const last = this.#past.at(-1);
    // Interest grows with time, without a new revision.
    const grows = (reads: AccountReads): boolean => reads.creditLines().length > 0;
    if (last?.revision === revision && ![...last.accounts.values()].some(grows)) return last;
    const accounts = this.#model.accountIds().map((id) => [id, kept(presentReads(this.#model, id))] as const);
    return { revision, accounts: new Map(accounts) };
  }

  /** Restarts the past now, for accounts that did not exist before. */
  restart(): void {
    this.#past = [];
    this.remember();
  }

  /** Returns the account as it was `ageMs` ago, or at the start of the kept past; 0 for the present. */
  reads(accountId: string, ageMs: number): AccountReads {
    if (ageMs > 0) {
      const untilMs = this.#model.nowMs() - ageMs;
      const past = this.#past.findLast(({ atMs }) => atMs <= untilMs) ?? this.#past[0];
      const reads = past?.accounts.get(accountId);
      if (reads !== undefined) return reads;
    }
    return presentReads(this.#model, accountId);
  }
}

function presentReads(model: ExchangeModel, id: string) {
  return {
    openPositions: (market?: string) => model.openPositions(id, market),
    openingPositions: (market?: string) => model.openingPositions(id, market),
    orderHistory: (market?: string) => model.orderHistory(id, market),
    creditLines: () => model.creditLines(id),
    mainBalance: () => model.mainBalance(id),
    transfers: () => model.transfers(id),
  };
}

/** Copies what the reads show now, to show it later. */
function kept(reads: AccountReads): AccountReads {
  const always =
    <T>(value: T) =>
    () =>
      value;
  const byMarket = <T extends { readonly market: string }>(records: T[]) => {
    return (market?: string) =>
      market === undefined ? records : records.filter((record) => record.market === market);
  };
  return {
    openPositions: byMarket(reads.openPositions()),
    openingPositions: byMarket(reads.openingPositions()),
    orderHistory: byMarket(reads.orderHistory()),
    creditLines: always(reads.creditLines()),
    mainBalance: always(reads.mainBalance()),
    transfers: always(reads.transfers()),
  };
}

/** A number that rises with every change that a read could show, except interest, which grows with time alone. */
export class Revision {
  readonly #model: ExchangeModel;
  #revision = 0;
  #seq = 0;
  #seenMs = Number.NaN;
  #prices: readonly Decimal[] = [];

  constructor(model: ExchangeModel) {
    this.#model = model;
  }

  /** Marks a change that neither the ledger nor the prices show, such as a setting. */
  touch(): void {
    this.#revision += 1;
  }

  current(): number {
    const entries = this.#model.ledger({ afterSeq: this.#seq });
    const nowMs = this.#model.nowMs();
    // Prices change only with time, or by hand, which the ledger shows.
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
