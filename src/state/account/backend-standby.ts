import type { Clock } from '../../core/ports/clock.ts';
import { BUCKETS, bucketOf, type LaneLeases } from '../../core/ports/state-store.ts';
import { mergeControls } from '../controls/controls-text.ts';
import type { Mirror, MirrorSource } from '../mirror/mirror.ts';
import type { ReadMirror } from '../mirror/read-mirror.ts';
import {
  type Backend,
  isDecision,
  type RawBatch,
  type RawCommitReply,
  type RawRequest,
  type RawView,
  STAMP_LENGTH,
} from './account-backend.ts';
import { type BucketImage, MemoryBackend } from './backend-memory.ts';
import { hasOpenQuestion, TALLY_FIELD } from './documents.ts';
import { type HandedBack, handBackBucket } from './hand-back.ts';
import { readTally } from './header.ts';
import {
  accountIdsOf,
  blankImage,
  bucketsToKeep,
  isBlank,
  isNews,
  noteCommit,
  noteView,
  runOf,
  type StandbyImage,
  toKeep,
  withFirstSeen,
} from './standby-image.ts';
import { Unattached } from './unattached.ts';

export interface StandbyOptions {
  readonly shared: Backend;
  /** Its `nowMs` is the shared clock, as far as known here. */
  readonly clock: Clock;
  readonly historySamples: number;
  /** Returns `length` random letters and digits, for a new store epoch. */
  readonly randomText: (length: number) => string;
}

/**
 * The shared backend or, while it is lost, what this process last knew of it. Store epoch and versions stay the same,
 * so that the store above goes on as before; a bucket that others may have changed meanwhile begins a new store
 * epoch. Afterwards the work done alone is handed back.
 */
export class StandbyBackend implements Backend {
  readonly leases: LaneLeases;
  readonly makeDue: Backend['makeDue'] = (...args) => this.#use((backend) => backend.makeDue(...args));
  readonly holdDue: Backend['holdDue'] = (...args) => this.#use((backend) => backend.holdDue(...args));
  readonly fields: Backend['fields'] = (...args) => this.#use((backend) => backend.fields(...args));
  readonly records: Backend['records'] = (...args) => this.#use((backend) => backend.records(...args));
  readonly file: Backend['file'] = (...args) => this.#use((backend) => backend.file(...args));
  readonly fileHashes: Backend['fileHashes'] = (...args) =>
    this.#use((backend) => backend.fileHashes(...args));
  readonly stands: Backend['stands'] = (...args) => this.#use((backend) => backend.stands(...args));
  readonly history: Backend['history'] = (...args) => this.#use((backend) => backend.history(...args));
  readonly unattached = new Unattached();
  readonly #options: StandbyOptions;
  readonly #images: readonly StandbyImage[] = Array.from({ length: BUCKETS }, blankImage);
  #alone: MemoryBackend | undefined;
  /** Resolves when a hand-back has ended, successful or not. */
  #handingBack: Promise<void> | undefined;
  #mirror: Mirror | undefined;
  #watchesOnly: string | undefined;
  /** When the known state was last certain to be in force; absent: it is now. */
  #knownAtMs: number | undefined;
  /** Accounts known when this process began alone; absent: every account counts as known. */
  #restored: ReadonlySet<string> | undefined;
  /** Accounts that were superseded in a hand-back whose reply was lost. */
  readonly #superseded = new Set<string>();
  /** Names under which this process has committed, including before its last start. */
  #writers: readonly string[] = [];
  /** Whether there are other processes with the same prefix. Set by the code that watches them; assumed if unknown. */
  hasCompany = false;
  onAlone: ((error: unknown) => void) | undefined;

  constructor(options: StandbyOptions) {
    this.#options = options;
    this.leases = {
      acquire: (...args) => this.#use(({ leases }) => leases.acquire(...args)),
      renew: (...args) => this.#use(({ leases }) => leases.renew(...args)),
      release: (...args) => this.#use(({ leases }) => leases.release(...args)),
    };
  }

  get isAlone(): boolean {
    return this.#alone !== undefined;
  }

  /** Why this process only watches while it is alone, in words; undefined: it may act. */
  get watchesOnly(): string | undefined {
    return this.isAlone ? this.#watchesOnly : undefined;
  }

  /** Whether anything was known of the account before this process was alone. */
  isKnown(accountId: string): boolean {
    return this.#restored?.has(accountId) ?? true;
  }

  /** Accounts with an open approval question, as far as known here. */
  get askedAccounts(): readonly string[] {
    return this.#images.flatMap(({ accounts }) =>
      [...accounts].flatMap(([accountId, fields]) => (hasOpenQuestion(fields) ? [accountId] : [])),
    );
  }

  /** From now on the known state is also kept on disk. */
  mirrorTo(mirror: Mirror): void {
    this.#mirror = mirror;
  }

  mirrored(times: { readonly nowMs: () => number; readonly clockOffsetMs: () => number }): MirrorSource {
    return {
      process: () => ({
        atMs: this.#knownAtMs ?? times.nowMs(),
        clockOffsetMs: times.clockOffsetMs(),
        isAlone: this.isAlone,
        hasCompany: this.hasCompany,
        writers: [...this.#writers],
        buckets: bucketsToKeep(this.#images, this.#alone),
        unattached: this.unattached.named,
      }),
      unattached: (accountId) => this.unattached.of(accountId)?.segment ?? [],
      account: (accountId) => {
        const index = bucketOf(accountId);
        const known = this.#image(index).accounts.get(accountId);
        return toKeep(accountId, known, this.#alone?.held(index, accountId));
      },
    };
  }

  /**
   * Begins alone, with what an earlier process wrote down, if anything. Nothing may have been read or written before.
   * `watchesOnly`: why that must not be acted on, in words.
   */
  beginAlone(found: ReadMirror | undefined, watchesOnly: string | undefined): void {
    const { clock, historySamples } = this.#options;
    const alone = new MemoryBackend(clock, historySamples);
    const { process, accounts = [] } = found ?? {};
    for (const { index, run, epoch, controls, base } of process?.buckets ?? []) {
      Object.assign(this.#image(index), base ?? { run, epoch, controls });
      // The last commits may not have reached the disk, unless this process was alone.
      const runNow = process?.isAlone === true ? run : `${run}, restarted`;
      alone.adopt(index, { run: runNow, epoch, controls, accounts: new Map() });
    }
    for (const { accountId, fields, base, records, files } of accounts) {
      const index = bucketOf(accountId);
      // Without a base the fields were written before the process was alone, and are what was known then.
      const known = base ?? fields;
      if (known.length > 0) this.#image(index).accounts.set(accountId, new Map(known));
      const texts = new Map(fields);
      // Later records were on their way to the disk when the process died, and were not acknowledged.
      const { lastNumber } = readTally(texts.get(TALLY_FIELD) ?? '');
      const made = records.filter(({ number }) => number <= lastNumber);
      alone.restore(index, { accountId, fields: texts, records: made, files });
    }
    this.#writers = (process?.writers ?? []).slice(-MOST_WRITERS);
    this.#restored = new Set(accounts.map(({ accountId }) => accountId));
    this.#watchesOnly = watchesOnly;
    this.#knownAtMs = watchesOnly === undefined ? undefined : (process?.atMs ?? 0);
    this.hasCompany = process?.hasCompany ?? true;
    this.#alone = alone;
  }

  /** From now on all state is kept in this process; `error` says why. */
  takeOver(error?: unknown): void {
    if (this.#alone !== undefined) return;
    const { clock, historySamples } = this.#options;
    const alone = new MemoryBackend(clock, historySamples);
    for (const [index, image] of this.#images.entries()) {
      if (!isBlank(image)) alone.adopt(index, { ...image, ...runOf(image) });
    }
    this.#alone = alone;
    this.onAlone?.(error);
    void this.#mirror?.processChanged();
  }

  /** Accounts for which others have decided something that this process has not seen. */
  async unseen(index: number, accountIds: readonly string[]): Promise<readonly string[]> {
    const stands = await this.stands(index, accountIds);
    return stands.filter((stand) => isNews(this.#image(index), stand)).map(({ accountId }) => accountId);
  }

  /**
   * Writes what was done alone to the shared backend, and uses that again. Calls wait meanwhile: a decision made in
   * between would be in neither. `onShared`: called before the calls go on with the shared backend.
   * @throws StoreLostError if the shared backend is lost again; all state stays here then
   */
  async handBack(onShared?: () => void): Promise<readonly HandedBack[]> {
    const alone = this.#alone;
    if (alone === undefined) return [];
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#handingBack = promise;
    try {
      const results = await this.#handBackAll(alone);
      onShared?.();
      return results;
    } finally {
      this.#handingBack = undefined;
      resolve();
    }
  }

  async #handBackAll(alone: MemoryBackend): Promise<readonly HandedBack[]> {
    const { shared, randomText } = this.#options;
    const results: HandedBack[] = [];
    const bases = this.#images.map((image, index) => withFirstSeen(image, alone.accountIds(index)));
    const known = [...bases.entries()].filter(
      ([index, base]) => !isBlank(base) || alone.stateOf(index).controls !== '',
    );
    for (const [index, base] of known) {
      const parts = { index, base, alone, shared, writers: this.#writers, superseded: this.#superseded };
      results.push(...(await handBackBucket({ ...parts, randomText })));
    }
    await this.#readAnew(known);
    this.#alone = undefined;
    this.#superseded.clear();
    this.#watchesOnly = undefined;
    this.#restored = undefined;
    this.#knownAtMs = undefined;
    const unattached = this.unattached.add(results);
    // Not awaited: a slow disk must not hold anything up.
    void this.#mirror?.handedBack(accountIdsOf(bases), unattached);
    return results;
  }

  /** Forgets unattached records that are in their account's chain now. */
  async attached(found: HandedBack): Promise<void> {
    if (this.unattached.of(found.accountId) !== found) return;
    this.unattached.delete(found.accountId);
    await this.#mirror?.attached(found.accountId);
  }

  /**
   * Reads the shared state anew, as the store above is not sent what it has: a second loss soon after must begin with
   * the present state. Notes all of it or nothing: until then the noted state is the base of what was done alone.
   */
  async #readAnew(known: readonly (readonly [number, BucketImage])[]): Promise<void> {
    const views: [index: number, raw: RawView][] = [];
    for (const [index, { accounts }] of known) {
      const accountIds = [...accounts.keys()];
      const request = { writer: '', stamp: '', accountIds, due: null };
      views.push([index, await this.#options.shared.view(index, request)]);
    }
    for (const [index, raw] of views) {
      const image = this.#image(index);
      image.accounts.clear();
      image.overtaken.clear();
      this.#noteView(index, raw);
    }
  }

  /** What a server has lost is not decided anew: it is in force here, and is handed back. */
  async view(index: number, request: RawRequest): Promise<RawView> {
    const { isAlone } = this;
    const { accounts, controls } = this.#image(index);
    // As of the request: the reply may be older than what is learnt meanwhile.
    const known = new Set(request.accountIds.filter((accountId) => accounts.has(accountId)));
    const ask = (backend: Backend): Promise<RawView> => backend.view(index, request);
    const raw = await this.#use(ask, (view) => {
      const isLost = view.accounts.some(({ accountId, header }) => header === '' && known.has(accountId));
      const hasLost = isLost || (view.controls === '' && controls !== '');
      if (hasLost) this.takeOver(new Error('Redis has lost what it had'));
      else this.#noteView(index, view);
    });
    return this.isAlone && !isAlone ? await this.#use(ask) : raw;
  }

  commit(index: number, batch: RawBatch): Promise<RawCommitReply> {
    const { writer } = batch;
    if (this.#writers.at(-1) !== writer) this.#writers = [...this.#writers, writer].slice(-MOST_WRITERS);
    const answer = this.#use(
      (backend) => backend.commit(index, batch),
      (reply) => noteCommit(this.#image(index), batch, reply),
      { kind: 'epochChanged' },
    );
    return this.#mirror === undefined ? answer : this.#onDisk(this.#mirror, batch, answer);
  }

  /** Waits until decisions are on disk before they are acted on; the rest is written when there is time. */
  async #onDisk(mirror: Mirror, batch: RawBatch, answer: Promise<RawCommitReply>): Promise<RawCommitReply> {
    const reply = await answer;
    if (reply.kind !== 'answered') return reply;
    const urgent: Promise<void>[] = [];
    for (const [place, change] of batch.changes.entries()) {
      if (reply.outcomes[place]?.kind !== 'committed') continue;
      if (isDecision(change)) urgent.push(mirror.changed(change.accountId));
      else mirror.moved(change.accountId);
    }
    if (batch.controls !== null) urgent.push(mirror.processChanged());
    if (urgent.length > 0) await Promise.all(urgent);
    return reply;
  }

  startEpoch(index: number, expected: string | null, next: string): Promise<string> {
    return this.#use(
      (backend) => backend.startEpoch(index, expected, next),
      (epoch) => {
        this.#image(index).epoch = epoch;
      },
    );
  }

  async setControls(index: number, expected: string, next: string): Promise<string> {
    const stored = await this.#use(
      (backend) => backend.setControls(index, expected, next),
      (controls) => {
        this.#image(index).controls = controls;
      },
    );
    await this.#mirror?.processChanged();
    return stored;
  }

  /**
   * `note`: takes in the shared backend's reply before the caller goes on. `tooLate`: the reply to a call that was
   * based on state held alone, and came while that was being handed back.
   */
  #use<T>(ask: (backend: Backend) => Promise<T>, note?: (value: T) => void, tooLate?: T): Promise<T> {
    if (this.#handingBack !== undefined) {
      return this.#handingBack.then(() => (this.isAlone ? undefined : tooLate) ?? this.#use(ask, note));
    }
    const answer = ask(this.#alone ?? this.#options.shared);
    if (note === undefined || this.isAlone) return answer;
    answer.then(
      (value) => (this.isAlone ? undefined : note(value)),
      () => undefined,
    );
    return answer;
  }

  /** Also learns them: in most buckets this process reads nothing else, and a pause of all accounts is in each. */
  async allControls(): Promise<readonly string[]> {
    const before = this.#images.map(({ controls }) => controls);
    const texts = await this.#use((backend) => backend.allControls());
    if (this.isAlone) return texts;
    for (const [index, text] of texts.entries()) {
      const image = this.#image(index);
      // Controls learnt meanwhile are at least as new. A server that was emptied lifts nothing.
      if (text !== '' && image.controls === before[index]) image.controls = text;
    }
    return texts;
  }

  /**
   * Makes pauses set in the shared store hold here too while this process is alone: the hand-back may be far off.
   * Rejects if the shared store does not answer.
   */
  async learnControls(): Promise<void> {
    const alone = this.#alone;
    if (alone === undefined) return void (await this.allControls());
    const { shared, randomText } = this.#options;
    const before = this.#images.map(({ controls }) => controls);
    const texts = await shared.allControls();
    if (this.#alone !== alone) return;
    for (const [index, there] of texts.entries()) {
      const image = this.#image(index);
      // Controls learnt meanwhile, as in a hand-back, are at least as new.
      if (there === '' || there === image.controls || image.controls !== before[index]) continue;
      const { controls: here } = alone.stateOf(index);
      const merged = mergeControls({ base: image.controls, here, there }, randomText(STAMP_LENGTH));
      image.controls = there;
      alone.learnControls(index, merged);
    }
    await this.#mirror?.processChanged();
  }

  async forget(index: number, accountId: string): Promise<void> {
    await this.#use((backend) => backend.forget(index, accountId));
    this.#image(index).accounts.delete(accountId);
    this.unattached.delete(accountId);
    await this.#mirror?.forget(accountId);
  }

  /** Others have decided something, or this process did before its last start. */
  #noteView(index: number, raw: RawView): void {
    noteView(this.#image(index), raw, (accountId) => this.#mirror?.moved(accountId));
  }

  #image(index: number): StandbyImage {
    const image = this.#images[index];
    if (image === undefined) throw new RangeError(`there is no bucket ${index}`);
    return image;
  }
}

const MOST_WRITERS = 10;
