import type { SourceName } from '../../core/fields/field-catalogue.ts';
import type { PositionList } from '../../core/ports/exchange.ts';
import { elapsedMs, type Instant, type SourceReading } from '../../core/quantities/snapshot.ts';
import type { NextDue } from '../../core/risk/cadence.ts';
import type { ReadFailure } from '../../core/view/stored-figures.ts';
import { Falls } from './falls.ts';

/** A reading, and the moment at which its age was `ageMs`. */
export interface KeptReading {
  readonly at: Instant;
  readonly reading: SourceReading<unknown>;
  /** When the reply arrived, by this process's monotonic clock; absent: another process read it. */
  readonly receivedMs?: number;
}

export interface ReadUnderWay {
  /** By the monotonic clock of this process. */
  readonly startedMs: number;
  /** Resolves when the reading is kept. */
  readonly ended: Promise<void>;
}

export type Kept = Partial<Record<SourceName, KeptReading>>;

interface AccountReads {
  readonly kept: Kept;
  /** Reads of the positions within the last seconds, oldest first: how the marks have moved. */
  recent: readonly KeptReading[];
  /** The readings that the last commit was based on. */
  taken: Readonly<Kept>;
  /** Oldest first. */
  readonly underWay: Map<SourceName, readonly ReadUnderWay[]>;
  /** Sources whose newest read failed. */
  failures: readonly ReadFailure[];
  abort: AbortController | undefined;
  /** Reads were aborted, and no read of the positions has arrived since. */
  isOvertaken: boolean;
  lastHistoryMs: number | undefined;
  isPressing: boolean;
}

const NOTHING_KEPT: Readonly<Kept> = {};
const NO_READS: readonly ReadUnderWay[] = [];
const NO_FAILURES: readonly ReadFailure[] = [];
/** As long as lanes remember marks. */
const RECENT_MS = 20_000;

/** This process's last good readings and its reads under way; only seldom-read sources are stored too. */
export class ReadMemory {
  readonly samePositions = new SamePositions();
  readonly falls = new Falls();
  readonly #accounts = new Map<string, AccountReads>();
  readonly #running = new Set<Promise<void>>();

  recall(accountId: string): Readonly<Kept> {
    return this.#accounts.get(accountId)?.kept ?? NOTHING_KEPT;
  }

  /** Keeps a reading, unless one that was sent later is already kept. */
  keep(accountId: string, source: SourceName, kept: KeptReading): void {
    const account = this.#of(accountId);
    const known = account.kept[source];
    if (known !== undefined && known.at.monotonicMs > kept.at.monotonicMs) return;
    account.kept[source] = kept;
    if (account.failures.length > 0) account.failures = without(account.failures, source);
    if (source !== 'positions') return;
    account.isOvertaken = false;
    if (kept.reading.kind === 'read') {
      const list = kept.reading.value as PositionList;
      this.samePositions.note(accountId, list);
      this.falls.note(accountId, list, kept.at.monotonicMs);
    }
    const sinceMs = kept.at.monotonicMs - RECENT_MS;
    account.recent = [...account.recent.filter(({ at }) => at.monotonicMs >= sinceMs), kept];
  }

  /** Notes that the read sent at `startedMs` failed, unless a later one has arrived. */
  fail(accountId: string, startedMs: number, failure: ReadFailure): void {
    const account = this.#of(accountId);
    const { source, error, httpStatus } = failure;
    const known = account.kept[source];
    if (known?.receivedMs !== undefined && known.at.monotonicMs > startedMs) return;
    const before = account.failures.find((one) => one.source === source);
    if (before?.error === error && before.httpStatus === httpStatus) return;
    account.failures = [...without(account.failures, source), failure];
  }

  failures(accountId: string): readonly ReadFailure[] {
    return this.#accounts.get(accountId)?.failures ?? NO_FAILURES;
  }

  recentPositions(accountId: string): readonly KeptReading[] {
    return this.#accounts.get(accountId)?.recent ?? [];
  }

  /** Whether a reading has arrived that no commit was based on yet, even after its poll has ended. */
  isNew(accountId: string, source: SourceName): boolean {
    const account = this.#accounts.get(accountId);
    return account !== undefined && account.kept[source] !== account.taken[source];
  }

  /**
   * Notes the readings behind a commit. They press if by them an order may have to leave by the next poll; an account
   * that pressed when it was last seen goes on to.
   */
  take(accountId: string, readings: Readonly<Kept>, { reason, isPressing }: NextDue): void {
    const account = this.#of(accountId);
    account.taken = readings;
    account.isPressing = isPressing === true || (reason === 'blind' && account.isPressing);
  }

  isPressing(accountId: string): boolean {
    return this.#accounts.get(accountId)?.isPressing === true;
  }

  /** Signal for an account's reads, aborted when one of our requests makes them worthless. */
  signalFor(accountId: string): AbortSignal {
    const account = this.#of(accountId);
    account.abort ??= new AbortController();
    return account.abort.signal;
  }

  /** Reads of that source still under way, including those of earlier polls, oldest first. */
  underWay(accountId: string, source: SourceName): readonly ReadUnderWay[] {
    return this.#accounts.get(accountId)?.underWay.get(source) ?? NO_READS;
  }

  track(accountId: string, source: SourceName, startedMs: number, read: Promise<void>): Promise<void> {
    const { underWay } = this.#of(accountId);
    const others = (): readonly ReadUnderWay[] =>
      (underWay.get(source) ?? NO_READS).filter((one) => one !== tracked);
    const ended = read.finally(() => underWay.set(source, others()));
    const tracked: ReadUnderWay = { startedMs, ended };
    underWay.set(source, [...others(), tracked]);
    this.settle(ended);
    return ended;
  }

  /** Adds work that `settled` waits for. */
  settle(work: Promise<void>): void {
    this.#running.add(work);
    const over = (): void => void this.#running.delete(work);
    work.then(over, over);
  }

  /** Resolves when no read, nor any work that follows from one, is under way. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** Aborts reads that delay an action; never twice in a row, or many markets would leave no read for seconds. */
  abortReads(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account === undefined || account.isOvertaken) return;
    account.isOvertaken = abortIn(account);
  }

  abortAll(): void {
    for (const account of this.#accounts.values()) abortIn(account);
  }

  /** Whether samples are wanted now; notes that they were taken. */
  takeHistoryTurn(accountId: string, nowMs: number, everyMs: number): boolean {
    const account = this.#of(accountId);
    const last = account.lastHistoryMs;
    if (last !== undefined && nowMs - last < everyMs) return false;
    account.lastHistoryMs = nowMs;
    return true;
  }

  forget(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account !== undefined) abortIn(account);
    this.samePositions.forget(accountId);
    this.falls.forget(accountId);
    this.#accounts.delete(accountId);
  }

  #of(accountId: string): AccountReads {
    const known = this.#accounts.get(accountId);
    if (known !== undefined) return known;
    const account: AccountReads = {
      kept: {},
      recent: [],
      taken: NOTHING_KEPT,
      underWay: new Map(),
      failures: NO_FAILURES,
      abort: undefined,
      isOvertaken: false,
      lastHistoryMs: undefined,
      isPressing: false,
    };
    this.#accounts.set(accountId, account);
    return account;
  }
}

function without(failures: readonly ReadFailure[], source: SourceName): readonly ReadFailure[] {
  return failures.filter((one) => one.source !== source);
}

/** Whether any read was under way. */
function abortIn(account: AccountReads): boolean {
  const { abort, underWay } = account;
  account.abort = undefined;
  const isReading = abort !== undefined && [...underWay.values()].some(({ length }) => length > 0);
  abort?.abort(OVERTAKEN);
  return isReading;
}

/** Shared: creating an error for each read would cost more than it tells. */
const OVERTAKEN = new Error('a request of ours overtook the read');

/** The same reading at a later moment: older by the time between. */
export function aged<T>(reading: SourceReading<T>, from: Instant, to: Instant): SourceReading<T> {
  return { ...reading, ageMs: reading.ageMs + elapsedMs(from, to) };
}

/** Finds accounts with the same positions (same id, market and open date): two keys of one exchange account. */
export class SamePositions {
  readonly #accounts = new Map<string, Set<string>>();
  readonly #shown = new Map<string, readonly string[]>();

  note(accountId: string, { records }: PositionList): void {
    this.forget(accountId);
    // Without a date the id is not enough: each account may count its own ids.
    const keys = records.flatMap(({ positionId, market, openDate }) =>
      openDate === undefined ? [] : [`${positionId} ${market} ${openDate}`],
    );
    this.#shown.set(accountId, keys);
    for (const key of keys) {
      const accounts = this.#accounts.get(key);
      if (accounts === undefined) this.#accounts.set(key, new Set([accountId]));
      else accounts.add(accountId);
    }
  }

  forget(accountId: string): void {
    for (const key of this.#shown.get(accountId) ?? []) {
      const accounts = this.#accounts.get(key);
      accounts?.delete(accountId);
      if (accounts?.size === 0) this.#accounts.delete(key);
    }
    this.#shown.delete(accountId);
  }

  /** Other accounts whose newest list shares a position with this account's newest list. */
  othersLike(accountId: string): readonly string[] {
    const others = new Set<string>();
    for (const key of this.#shown.get(accountId) ?? []) {
      for (const other of this.#accounts.get(key) ?? []) others.add(other);
    }
    others.delete(accountId);
    return [...others];
  }
}
