import type { SourceName } from '../core/fields.ts';
import { elapsedMs, type Instant, type SourceReading } from '../core/snapshot.ts';

/** A reading with the moment at which its age was what it says. */
export interface KeptReading {
  readonly at: Instant;
  readonly reading: SourceReading<unknown>;
}

type Kept = Partial<Record<SourceName, KeptReading>>;

/**
 * The last good readings of each account, in the memory of this process, and the reads that are under way. Only
 * what is read seldom is stored as well; the rest would be too old by the time another process could use it.
 */
export class ReadMemory {
  readonly #readings = new Map<string, Kept>();
  readonly #reads = new Map<string, AbortController>();
  readonly #reading = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  readonly #lastHistoryMs = new Map<string, number>();

  recall(accountId: string): Readonly<Kept> {
    return this.#readings.get(accountId) ?? {};
  }

  keep(accountId: string, source: SourceName, kept: KeptReading): void {
    const known = this.#readings.get(accountId);
    if (known === undefined) this.#readings.set(accountId, { [source]: kept });
    else known[source] = kept;
  }

  /** The signal for reads of an account that a request of ours makes worthless; the same until then. */
  signalFor(accountId: string): AbortSignal {
    let controller = this.#reads.get(accountId);
    if (controller === undefined) {
      controller = new AbortController();
      this.#reads.set(accountId, controller);
    }
    return controller.signal;
  }

  /** Whether a read of that source is still under way, perhaps since an earlier poll. */
  isReading(accountId: string, source: SourceName): boolean {
    return this.#reading.has(readKey(accountId, source));
  }

  async track(accountId: string, source: SourceName, read: Promise<void>): Promise<void> {
    const key = readKey(accountId, source);
    this.#reading.add(key);
    this.#running.add(read);
    try {
      await read;
    } finally {
      this.#reading.delete(key);
      this.#running.delete(read);
    }
  }

  /** Resolves when no read is under way any more. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  /** Whatever is being read of the account is out of date before it arrives. */
  abortReads(accountId: string): void {
    const controller = this.#reads.get(accountId);
    this.#reads.delete(accountId);
    controller?.abort(OVERTAKEN);
  }

  abortAll(): void {
    for (const accountId of this.#reads.keys()) this.abortReads(accountId);
  }

  /** Whether samples are wanted now; notes that they were taken. */
  takeHistoryTurn(accountId: string, nowMs: number, everyMs: number): boolean {
    const last = this.#lastHistoryMs.get(accountId);
    if (last !== undefined && nowMs - last < everyMs) return false;
    this.#lastHistoryMs.set(accountId, nowMs);
    return true;
  }

  forget(accountId: string): void {
    this.abortReads(accountId);
    this.#readings.delete(accountId);
    this.#lastHistoryMs.delete(accountId);
  }
}

/** One for all: making an error for each would cost more than what it says. */
const OVERTAKEN = new Error('a request of ours overtook the read');

function readKey(accountId: string, source: SourceName): string {
  return `${source} ${accountId}`;
}

/** A reading as it is at a later moment: older by the time between. */
export function aged<T>(reading: SourceReading<T>, from: Instant, to: Instant): SourceReading<T> {
  return { ...reading, ageMs: reading.ageMs + elapsedMs(from, to) };
}
