import type { Clock } from '../../core/ports/clock.ts';
import { BUCKETS, type LaneLeases } from '../../core/ports/state-store.ts';
import type {
  Backend,
  HistoryRange,
  RawBatch,
  RawChange,
  RawCommitReply,
  RawRecord,
  RawRequest,
  RawSample,
  RawView,
  RecordRange,
} from './account-backend.ts';
import { type BucketImage, MemoryBackend, writeFields } from './backend-memory.ts';
import { TALLY_FIELD } from './documents.ts';
import { type HandedBack, handBackBucket } from './hand-back.ts';

interface Image {
  run: string;
  epoch: string | null;
  controls: string;
  readonly accounts: Map<string, Map<string, string>>;
  /** Accounts that others have changed since they were last sent here. */
  readonly overtaken: Set<string>;
}

export interface StandbyOptions {
  readonly shared: Backend;
  /** Its `nowMs` is the shared clock, as far as it is known here. */
  readonly clock: Clock;
  readonly historySamples: number;
  /** So many random letters and digits, for a new store epoch. */
  readonly randomText: (length: number) => string;
}

/**
 * The shared backend; while it is lost, what this process last knew of it. Store epoch and versions stay the same, so
 * that the store above goes on as before. A bucket that others may have changed meanwhile begins a new store epoch.
 * Afterwards what was done alone is handed back.
 */
export class StandbyBackend implements Backend {
  readonly leases: LaneLeases;
  readonly #options: StandbyOptions;
  readonly #images: readonly Image[] = Array.from({ length: BUCKETS }, () => ({
    run: '',
    epoch: null,
    controls: '',
    accounts: new Map<string, Map<string, string>>(),
    overtaken: new Set<string>(),
  }));
  #alone: MemoryBackend | undefined;
  #writer = '';

  constructor(options: StandbyOptions) {
    this.#options = options;
    const leases = (): LaneLeases => this.#current.leases;
    this.leases = {
      acquire: (...args) => leases().acquire(...args),
      renew: (...args) => leases().renew(...args),
      release: (...args) => leases().release(...args),
    };
  }

  get isAlone(): boolean {
    return this.#alone !== undefined;
  }

  /** From now on everything is kept here. */
  takeOver(): void {
    if (this.#alone !== undefined) return;
    const { clock, historySamples } = this.#options;
    const alone = new MemoryBackend(clock, historySamples);
    for (const [index, image] of this.#images.entries()) {
      // Of another server, as far as the store can tell: nothing here is certain to be the newest.
      const run = image.overtaken.size === 0 ? image.run : `${image.run}, overtaken`;
      if (image.epoch !== null) alone.adopt(index, { ...image, run });
    }
    this.#alone = alone;
  }

  /**
   * Writes what was done alone to the shared backend, and works with that again. Nobody may use this one meanwhile.
   * Rejects with a StoreLostError when the shared one is lost again: everything is kept here then as before.
   */
  async handBack(): Promise<readonly HandedBack[]> {
    const alone = this.#alone;
    if (alone === undefined) return [];
    const { shared, randomText } = this.#options;
    const results: HandedBack[] = [];
    const bases = this.#images.map((image, index) => withFirstSeen(image, alone.accountIds(index)));
    for (const [index, base] of bases.entries()) {
      if (base.accounts.size === 0 && base.epoch === null) continue;
      results.push(
        ...(await handBackBucket({ index, base, alone, shared, writer: this.#writer, randomText })),
      );
    }
    await this.#readAnew(bases);
    this.#alone = undefined;
    return results;
  }

  /** The store above is not told again of what it has: a second loss soon after has to begin with what there is now. */
  async #readAnew(bases: readonly BucketImage[]): Promise<void> {
    for (const [index, { epoch, accounts }] of bases.entries()) {
      const accountIds = [...accounts.keys()];
      if (accountIds.length === 0 && epoch === null) continue;
      const raw = await this.#options.shared.view(index, { writer: '', stamp: '', accountIds, due: null });
      const image = this.#image(index);
      image.accounts.clear();
      image.overtaken.clear();
      this.#noteView(index, raw);
    }
  }

  view(index: number, request: RawRequest): Promise<RawView> {
    return this.#noting(this.#current.view(index, request), (raw) => this.#noteView(index, raw));
  }

  commit(index: number, batch: RawBatch): Promise<RawCommitReply> {
    this.#writer = batch.writer;
    return this.#noting(this.#current.commit(index, batch), (reply) => this.#noteCommit(index, batch, reply));
  }

  startEpoch(index: number, expected: string | null, next: string): Promise<string> {
    return this.#noting(this.#current.startEpoch(index, expected, next), (epoch) => {
      this.#image(index).epoch = epoch;
    });
  }

  setControls(index: number, expected: string, next: string): Promise<string> {
    return this.#noting(this.#current.setControls(index, expected, next), (controls) => {
      this.#image(index).controls = controls;
    });
  }

  /** Takes note of what the shared backend answers, before the caller goes on. */
  #noting<T>(answer: Promise<T>, note: (value: T) => void): Promise<T> {
    if (this.#alone !== undefined) return answer;
    answer.then(
      (value) => {
        if (this.#alone === undefined) note(value);
      },
      () => undefined,
    );
    return answer;
  }

  allControls(): Promise<readonly string[]> {
    return this.#current.allControls();
  }

  makeDue(index: number, accountId: string, inMs: number): Promise<void> {
    return this.#current.makeDue(index, accountId, inMs);
  }

  holdDue(index: number, accountIds: readonly string[], inMs: number): Promise<void> {
    return this.#current.holdDue(index, accountIds, inMs);
  }

  fields(index: number, accountId: string): Promise<ReadonlyMap<string, string>> {
    return this.#current.fields(index, accountId);
  }

  async forget(index: number, accountId: string): Promise<void> {
    await this.#current.forget(index, accountId);
    this.#image(index).accounts.delete(accountId);
  }

  records(index: number, accountId: string, range: RecordRange): Promise<readonly RawRecord[]> {
    return this.#current.records(index, accountId, range);
  }

  file(index: number, accountId: string, hash: string): Promise<string | null> {
    return this.#current.file(index, accountId, hash);
  }

  fileHashes(index: number, accountId: string): Promise<readonly string[]> {
    return this.#current.fileHashes(index, accountId);
  }

  history(index: number, accountId: string, range: HistoryRange): Promise<readonly RawSample[]> {
    return this.#current.history(index, accountId, range);
  }

  get #current(): Backend {
    return this.#alone ?? this.#options.shared;
  }

  #image(index: number): Image {
    const image = this.#images[index];
    if (image === undefined) throw new RangeError(`there is no bucket ${index}`);
    return image;
  }

  #noteView(index: number, { run, epoch, controls, accounts }: RawView): void {
    const image = this.#image(index);
    image.run = run;
    image.epoch = epoch;
    if (controls !== null) image.controls = controls;
    for (const { accountId, header, tally, fields } of accounts) {
      if (fields !== null) image.accounts.set(accountId, new Map(fields));
      const known = image.accounts.get(accountId);
      const isCurrent =
        header === '' || (known?.get('h') === header && (known.get(TALLY_FIELD) ?? '') === tally);
      if (isCurrent) image.overtaken.delete(accountId);
      else image.overtaken.add(accountId);
    }
  }

  #noteCommit(index: number, batch: RawBatch, reply: RawCommitReply): void {
    if (reply.kind !== 'answered') return;
    const image = this.#image(index);
    const outcomes = batch.changes.map((change, place) => ({ change, outcome: reply.outcomes[place] }));
    for (const { change, outcome } of outcomes) {
      if (outcome?.kind === 'committed') noteChange(image, change, outcome);
    }
    const { controls } = batch;
    if (controls !== null && outcomes.every(({ outcome }) => outcome?.kind === 'committed')) {
      image.controls = controls.next;
    }
  }
}

/** With the accounts that this process met only when it was alone: nothing is known of them from before. */
function withFirstSeen(image: Image, accountIds: readonly string[]): BucketImage {
  const firstSeen = accountIds.map((accountId) => [accountId, new Map<string, string>()] as const);
  return { ...image, accounts: new Map([...firstSeen, ...image.accounts]) };
}

function noteChange(
  image: Image,
  change: RawChange,
  {
    tally,
    leftOut,
  }: {
    readonly tally: { readonly before: string; readonly after: string } | null;
    readonly leftOut: readonly string[];
  },
): void {
  const { accountId } = change;
  const fields = image.accounts.get(accountId) ?? new Map<string, string>();
  image.accounts.set(accountId, fields);
  const isNewest = tally === null || (fields.get(TALLY_FIELD) ?? '') === tally.before;
  writeFields(
    fields,
    change,
    change.lanes.filter(({ market }) => !leftOut.includes(market)),
  );
  if (tally !== null) fields.set(TALLY_FIELD, tally.after);
  if (!isNewest) image.overtaken.add(accountId);
}
