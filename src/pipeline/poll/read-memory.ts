import type { SourceName } from '../../core/fields/field-catalogue.ts';
import type { PositionList } from '../../core/ports/exchange.ts';
import { elapsedMs, type Instant, type SourceReading } from '../../core/quantities/snapshot.ts';
import type { ReadFailure } from '../../core/view/stored-figures.ts';
import { Falls } from './falls.ts';
import { SamePositions } from './same-positions.ts';

/** A reading with the moment at which its age was what it says. */
export interface KeptReading {
  readonly at: Instant;
  readonly reading: SourceReading<unknown>;
  /** When its reply came, by the monotonic clock of this process; absent: another process read it. */
  readonly receivedMs?: number;
}

export interface ReadUnderWay {
  /** By the monotonic clock of this process. */
  readonly startedMs: number;
  /** Resolves when it is kept. */
  readonly ended: Promise<void>;
}

export type Kept = Partial<Record<SourceName, KeptReading>>;

interface AccountReads {
  readonly kept: Kept;
  /** The reads of the positions of the last seconds, the newest last: how the marks have moved. */
  recent: readonly KeptReading[];
  /** What the last commit was decided with. */
  taken: Readonly<Kept>;
  /** Oldest first. */
  readonly underWay: Map<SourceName, readonly ReadUnderWay[]>;
  /** Sources whose newest read failed. */
  failures: readonly ReadFailure[];
  abort: AbortController | undefined;
  /** Reads were given up, and none of the positions has come since. */
  isOvertaken: boolean;
  lastHistoryMs: number | undefined;
  isPressing: boolean;
}

const NOTHING_KEPT: Readonly<Kept> = {};
const NO_READS: readonly ReadUnderWay[] = [];
const NO_FAILURES: readonly ReadFailure[] = [];
/** As long as lanes remember marks. */
const RECENT_MS = 20_000;

/** The last good readings and reads under way of this process; only what is read seldom is stored, too. */
export class ReadMemory {
  readonly samePositions = new SamePositions();
  readonly falls = new Falls();
  readonly #accounts = new Map<string, AccountReads>();
  readonly #running = new Set<Promise<void>>();

  recall(accountId: string): Readonly<Kept> {
    return this.#accounts.get(accountId)?.kept ?? NOTHING_KEPT;
  }

  /** Of reads that overtook one another the one that was sent last counts. */
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

  /** What each account's positions were when they were last read. */
  *positions(): Generator<readonly [accountId: string, kept: KeptReading]> {
    for (const [accountId, { kept }] of this.#accounts)
      if (kept.positions !== undefined) yield [accountId, kept.positions];
  }

  /** A read failed that was sent at `startedMs`, unless a later one has come. */
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

  /** Whether a reading has arrived that no commit was decided with yet, however long ago its poll ended. */
  isNew(accountId: string, source: SourceName): boolean {
    const account = this.#accounts.get(accountId);
    return account !== undefined && account.kept[source] !== account.taken[source];
  }

  /** A commit was decided with these; `isPressing`: whether, by them, an order may have to leave by the next look. */
  take(accountId: string, readings: Readonly<Kept>, isPressing: boolean): void {
    const account = this.#of(accountId);
    account.taken = readings;
    account.isPressing = isPressing;
  }

  isPressing(accountId: string): boolean {
    return this.#accounts.get(accountId)?.isPressing === true;
  }

  /** The signal for reads of an account that a request of ours makes worthless; the same until then. */
  signalFor(accountId: string): AbortSignal {
    const account = this.#of(accountId);
    account.abort ??= new AbortController();
    return account.abort.signal;
  }

  /** The reads of that source that are still under way, perhaps since earlier polls, oldest first. */
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

  /** `settled` waits for this as well. */
  settle(work: Promise<void>): void {
    this.#running.add(work);
    const over = (): void => void this.#running.delete(work);
    work.then(over, over);
  }

  /** Resolves when no read is under way any more, nor anything that follows from one. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** Gives up reads that hold up an action; never twice in a row, or many markets would leave no read for seconds. */
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

/** Whether there was anything to give up. */
function abortIn(account: AccountReads): boolean {
  const { abort, underWay } = account;
  account.abort = undefined;
  const isReading = abort !== undefined && [...underWay.values()].some(({ length }) => length > 0);
  abort?.abort(OVERTAKEN);
  return isReading;
}

/** One for all: making an error for each would cost more than what it says. */
const OVERTAKEN = new Error('a request of ours overtook the read');

/** A reading as it is at a later moment: older by the time between. */
export function aged<T>(reading: SourceReading<T>, from: Instant, to: Instant): SourceReading<T> {
  return { ...reading, ageMs: reading.ageMs + elapsedMs(from, to) };
}
