import type { Timers } from '../../core/ports/clock.ts';
import type { Disk } from '../../core/ports/disk.ts';
import { within } from '../../core/ports/within.ts';
import {
  accountFile,
  type Contents,
  MirrorError,
  type MirroredAccount,
  type MirroredProcess,
  type MirroredSegment,
  type MirrorOwner,
  MOST_FILE_BYTES,
  PROCESS_COPY,
  PROCESS_FILE,
  segmentFile,
  unattachedFile,
  writeMirrored,
  writeSegment,
} from './mirror-text.ts';

/** Supplies what a mirror writes, as it is at that moment. */
export interface MirrorSource {
  process(): Contents<MirroredProcess>;
  /** The segment is empty unless the process is alone. Undefined: the account is no longer known. */
  account(accountId: string): (Contents<MirroredAccount> & MirroredSegment) | undefined;
  /** Records of the account that were handed back and are in no chain yet. */
  unattached(accountId: string): MirroredSegment['records'];
}

export interface MirrorParts {
  readonly place: Disk;
  readonly owner: MirrorOwner;
  readonly timers: Pick<Timers, 'after'>;
  readonly source: MirrorSource;
  /** Files that could not be read, and stay as they are until everything is handed back: they get other names then. */
  readonly damaged?: { readonly names: ReadonlySet<string>; readonly setAside: () => Promise<void> };
  /** Called once when writing fails, and once when it succeeds again. */
  readonly onState: (failing: { readonly error: unknown } | undefined) => void;
}

const EVERY_MS = 1_000;
/** A slower disk is not waited for. */
const WAIT_MS = 250;
/** Most accounts without a decision that are written per interval, so that a thousand of them cost no more. */
const LAZY_AT_A_TIME = 8;

/**
 * Keeps on disk what this process knows of the shared state, and what it does without it. Writes one file at a time.
 * Nothing waits for a disk that fails or hangs: the process goes on, and reports it.
 */
export class Mirror {
  readonly #parts: MirrorParts;
  /** Accounts to write next, in order, with their waiters. */
  readonly #urgent = new Map<string, (() => void)[]>();
  readonly #lazy = new Set<string>();
  readonly #unattached = new Set<string>();
  #lazyLeft = 0;
  #isSettleDue = false;
  /** Written, but not yet certain to survive a power loss. */
  readonly #unsettled = new Set<string>();
  readonly #segments = new Map<string, Segment>();
  #processWaiters: (() => void)[] = [];
  #isProcessDue = false;
  #isWriting = false;
  #underWay: Promise<void> = Promise.resolve();
  #isFailing = false;
  #callOff: (() => void) | undefined;
  #isClosed = false;

  constructor(parts: MirrorParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#callOff = this.#parts.timers.after(EVERY_MS, () => {
      this.start();
      this.#lazyLeft = LAZY_AT_A_TIME;
      this.#isSettleDue = true;
      this.#isProcessDue = true;
      this.#write();
    });
  }

  /** Writes an account next. Resolves when it is on disk, or when it is no longer waited for. */
  async changed(accountId: string): Promise<void> {
    await this.#written((resolve) => {
      this.#lazy.delete(accountId);
      this.#urgent.set(accountId, [...(this.#urgent.get(accountId) ?? []), resolve]);
    });
  }

  /** Like `changed`, for store epochs, controls, and whether the process is alone. */
  async processChanged(): Promise<void> {
    await this.#written((resolve) => {
      this.#processWaiters.push(resolve);
      this.#isProcessDue = true;
    });
  }

  /** Writes an account when there is time: nothing was decided in it. */
  moved(accountId: string): void {
    this.#lazy.add(accountId);
  }

  /** What was done alone is in the shared store now, except for `unattached`: nothing else is left to hand back. */
  async handedBack(accountIds: readonly string[], unattached: readonly string[]): Promise<void> {
    for (const accountId of unattached) this.#unattached.add(accountId);
    await this.processChanged();
    await this.#parts.damaged?.setAside().catch((error: unknown) => this.#failed(error));
    for (const accountId of accountIds) this.#lazy.add(accountId);
    const segments = [...this.#segments.keys()];
    this.#segments.clear();
    await this.#remove(segments.map(segmentFile));
  }

  async attached(accountId: string): Promise<void> {
    await this.processChanged();
    if (this.#parts.source.unattached(accountId).length === 0)
      await this.#remove([unattachedFile(accountId)]);
  }

  async forget(accountId: string): Promise<void> {
    this.#lazy.delete(accountId);
    this.#segments.delete(accountId);
    await this.#remove([accountFile(accountId), segmentFile(accountId), unattachedFile(accountId)]);
  }

  /** Stops writing: another process may then write in its place. */
  async close(): Promise<void> {
    this.#callOff?.();
    if (!this.#isFailing) await this.processChanged();
    this.#isClosed = true;
    await this.#inTime(this.#underWay);
  }

  async #remove(names: readonly string[]): Promise<void> {
    try {
      for (const name of names) await this.#parts.place.remove(name);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #written(ask: (resolve: () => void) => void): Promise<void> {
    if (this.#isClosed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    ask(resolve);
    this.#write();
    if (this.#isFailing || (await this.#inTime(promise))) return;
    this.#failed(new Error(`writing takes longer than ${WAIT_MS} ms`));
  }

  async #inTime(written: Promise<void>): Promise<boolean> {
    const inTime = written.then(() => true);
    return await within(this.#parts.timers, WAIT_MS, inTime, () => false);
  }

  #write(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#underWay = this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    try {
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        await next();
        if (this.#isClosed) return;
      }
      this.#isWriting = false;
      this.#isWell();
    } catch (error) {
      this.#isWriting = false;
      this.#failed(error);
    }
  }

  /**
   * The process file comes first: what was done alone must never be on disk without it. Only the records that it
   * names as unattached come before it.
   */
  #next(): (() => Promise<void>) | undefined {
    const [unattached] = this.#unattached;
    if (unattached !== undefined) return () => this.#writeUnattached(unattached);
    if (this.#isProcessDue) return () => this.#writeProcess();
    const [urgent] = this.#urgent;
    if (urgent !== undefined) return () => this.#writeUrgent(...urgent);
    const [accountId] = this.#lazy;
    if (accountId !== undefined && this.#lazyLeft > 0) {
      this.#lazyLeft -= 1;
      return () => this.#writeAccount(accountId);
    }
    const unsettled = this.#isSettleDue ? [...this.#unsettled] : [];
    this.#isSettleDue = false;
    if (unsettled.length === 0) return undefined;
    this.#unsettled.clear();
    return () => this.#parts.place.settle(unsettled);
  }

  async #writeUnattached(accountId: string): Promise<void> {
    const { place, owner, source } = this.#parts;
    const [name, records] = [unattachedFile(accountId), source.unattached(accountId)];
    if (records.length > 0) await place.write(name, writeSegment(owner, { records, files: new Map() }));
    this.#unattached.delete(accountId);
    this.#unsettled.add(name);
  }

  async #writeProcess(): Promise<void> {
    this.#isProcessDue = false;
    const waiters = this.#processWaiters.splice(0);
    try {
      const { owner, place, source } = this.#parts;
      const text = writeMirrored(owner, source.process());
      const both = [PROCESS_FILE, PROCESS_COPY].map((name) => place.write(name, text));
      await Promise.allSettled(both);
      await Promise.all(both);
    } catch (error) {
      this.#isProcessDue = true;
      throw error;
    } finally {
      for (const resolve of waiters) resolve();
    }
  }

  async #writeUrgent(accountId: string, waiters: readonly (() => void)[]): Promise<void> {
    // What is written now is at least as new as what was requested.
    this.#urgent.delete(accountId);
    try {
      await this.#writeAccount(accountId);
      this.#unsettled.add(accountFile(accountId));
    } finally {
      for (const resolve of waiters) resolve();
    }
  }

  async #writeAccount(accountId: string): Promise<void> {
    this.#lazy.delete(accountId);
    if (this.#parts.damaged?.names.has(accountFile(accountId))) return;
    try {
      const found = this.#parts.source.account(accountId);
      if (found === undefined) return;
      const { records, files, ...account } = found;
      if (records.length > 0) await this.#writeSegment(accountId, { records, files });
      await this.#parts.place.write(accountFile(accountId), writeMirrored(this.#parts.owner, account));
    } catch (error) {
      this.#lazy.add(accountId);
      throw error;
    }
  }

  /** Writes the segment before the account, whose header must not name records that are missing. */
  async #writeSegment(accountId: string, whole: MirroredSegment): Promise<void> {
    const { place, owner } = this.#parts;
    const name = segmentFile(accountId);
    const known = this.#segments.get(accountId);
    // A failed write may leave half a line: the next one begins the file anew.
    this.#segments.delete(accountId);
    const fresh = known === undefined ? whole : beyond(known, whole);
    if (fresh.records.length === 0) {
      if (known !== undefined) this.#segments.set(accountId, known);
      return;
    }
    // Takes everything before the first await: the process goes on meanwhile.
    const last = fresh.records.at(-1)?.number ?? 0;
    const names = new Set(whole.files.keys());
    let text = writeSegment(owner, fresh);
    let bytes = (known?.bytes ?? 0) + Buffer.byteLength(text);
    if (known !== undefined && bytes <= MOST_FILE_BYTES) await place.append(name, text);
    else {
      // Drops records that were pruned meanwhile.
      text = writeSegment(owner, whole);
      bytes = Buffer.byteLength(text);
      if (bytes > MOST_FILE_BYTES)
        throw new MirrorError(`${name} would have ${bytes} bytes, more than ${MOST_FILE_BYTES}`);
      await place.write(name, text);
    }
    this.#unsettled.add(name);
    this.#segments.set(accountId, { last, bytes, files: names });
  }

  #failed(error: unknown): void {
    for (const [accountId, waiters] of this.#urgent) {
      this.#lazy.add(accountId);
      for (const resolve of waiters) resolve();
    }
    this.#urgent.clear();
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

/** Contents of an account's segment file. */
interface Segment {
  readonly last: number;
  readonly bytes: number;
  readonly files: ReadonlySet<string>;
}

function beyond({ last, files }: Segment, whole: MirroredSegment): MirroredSegment {
  return {
    records: whole.records.filter(({ number }) => number > last),
    files: new Map([...whole.files].filter(([hash]) => !files.has(hash))),
  };
}
