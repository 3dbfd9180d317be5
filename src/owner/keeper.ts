import type { Timers } from '../core/ports/clock.ts';
import { BUCKETS, bucketOf } from '../core/ports/state-store.ts';
import { within } from '../core/ports/within.ts';
import type { HeldAccount, MemoryBackend } from '../state/account/backend-memory.ts';
import type { Journal } from './journal.ts';
import type { JournalEntry } from './journal-lines.ts';
import type { OwnValues } from './own-values.ts';
import type { TrailFiles } from './trail-files.ts';

export interface KeeperParts {
  readonly backend: Pick<MemoryBackend, 'accountIds' | 'held' | 'drain' | 'stateOf'>;
  readonly values: OwnValues;
  readonly trail: TrailFiles;
  readonly timers: Pick<Timers, 'after'>;
  /** Called once when the disk fails or lags, and once when everything is on it again. */
  readonly onState: (failing: { readonly error: unknown } | undefined) => void;
}

interface Batch {
  readonly isUrgent: boolean;
  readonly waiters: readonly (() => void)[];
  readonly accountIds: readonly string[];
  /** As they are when they are asked for. */
  readonly entries: () => readonly JournalEntry[];
}

/** What an account no longer has. */
interface Outdated {
  readonly trimBefore: number;
  readonly removeFiles: readonly string[];
}

/** A slower disk is not waited for. */
const WAIT_MS = 100;
const EVERY_MS = 1_000;
/** Most accounts without a decision that are written per interval: a thousand of them must not cost more. */
const LAZY_AT_A_TIME = 64;

/**
 * Copies what changes in memory to the journal and the trail. Writes one batch at a time. Invariant: a journal entry of an
 * account is added in the turn in which the account has no record that the trail lacks, so that no header on the disk names
 * a record that is not there. Nothing waits for a disk that fails or hangs: the process goes on, and says so.
 */
export class Keeper {
  readonly #parts: KeeperParts;
  #journal: Journal | undefined;
  readonly #urgent = new Set<string>();
  readonly #lazy = new Set<string>();
  readonly #buckets = new Set<number>();
  readonly #values = new Set<string>();
  readonly #forgotten = new Set<string>();
  /** Fields of accounts as the journal has them. */
  readonly #journaled = new Map<string, ReadonlyMap<string, string>>();
  readonly #outdated = new Map<string, Outdated>();
  #waiters: (() => void)[] = [];
  #lazyLeft = 0;
  #isWriting = false;
  #isFailing = false;
  #isClosed = false;
  #underWay: Promise<void> = Promise.resolve();
  #trailing: Promise<unknown> = Promise.resolve();
  #callOff: (() => void) | undefined;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** Begins with a new file. Resolves when that is whole, or is no longer waited for. */
  async start(journal: Journal): Promise<void> {
    this.#journal = journal;
    this.#everySecond();
    await this.#written();
  }

  /** A decision: resolves when it is on the disk, or is no longer waited for. */
  changed(accountId: string): Promise<void> {
    this.#urgent.add(accountId);
    return this.#written();
  }

  /** Written when there is time: nothing was decided. */
  moved(accountId: string): void {
    this.#lazy.add(accountId);
  }

  bucketChanged(index: number): Promise<void> {
    this.#buckets.add(index);
    return this.#written();
  }

  valueChanged(name: string): Promise<void> {
    this.#values.add(name);
    return this.#written();
  }

  async forget(accountId: string): Promise<void> {
    this.#forgotten.add(accountId);
    this.#journaled.delete(accountId);
    await this.#inTurn(() => this.#parts.trail.forget(accountId)).catch((error: unknown) =>
      this.#failed(error),
    );
    await this.#written();
  }

  /** Records and attachments that the account no longer needs. */
  outdated(accountId: string, { trimBefore, removeFiles }: Outdated): void {
    const before = this.#outdated.get(accountId);
    this.#outdated.set(accountId, {
      trimBefore: Math.max(trimBefore, before?.trimBefore ?? 0),
      removeFiles: [...(before?.removeFiles ?? []), ...removeFiles],
    });
  }

  /** All that is known, taken in the turn in which the trail has all records that it names. */
  readonly snapshot = async (): Promise<readonly JournalEntry[]> => {
    const { backend, values } = this.#parts;
    const indexes = Array.from({ length: BUCKETS }, (_, index) => index);
    await this.#trailed(() => indexes.flatMap((index) => backend.accountIds(index)), true);
    this.#journaled.clear();
    return [
      ...indexes.map((index) => this.#bucketEntry(index)).filter((entry) => !isBlank(entry)),
      ...indexes.flatMap((index) => backend.accountIds(index).flatMap((id) => this.#accountEntry(id))),
      ...values.entries(),
    ];
  };

  /** Writes what is left, and stops. */
  async close(): Promise<void> {
    this.#callOff?.();
    for (const accountId of this.#lazy) this.#urgent.add(accountId);
    await this.#written();
    this.#isClosed = true;
    await within(this.#parts.timers, WAIT_MS, this.#underWay, () => undefined);
  }

  async #written(): Promise<void> {
    // Tried again each second, not at each decision.
    if (this.#isClosed || this.#isFailing || this.#journal === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push(resolve);
    this.#write();
    const isLate = await within(
      this.#parts.timers,
      WAIT_MS,
      promise.then(() => false),
      () => true,
    );
    if (isLate) this.#failed(new Error(`writing takes longer than ${WAIT_MS} ms`));
  }

  #everySecond(): void {
    this.#callOff = this.#parts.timers.after(EVERY_MS, () => {
      this.#everySecond();
      this.#lazyLeft = LAZY_AT_A_TIME;
      this.#write();
    });
  }

  #write(): void {
    if (this.#isWriting || this.#isClosed || this.#journal === undefined) return;
    this.#isWriting = true;
    this.#underWay = this.#writeAll(this.#journal).finally(() => {
      this.#isWriting = false;
    });
  }

  async #writeAll(journal: Journal): Promise<void> {
    try {
      for (let batch = this.#next(); batch !== undefined; batch = this.#next()) {
        await this.#writeBatch(journal, batch);
        this.#isWell();
        await this.#removeOutdated();
      }
    } catch (error) {
      this.#failed(error);
      // The snapshot of the next file has what this batch would have written.
      await journal.fallBehind();
    }
  }

  async #writeBatch(journal: Journal, { accountIds, entries, isUrgent, waiters }: Batch): Promise<void> {
    try {
      await this.#trailed(() => accountIds, isUrgent);
      await journal.append(entries(), isUrgent);
    } finally {
      for (const resolve of waiters) resolve();
    }
  }

  /** Everything that is to be written now; undefined: nothing. */
  #next(): Batch | undefined {
    const isUrgent = this.#waiters.length + this.#urgent.size + this.#buckets.size + this.#values.size > 0;
    const lazy = [...this.#lazy].slice(0, this.#lazyLeft);
    if (!isUrgent && lazy.length === 0 && !this.#isFailing) return undefined;
    this.#lazyLeft -= lazy.length;
    const forgotten = taken(this.#forgotten);
    const accountIds = [...new Set([...taken(this.#urgent), ...lazy])];
    for (const accountId of accountIds) this.#lazy.delete(accountId);
    const [buckets, values] = [taken(this.#buckets), taken(this.#values)];
    return {
      isUrgent,
      waiters: this.#waiters.splice(0),
      accountIds,
      entries: (): readonly JournalEntry[] => [
        ...buckets.map((index) => this.#bucketEntry(index)),
        ...forgotten.map((accountId) => ({ kind: 'forget', accountId }) as const),
        ...accountIds.flatMap((accountId) => this.#accountEntry(accountId)),
        ...values.map((name) => this.#parts.values.entryOf(name)),
      ],
    };
  }

  /** Resolves in the turn in which the trail has all that these accounts have. Rejects if the disk fails. */
  async #trailed(accountIds: () => readonly string[], isSynced: boolean): Promise<void> {
    const { backend, trail } = this.#parts;
    const left = () =>
      accountIds().flatMap((accountId) => {
        const held = backend.held(bucketOf(accountId), accountId);
        return held !== undefined && hasMore(held) ? [{ accountId, held }] : [];
      });
    for (let next = left(); next.length > 0; next = left()) {
      for (const { accountId, held } of next) {
        const part = {
          records: [...held.records],
          files: new Map(held.files),
          history: [...held.history],
        };
        await this.#inTurn(() => trail.append(accountId, part, isSynced));
        backend.drain(bucketOf(accountId), accountId, part);
      }
    }
  }

  async #removeOutdated(): Promise<void> {
    const { trail } = this.#parts;
    for (const [accountId, { trimBefore, removeFiles }] of this.#outdated) {
      this.#outdated.delete(accountId);
      await this.#inTurn(async () => {
        if (trimBefore > 0) await trail.trim(accountId, trimBefore);
        await trail.removeFiles(accountId, removeFiles);
      });
    }
  }

  /** The trail takes one call at a time. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#trailing.then(work);
    this.#trailing = done.catch(() => undefined);
    return done;
  }

  #bucketEntry(index: number): JournalEntry {
    const { epoch, controls } = this.#parts.backend.stateOf(index);
    return { kind: 'bucket', index, epoch, controls };
  }

  /** The whole account, or what differs from what the journal has of it. */
  #accountEntry(accountId: string): readonly JournalEntry[] {
    const held = this.#parts.backend.held(bucketOf(accountId), accountId);
    const before = this.#journaled.get(accountId);
    if (held === undefined) {
      this.#journaled.delete(accountId);
      return [];
    }
    const { fields } = held;
    this.#journaled.set(accountId, new Map(fields));
    if (before === undefined) return [{ kind: 'account', accountId, fields: [...fields] }];
    const set = [...fields].filter(([field, text]) => before.get(field) !== text);
    const remove = [...before.keys()].filter((field) => !fields.has(field));
    return set.length + remove.length === 0 ? [] : [{ kind: 'change', accountId, set, remove }];
  }

  #failed(error: unknown): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#parts.onState({ error });
  }

  #isWell(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#parts.onState(undefined);
  }
}

function taken<T>(set: Set<T>): readonly T[] {
  const all = [...set];
  set.clear();
  return all;
}

function isBlank(entry: JournalEntry): boolean {
  return entry.kind === 'bucket' && entry.epoch === null && entry.controls === '';
}

function hasMore({ records, files, history }: HeldAccount): boolean {
  return records.length > 0 || files.size > 0 || history.length > 0;
}
