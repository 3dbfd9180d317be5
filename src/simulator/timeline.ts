import type { Decimal } from '../core/quantities/decimal.ts';
import type { ExchangeClock } from './exchange-clock.ts';
import type { ExchangeModel } from './model/exchange-model.ts';

/** What one account's reads show, now or as of some time ago. */
export type AccountReads = ReturnType<typeof presentReads>;

/** The whole exchange as its reads showed it from `atMs` until the next one. */
interface PastState {
  readonly atMs: number;
  /** Of the model; the same shows the same, but for interest. */
  readonly revision: number;
  readonly accounts: ReadonlyMap<string, AccountReads>;
}

/** While reads lag, every leap of the clock is remembered in so many steps per shortest lag. */
const STEPS_PER_LAG = 8;
/** An exchange far behind its clock follows in leaps, and may stop between them. */
const LEAP_MS = 10_000;

/** Ties the model to the clock, and remembers the past while and as far as reads lag. */
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

  /** How old the states are that reads must show. The past starts with the first of them. */
  setAges(agesMs: readonly number[]): void {
    this.catchUp();
    const horizonMs = Math.max(0, ...agesMs);
    this.#horizonMs = horizonMs;
    this.#stepMs = Math.max(1, Math.ceil(Math.min(...agesMs) / STEPS_PER_LAG));
    if (horizonMs === 0) this.#past = [];
    else if (this.#past.length === 0) this.remember();
  }

  /** Brings the exchange up to the present, or as far as `mayGoOn` lets it; says whether it got there. */
  catchUp(mayGoOn: () => boolean = () => true): boolean {
    const toMs = this.#clock.nowMs();
    // What happened before the horizon is not shown to anybody any more.
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

  /** To be called after everything that changes what reads show. */
  remember(): void {
    this.revision.touch();
    this.#remember();
  }

  #remember(): void {
    if (this.#horizonMs === 0) return;
    const atMs = this.#model.nowMs();
    // One moment keeps its beginning and its end: a look further back than the past reaches shows the beginning.
    if (this.#past.at(-1)?.atMs === atMs && this.#past.at(-2)?.atMs === atMs) this.#past.pop();
    this.#past.push({ ...this.#present(), atMs });
    // The newest state that is at least as old as the horizon stays, and all younger ones.
    const first = this.#past.findLastIndex((past) => past.atMs <= atMs - this.#horizonMs);
    if (first > 0) this.#past.splice(0, first);
  }

  /** Most steps of a quiet market show what the one before showed. */
  #present(): Omit<PastState, 'atMs'> {
    const revision = this.revision.current();
    const last = this.#past.at(-1);
    // Interest grows with time alone.
    const grows = (reads: AccountReads): boolean => reads.creditLines().length > 0;
    if (last?.revision === revision && ![...last.accounts.values()].some(grows)) return last;
    const accounts = this.#model.accountIds().map((id) => [id, kept(presentReads(this.#model, id))] as const);
    return { revision, accounts: new Map(accounts) };
  }

  /** The past starts now; for accounts that did not exist before. */
  restart(): void {
    this.#past = [];
    this.remember();
  }

  /** The account as it was `ageMs` ago, or at the beginning of what is remembered; 0 for the present. */
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
    spotOrderHistory: (market?: string) => model.spotOrderHistory(id, market),
    creditLines: () => model.creditLines(id),
    mainBalance: () => model.mainBalance(id),
    transfers: () => model.transfers(id),
  };
}

/** What the reads show now, to be shown later. */
function kept(reads: AccountReads): AccountReads {
  const [positions, opening, orders] = [
    reads.openPositions(),
    reads.openingPositions(),
    reads.spotOrderHistory(),
  ];
  const [loans, balance, transfers] = [reads.creditLines(), reads.mainBalance(), reads.transfers()];
  const ofMarket = <T extends { readonly market: string }>(records: T[], market?: string) =>
    market === undefined ? records : records.filter((record) => record.market === market);
  return {
    openPositions: (market) => ofMarket(positions, market),
    openingPositions: (market) => ofMarket(opening, market),
    spotOrderHistory: (market) => ofMarket(orders, market),
    creditLines: () => loans,
    mainBalance: () => balance,
    transfers: () => transfers,
  };
}

/** A number that rises with everything that a read could show, except interest: that grows with time alone. */
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
