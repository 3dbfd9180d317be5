import { Revision } from './endpoints/revision.ts';
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

/** While reads lag, a leap of the clock is taken in so many steps per (shortest) lag, each of them remembered. */
const STEPS_PER_LAG = 8;
/** Far behind, the exchange follows its clock in leaps of so much, between which it may stop. */
const LEAP_MS = 10_000;

/**
 * Ties the model to the clock, and remembers the past as far as reads have to show it. Nothing is remembered
 * while no read lags: then the present costs nothing extra.
 */
export class Timeline {
  readonly #model: ExchangeModel;
  readonly #clock: ExchangeClock;
  readonly #revision: Revision;
  #horizonMs = 0;
  #stepMs = 1;
  #past: PastState[] = [];

  constructor(model: ExchangeModel, clock: ExchangeClock) {
    this.#model = model;
    this.#clock = clock;
    this.#revision = new Revision(model);
  }

  /** How old the states are that reads must be able to show; the past starts when there is first such an age. */
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
    this.#revision.touch();
    this.#remember();
  }

  #remember(): void {
    if (this.#horizonMs === 0) return;
    const atMs = this.#model.nowMs();
    // One moment keeps its beginning and its end: a look further back than the past reaches shows the beginning.
    if (this.#past.at(-1)?.atMs === atMs && this.#past.at(-2)?.atMs === atMs) this.#past.pop();
    this.#past.push({ atMs, ...this.#present() });
    this.#forget(atMs - this.#horizonMs);
  }

  /** Most steps of a quiet market show what the one before showed. */
  #present(): Omit<PastState, 'atMs'> {
    const revision = this.#revision.current();
    const last = this.#past.at(-1);
    if (last?.revision === revision && !hasLoans(last)) return { revision, accounts: last.accounts };
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

  /** Keeps the newest state that is at least as old as the horizon, and all younger ones. */
  #forget(beforeMs: number): void {
    const first = this.#past.findLastIndex((past) => past.atMs <= beforeMs);
    if (first > 0) this.#past.splice(0, first);
  }
}

/** Interest grows with time alone. */
function hasLoans({ accounts }: PastState): boolean {
  return [...accounts.values()].some((reads) => reads.creditLines().length > 0);
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
