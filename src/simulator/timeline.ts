import type { Decimal } from '../core/quantities/decimal.ts';
import type { AccountReads } from './endpoints/parts.ts';
import { Revision } from './endpoints/revision.ts';
import type { ExchangeClock } from './exchange-clock.ts';
import type { ExchangeModel } from './model/exchange-model.ts';
import type { CreditLineView, OpeningSheet, OrderView, PositionSheet, TransferView } from './model/types.ts';

/** What the reads of one account showed at one time. */
interface AccountState {
  readonly positions: readonly PositionSheet[];
  readonly opening: readonly OpeningSheet[];
  readonly loans: readonly CreditLineView[];
  readonly balance: Readonly<Record<string, Decimal>>;
  readonly transfers: readonly TransferView[];
  readonly orders: readonly OrderView[];
}

/** The whole exchange as its reads showed it from `atMs` until the next one. */
interface PastState {
  readonly atMs: number;
  /** Of the model; the same shows the same, but for interest. */
  readonly revision: number;
  readonly accounts: ReadonlyMap<string, AccountState>;
}

/** While reads lag, a leap of the clock is taken in so many steps per (shortest) lag, each of them remembered. */
const STEPS_PER_LAG = 8;
/** Far behind, the exchange follows its clock in leaps of so much, between which it may stop. */
const LEAP_MS = 10_000;

function always(): boolean {
  return true;
}

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
  catchUp(mayGoOn: () => boolean = always): boolean {
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
    // Of one moment its beginning and its end are kept: who looks further back than anything is known sees the former.
    if (this.#past.at(-1)?.atMs === atMs && this.#past.at(-2)?.atMs === atMs) this.#past.pop();
    this.#past.push({ atMs, ...this.#present() });
    this.#forget(atMs - this.#horizonMs);
  }

  /** Most steps of a quiet market show what the one before showed. */
  #present(): Omit<PastState, 'atMs'> {
    const revision = this.#revision.current();
    const last = this.#past.at(-1);
    if (last?.revision === revision && !hasLoans(last)) return { revision, accounts: last.accounts };
    const accounts = this.#model.accountIds().map((id) => [id, stateOf(this.#model, id)] as const);
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
      const state = (this.#past.findLast((past) => past.atMs <= untilMs) ?? this.#past[0])?.accounts.get(
        accountId,
      );
      if (state !== undefined) return pastReads(state);
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
  return [...accounts.values()].some(({ loans }) => loans.length > 0);
}

function presentReads(model: ExchangeModel, accountId: string): AccountReads {
  return {
    openPositions: (market) => model.openPositions(accountId, market),
    openingPositions: (market) => model.openingPositions(accountId, market),
    creditLines: () => model.creditLines(accountId),
    mainBalance: () => model.mainBalance(accountId),
    transfers: () => model.transfers(accountId),
    spotOrderHistory: (market) => model.spotOrderHistory(accountId, market),
  };
}

function pastReads(state: AccountState): AccountReads {
  const ofMarket = <T extends { readonly market: string }>(records: readonly T[], market?: string) =>
    market === undefined ? records : records.filter((record) => record.market === market);
  return {
    openPositions: (market) => ofMarket(state.positions, market),
    openingPositions: (market) => ofMarket(state.opening, market),
    creditLines: () => state.loans,
    mainBalance: () => state.balance,
    transfers: () => state.transfers,
    spotOrderHistory: (market) => ofMarket(state.orders, market),
  };
}

function stateOf(model: ExchangeModel, accountId: string): AccountState {
  return {
    positions: model.openPositions(accountId),
    opening: model.openingPositions(accountId),
    loans: model.creditLines(accountId),
    balance: model.mainBalance(accountId),
    transfers: model.transfers(accountId),
    orders: model.spotOrderHistory(accountId),
  };
}
