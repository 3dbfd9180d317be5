import type { SourceName } from '../../core/fields/field-catalogue.ts';
import { elapsedMs, type Instant, type SourceReading } from '../../core/quantities/snapshot.ts';

/** A reading with the moment at which its age was what it says. */
export interface KeptReading {
  readonly at: Instant;
  readonly reading: SourceReading<unknown>;
}

type Kept = Partial<Record<SourceName, KeptReading>>;

/** What this process knows of one account, and is doing about it. */
interface AccountReads {
  readonly kept: Kept;
  readonly underWay: Set<SourceName>;
  abort: AbortController | undefined;
  lastHistoryMs: number | undefined;
}

const NOTHING_KEPT: Readonly<Kept> = {};

/**
 * The last good readings of each account, in the memory of this process, and the reads that are under way. Only
 * what is read seldom is stored as well; the rest would be too old by the time another process could use it.
 */
export class ReadMemory {
  readonly #accounts = new Map<string, AccountReads>();
  readonly #running = new Set<Promise<void>>();

  recall(accountId: string): Readonly<Kept> {
    return this.#accounts.get(accountId)?.kept ?? NOTHING_KEPT;
  }

  keep(accountId: string, source: SourceName, kept: KeptReading): void {
    this.#of(accountId).kept[source] = kept;
  }

  /** The signal for reads of an account that a request of ours makes worthless; the same until then. */
  signalFor(accountId: string): AbortSignal {
    const account = this.#of(accountId);
    account.abort ??= new AbortController();
    return account.abort.signal;
  }

  /** Whether a read of that source is still under way, perhaps since an earlier poll. */
  isReading(accountId: string, source: SourceName): boolean {
    return this.#accounts.get(accountId)?.underWay.has(source) === true;
  }

  async track(accountId: string, source: SourceName, read: Promise<void>): Promise<void> {
    const { underWay } = this.#of(accountId);
    underWay.add(source);
    this.#running.add(read);
    try {
      await read;
    } finally {
      underWay.delete(source);
      this.#running.delete(read);
    }
  }

  /** Resolves when no read is under way any more. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** Whatever is being read of the account is out of date before it arrives. */
  abortReads(accountId: string): void {
    const account = this.#accounts.get(accountId);
    if (account?.abort === undefined) return;
    const { abort } = account;
    account.abort = undefined;
    abort.abort(OVERTAKEN);
  }

  abortAll(): void {
    for (const accountId of this.#accounts.keys()) this.abortReads(accountId);
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
    this.abortReads(accountId);
    this.#accounts.delete(accountId);
  }

  #of(accountId: string): AccountReads {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = { kept: {}, underWay: new Set(), abort: undefined, lastHistoryMs: undefined };
      this.#accounts.set(accountId, account);
    }
    return account;
  }
}

/** One for all: making an error for each would cost more than what it says. */
const OVERTAKEN = new Error('a request of ours overtook the read');

/** A reading as it is at a later moment: older by the time between. */
export function aged<T>(reading: SourceReading<T>, from: Instant, to: Instant): SourceReading<T> {
  return { ...reading, ageMs: reading.ageMs + elapsedMs(from, to) };
}
