import { type Controls, NO_CONTROLS } from '../../core/controls/controls.ts';
import type { Clock } from '../../core/ports/clock.ts';
import {
  type AccountLoad,
  BUCKETS,
  type BucketView,
  bucketOf,
  type CommitResult,
  type DiscardRequest,
  type DueView,
  type EpochStart,
  type LaneLeases,
  type ReadOptions,
  type RefusedAccount,
  type StateStore,
  type StoredAccount,
  type StoreEpoch,
  type TakeDueRequest,
} from '../../core/ports/state-store.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import { type ControlsReader, readControls } from '../controls/controls-text.ts';
import type {
  Backend,
  RawAccount,
  RawBatch,
  RawCommitReply,
  RawRequest,
  RawView,
} from './account-backend.ts';
import { byBucket, type InternalCommit, type PreparedChange, prepareChange } from './change.ts';
import { DocumentError, fieldsOf, HEADER_FIELD, marketOf, readDocuments, textsOf } from './documents.ts';
import { type Entry, emptyEntry, isAllOf, isCoveredBy, NO_FILES, newestSeen, type Seen } from './entry.ts';
import { readEpoch, readHeader, readTally, type StoredEpoch, WRITER_LENGTH, writeEpoch } from './header.ts';
import { contradiction, knownHeader, rawEntry, type Trail, trailOf } from './raw-entry.ts';
import { settleChange } from './settle-change.ts';

export interface AccountStoreOptions {
  readonly backend: Backend;
  readonly clock: Clock;
  /** Returns `length` random letters and digits. */
  readonly randomText: (length: number) => string;
  readonly redact: Conceal;
  readonly controls: ControlsReader;
  readonly historyEveryMs: number;
  /** Most accounts kept in the memory of this process. */
  readonly remembered: number;
  /** An account with more records is pruned after the commit that added the last. */
  readonly mostAuditRecords: number;
  /** Resolves to the account after pruning. */
  readonly pruneAudit: (account: StoredAccount) => Promise<StoredAccount>;
}

/** An account as sent, with what this process remembers of it. */
interface Found {
  readonly account: RawAccount;
  readonly known: Entry | undefined;
}

interface Asked {
  readonly raw: RawView;
  /** What was seen before the request was sent: what is learnt meanwhile may be newer than the answer. */
  readonly before: ReadonlyMap<string, Seen | undefined>;
}

const EPOCH_ATTEMPTS = 5;
const DISCARD_ATTEMPTS = 100;
const EPOCH_ID_LENGTH = 10;

/** State of accounts over any backend: documents, store epochs, versions, and the memory of this process. */
export class AccountStore implements StateStore {
  readonly leases: LaneLeases;
  readonly #options: AccountStoreOptions;
  readonly #backend: Backend;
  readonly #writer: string;
  readonly #entries = new Map<string, Entry>();
  #seen = new Map<string, Seen>();
  /** Entries of the accounts handed out, for as long as a caller keeps the account. */
  readonly #entryOf = new WeakMap<StoredAccount, Entry>();
  readonly #epochs: (StoredEpoch | undefined)[] = Array.from({ length: BUCKETS });
  readonly #controls: Controls[] = Array.from({ length: BUCKETS }, () => NO_CONTROLS);

  constructor(options: AccountStoreOptions) {
    this.#options = options;
    this.#backend = options.backend;
    this.leases = options.backend.leases;
    this.#writer = options.randomText(WRITER_LENGTH);
  }

  async takeDue(bucket: number, { accountIds, claimMs, maxAheadMs }: TakeDueRequest): Promise<DueView> {
    const due = { claimMs: Math.round(claimMs), maxAheadMs: Math.round(maxAheadMs) };
    const { view, raw } = await this.#view(bucket, accountIds, due);
    const nextDueInMs = raw.nextDueInMs && Math.min(raw.nextDueInMs, Math.max(due.claimMs, due.maxAheadMs));
    return { ...view, nextDueInMs, storeMs: raw.nowMs ?? this.#options.clock.nowMs() };
  }

  async holdClaims(bucket: number, accountIds: readonly string[], claimMs: number): Promise<void> {
    if (accountIds.length > 0) await this.#backend.holdDue(bucket, accountIds, Math.round(claimMs));
  }

  async readBucket(
    bucket: number,
    accountIds: readonly string[],
    { remember = true }: ReadOptions = {},
  ): Promise<BucketView> {
    return (await this.#view(bucket, accountIds, null, remember)).view;
  }

  async read(accountId: string): Promise<{ readonly load: AccountLoad; readonly controls: Controls }> {
    const { accounts, controls } = await this.readBucket(bucketOf(accountId), [accountId]);
    return { load: accounts[0]!, controls };
  }

  /** Commits, and replaces the controls of the bucket in the same step, if there are new ones. */
  async commit(
    changes: readonly InternalCommit[],
    controls: RawBatch['controls'] = null,
  ): Promise<readonly CommitResult[]> {
    const results = await byBucket(changes, (bucket, group) => this.#commitBucket(bucket, group, controls));
    const isBeyond = results.some((result) => this.#isBeyondBound(result));
    return isBeyond ? Promise.all(results.map((result) => this.#bounded(result))) : results;
  }

  async makeDue(accountId: string, inMs: number): Promise<void> {
    await this.#backend.makeDue(bucketOf(accountId), accountId, Math.max(0, Math.round(inMs)));
  }

  /** Forgets everything seen, because the backend was changed. Nothing read before can be the base of a commit. */
  forgetAll(): void {
    this.#epochs.fill(undefined);
    this.#entries.clear();
    this.#seen = new Map();
  }

  remembered(accountId: string): StoredAccount | undefined {
    return this.#entries.get(accountId)?.account;
  }

  async discard(accountId: string, request: DiscardRequest): Promise<boolean> {
    const { document, author, reason, atMs } = request;
    const bucket = bucketOf(accountId);
    const fields = fieldsOf(document);
    const [field] = fields;
    for (let attempt = 0; ; attempt++) {
      const { epoch } = await this.readBucket(bucket, []);
      const texts = await this.#backend.fields(bucket, accountId);
      if (!texts.has(field) || field === HEADER_FIELD) return false;
      const entry = rawEntry(accountId, texts, epoch);
      const words = `${author} discarded the stored ${document}: ${reason}`;
      const note = { kind: 'note', atMs, about: 'documentDiscarded', words } as const;
      const found = fields.filter((name) => texts.has(name));
      const named = found.map((name) => [name === field ? document : name, texts.get(name)]);
      const attachments = Object.fromEntries(named);
      const audit = [{ ...note, detail: { document, author, reason }, attachments }];
      const base = entry.account;
      const market = marketOf(document);
      const removed = market === null ? { removeFields: found } : { lanes: new Map([[market, null]]) };
      this.#entryOf.set(base, entry);
      const [result] = await this.#commitBucket(bucket, [{ base, audit, ...removed }], null);
      this.#entries.delete(accountId);
      if (result?.kind === 'committed') return true;
      if (result?.kind === 'refused')
        throw new DocumentError(result.problem.code, document, result.problem.message);
      if (attempt >= DISCARD_ATTEMPTS)
        throw new Error(`account ${accountId} changes faster than it can be read`);
    }
  }

  async forget(accountId: string): Promise<void> {
    await this.#backend.forget(bucketOf(accountId), accountId);
    this.#entries.delete(accountId);
    this.#seen.delete(accountId);
  }

  /** The end of an account's audit trail, even if its documents cannot be read. */
  async trailOf(accountId: string): Promise<Trail | undefined> {
    return trailOf(await this.#backend.fields(bucketOf(accountId), accountId));
  }

  async #view(
    bucket: number,
    accountIds: readonly string[],
    due: RawRequest['due'],
    remember = true,
  ): Promise<{ view: BucketView; raw: RawView }> {
    let asked = await this.#ask(bucket, accountIds, due);
    const { raw } = asked;
    // Claimed accounts stay claimed: if they must be read again, then whether due or not.
    const taken = raw.accounts.map(({ accountId }) => accountId);
    for (let attempt = 0; attempt < EPOCH_ATTEMPTS; attempt++) {
      const start = this.#epochToStart(bucket, asked);
      if (start === undefined) return { view: await this.#show(bucket, asked.raw, remember), raw };
      await this.#startEpoch(bucket, asked.raw, start);
      asked = await this.#ask(bucket, taken, null);
    }
    throw new Error(`bucket ${bucket} changes its store epoch faster than it can be read`);
  }

  async #ask(bucket: number, accountIds: readonly string[], due: RawRequest['due']): Promise<Asked> {
    const seen = this.#seen;
    const before = new Map(accountIds.map((accountId) => [accountId, seen.get(accountId)]));
    const { stamp } = this.#controls[bucket]!;
    const raw = await this.#backend.view(bucket, { writer: this.#writer, stamp, accountIds, due });
    return { raw, before: this.#seen === seen ? before : new Map() };
  }

  /** Why a new store epoch must begin before this view may be used; undefined: it need not. */
  #epochToStart(bucket: number, { raw, before }: Asked): EpochStart | undefined {
    const stored = readEpoch(raw.epoch);
    if (stored === undefined) return 'empty';
    if (stored.run !== raw.run) return 'serverChanged';
    if (this.#epochs[bucket]?.text !== stored.text) this.#epochs[bucket] = stored;
    const isRolledBack = raw.accounts.some(({ accountId, header, tally }) => {
      const seen = before.get(accountId);
      if (seen === undefined || seen.epoch !== stored.epoch.id) return false;
      if (seen.tally !== tally && readTally(tally).count <= readTally(seen.tally).count) return true;
      if (seen.headerText === header) return false;
      const parsed = readHeader(header);
      return 'writer' in parsed ? parsed.version <= seen.version : header === '';
    });
    return isRolledBack ? 'rolledBack' : undefined;
  }

  /** The next look adopts it, or the one that another process has started. */
  async #startEpoch(bucket: number, raw: RawView, why: EpochStart): Promise<void> {
    const { clock, randomText } = this.#options;
    const epoch = { id: randomText(EPOCH_ID_LENGTH), why, sinceMs: clock.nowMs() };
    await this.#backend.startEpoch(bucket, raw.epoch, writeEpoch(epoch, raw.run));
  }

  async #show(bucket: number, raw: RawView, remember: boolean): Promise<BucketView> {
    const { epoch } = this.#epochs[bucket]!;
    if (raw.controls !== null) this.#controls[bucket] = readControls(raw.controls, this.#options.controls);
    const complete = await this.#complete(bucket, raw.accounts);
    const loads = complete.map(({ account, known }): AccountLoad => {
      const read = this.#read(bucket, account, known, epoch);
      if ('problem' in read) return { kind: 'refused', problem: read.problem };
      if (remember) this.#remember(read);
      return { kind: 'loaded', account: read.account };
    });
    const dangerOf = (load: AccountLoad): number =>
      load.kind === 'loaded' ? load.account.danger : Number.NEGATIVE_INFINITY;
    const accounts = loads.sort((a, b) => dangerOf(b) - dangerOf(a));
    return { bucket, epoch, controls: this.#controls[bucket]!, accounts };
  }

  /**
   * Reads fields that were not sent because this process wrote them, if it does not remember them. `known` is looked
   * up once, as the memory may change meanwhile.
   */
  async #complete(bucket: number, accounts: readonly RawAccount[]): Promise<readonly Found[]> {
    const found = accounts.map((account) => ({ account, known: this.#entries.get(account.accountId) }));
    const missing = found.filter(
      ({ account, known }) => account.header !== '' && account.fields === null && !isAllOf(known, account),
    );
    if (missing.length === 0) return found;
    const accountIds = missing.map(({ account }) => account.accountId);
    const request = { writer: '', stamp: this.#controls[bucket]!.stamp, accountIds, due: null };
    const again = await this.#backend.view(bucket, request);
    const sent = new Map(again.accounts.map((account) => [account.accountId, account]));
    return found.map(({ account, known }) => ({ account: sent.get(account.accountId) ?? account, known }));
  }

  #read(
    bucket: number,
    raw: RawAccount,
    known: Entry | undefined,
    epoch: StoreEpoch,
  ): Entry | { readonly problem: RefusedAccount } {
    const { accountId, header: headerText, tally: text } = raw;
    if (headerText === '') {
      if (bucketOf(accountId) === bucket) return emptyEntry(accountId, epoch);
      throw new RangeError(`account ${accountId} is not of bucket ${bucket}`);
    }
    const isAll = isAllOf(known, raw);
    if (isAll && known.account.epoch === epoch) return known;
    let version = 0;
    try {
      const header = knownHeader(accountId, headerText);
      version = header.version;
      const texts = isAll ? known.texts : raw.fields && textsOf(raw.fields);
      if (texts === null) throw new Error(`the fields of account ${accountId} were not sent`);
      this.#note(accountId, { epoch: epoch.id, version, headerText, tally: text });
      const isNewEpoch = header.epoch !== epoch.id;
      const read = readDocuments(accountId, texts, known && { ...known.account, texts: known.texts });
      const revision = `${headerText} ${text}`;
      const account = { accountId, version, epoch, isNewEpoch, ...read, danger: header.danger, revision };
      const isSameSweep = known?.header.sweep === header.sweep && known.account.epoch === epoch;
      const files = isSameSweep ? known.files : NO_FILES;
      const tally = { text, isComplete: true };
      return { account, headerText, header, tally, texts, files };
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      const { code, document, message } = error;
      return { problem: { accountId, version, document, code, message } };
    }
  }

  #remember(entry: Entry): void {
    const { account, headerText, tally } = entry;
    const kept = this.#entries.get(account.accountId);
    if (kept === entry) return;
    this.#entryOf.set(account, entry);
    if (kept?.account.epoch === account.epoch && !isCoveredBy(kept, entry)) return;
    this.#entries.delete(account.accountId);
    this.#entries.set(account.accountId, entry);
    if (account.version > 0) {
      const { version, epoch } = account;
      this.#note(account.accountId, { epoch: epoch.id, version, headerText, tally: tally.text });
    }
    if (this.#entries.size <= this.#options.remembered) return;
    const [oldest = ''] = this.#entries.keys();
    this.#entries.delete(oldest);
  }

  #note(accountId: string, now: Seen): void {
    this.#seen.set(accountId, newestSeen(this.#seen.get(accountId), now));
  }

  async #commitBucket(
    bucket: number,
    group: readonly InternalCommit[],
    controls: RawBatch['controls'],
  ): Promise<readonly CommitResult[]> {
    const epoch = this.#epochs[bucket];
    const { clock, historyEveryMs, redact, controls: reader } = this.#options;
    const { trust } = reader;
    const context = { writer: this.#writer, nowMs: clock.nowMs(), historyEveryMs, redact, trust };
    const prepared = group.map((commit) => {
      const entry = this.#entryOf.get(commit.base);
      if (entry === undefined) throw new TypeError('a commit is based on what this store has read');
      return epoch !== undefined && entry.account.epoch === epoch.epoch
        ? prepareChange(entry, commit, context)
        : undefined;
    });
    const sent = prepared.filter((change) => change !== undefined);
    if (epoch === undefined || sent.length === 0) return group.map(() => ({ kind: 'epochChanged' }));
    const changes = sent.map(({ raw }) => raw);
    const batch = { epoch: epoch.text, writer: this.#writer, changes, controls };
    const seen = this.#seen;
    const reply = await this.#backend.commit(bucket, batch);
    const answers = this.#answers(epoch, sent, reply, this.#seen === seen);
    let next = 0;
    return prepared.map((change) => (change === undefined ? { kind: 'epochChanged' } : answers[next++]!));
  }

  /** `isCurrent`: no `forgetAll` has come in between; otherwise the results are not remembered. */
  #answers(
    epoch: StoredEpoch,
    sent: readonly PreparedChange[],
    reply: RawCommitReply,
    isCurrent: boolean,
  ): readonly CommitResult[] {
    const isOther = reply.kind === 'epochChanged' || reply.run !== epoch.run;
    if (isOther) return sent.map(() => ({ kind: 'epochChanged' }));
    return sent.map((change, index): CommitResult => {
      const outcome = reply.outcomes[index]!;
      const { kind } = outcome;
      if (kind === 'controlsChanged')
        return { kind, controls: readControls(reply.controls, this.#options.controls) };
      if (kind === 'auditContradicts') return contradiction(change.base.account);
      if (kind !== 'committed') return { kind };
      const next = settleChange(change, outcome, this.#entries.get(change.raw.accountId));
      if (isCurrent) this.#remember(next);
      else this.#entryOf.set(next.account, next);
      return { kind, account: next.account, leftOut: outcome.leftOut };
    });
  }

  #isBeyondBound(result: CommitResult): boolean {
    if (result.kind !== 'committed') return false;
    const entry = this.#entryOf.get(result.account);
    if (entry === undefined) return false;
    const { lastNumber } = readTally(entry.tally.text);
    return lastNumber - entry.header.firstNumber + 1 > this.#options.mostAuditRecords;
  }

  async #bounded(result: CommitResult): Promise<CommitResult> {
    if (result.kind !== 'committed' || !this.#isBeyondBound(result)) return result;
    return { ...result, account: await this.#options.pruneAudit(result.account) };
  }
}
