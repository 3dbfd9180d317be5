import type { Clock } from '../../core/ports/clock.ts';
import { BUCKETS } from '../../core/ports/state-store.ts';
import { createMemoryLeases, type MemoryLeases } from '../leases/leases-memory.ts';
import { pairsOf } from '../redis-scripts.ts';
import {
  type Backend,
  CLOCK_MEMBER,
  CLOCK_STEP_MS,
  type HistoryRange,
  leavesTally,
  type RawAccount,
  type RawBatch,
  type RawChange,
  type RawCommitReply,
  type RawLaneChange,
  type RawOutcome,
  type RawRecord,
  type RawRequest,
  type RawSample,
  type RawStand,
  type RawView,
  type RecordRange,
  STAMP_LENGTH,
} from './account-backend.ts';
import { HEADER_FIELD, laneField, laneHeaderField, TALLY_FIELD } from './documents.ts';
import { readTally, writeTally } from './header.ts';

/** All that one process knows of a bucket. */
export interface BucketImage {
  /** Identity of the server it was read from. */
  readonly run: string;
  readonly epoch: string | null;
  readonly controls: string;
  /** Fields by account, header and tally included. */
  readonly accounts: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

interface Account {
  readonly fields: Map<string, string>;
  records: RawRecord[];
  readonly files: Map<string, string>;
  history: RawSample[];
}

/** Data of an account that a shared backend may lack. */
export interface HeldAccount {
  readonly fields: ReadonlyMap<string, string>;
  readonly records: readonly RawRecord[];
  readonly files: ReadonlyMap<string, string>;
  readonly history: readonly RawSample[];
}

interface Bucket {
  run: string;
  epoch: string | null;
  controls: string;
  readonly due: Map<string, number>;
  readonly accounts: Map<string, Account>;
}

const NOTHING_HELD = { records: [], files: new Map<string, string>() };

/** State within one process; several stores may share one backend, as several processes share one Redis. */
export class MemoryBackend implements Backend {
  readonly leases: MemoryLeases;
  readonly #clock: Clock;
  readonly #historySamples: number;
  readonly #buckets: readonly Bucket[] = Array.from({ length: BUCKETS }, () => ({
    run: 'memory',
    epoch: null,
    controls: '',
    due: new Map(),
    accounts: new Map(),
  }));

  constructor(clock: Clock, historySamples: number, leases = createMemoryLeases(clock)) {
    this.#clock = clock;
    this.#historySamples = historySamples;
    this.leases = leases;
  }

  /** Takes over a known bucket, as if it had been here before. */
  adopt(index: number, { run, epoch, controls, accounts }: BucketImage): void {
    const bucket = this.#bucket(index);
    Object.assign(bucket, { run, epoch, controls });
    for (const [accountId, fields] of accounts) this.restore(index, { accountId, fields, ...NOTHING_HELD });
  }

  /** Restores an account that a process carried before. */
  restore(
    index: number,
    { accountId, fields, records, files }: Omit<HeldAccount, 'history'> & { readonly accountId: string },
  ): void {
    this.#bucket(index).accounts.set(accountId, {
      fields: new Map(fields),
      records: [...records],
      files: new Map(files),
      history: [],
    });
  }

  stateOf(index: number): Pick<BucketImage, 'run' | 'epoch' | 'controls'> {
    const { run, epoch, controls } = this.#bucket(index);
    return { run, epoch, controls };
  }

  accountIds(index: number): readonly string[] {
    return [...this.#bucket(index).accounts.keys()];
  }

  held(index: number, accountId: string): HeldAccount | undefined {
    return this.#bucket(index).accounts.get(accountId);
  }

  /** Gives up records, attachments and samples that are kept elsewhere now; what came meanwhile stays. */
  drain(index: number, accountId: string, { records, files, history }: Omit<HeldAccount, 'fields'>): void {
    const account = this.#bucket(index).accounts.get(accountId);
    if (account === undefined) return;
    const lastNumber = records.at(-1)?.number ?? 0;
    account.records = account.records.filter(({ number }) => number > lastNumber);
    for (const hash of files.keys()) account.files.delete(hash);
    const drained = new Set(history);
    account.history = account.history.filter((sample) => !drained.has(sample));
  }

  async view(index: number, request: RawRequest): Promise<RawView> {
    const bucket = this.#bucket(index);
    const taken = request.due === null ? request.accountIds : this.#take(bucket, request, request.due);
    const known = bucket.controls !== '' && bucket.controls.slice(0, STAMP_LENGTH) === request.stamp;
    return {
      run: bucket.run,
      epoch: bucket.epoch,
      controls: known ? null : bucket.controls,
      accounts: taken.map((accountId) => readRaw(bucket, accountId, request.writer)),
      nextDueInMs: request.due === null ? null : this.#nextDue(bucket, request.accountIds),
      nowMs: request.due === null ? null : this.#clock.nowMs(),
    };
  }

  async stands(index: number, accountIds: readonly string[]): Promise<readonly RawStand[]> {
    const { accounts } = this.#bucket(index);
    return accountIds.map((accountId) => standIn(accountId, accounts.get(accountId)?.fields));
  }

  async commit(index: number, batch: RawBatch): Promise<RawCommitReply> {
    const bucket = this.#bucket(index);
    if (bucket.epoch !== batch.epoch) return { kind: 'epochChanged' };
    const { controls } = bucket;
    const stamp = controls.slice(0, STAMP_LENGTH);
    const isStale = batch.controls !== null && batch.controls.expected !== stamp;
    const outcomes = batch.changes.map((change) => {
      const outcome = this.#judge(bucket, change, stamp, isStale);
      return outcome ?? this.#apply(bucket, batch.writer, change);
    });
    if (batch.controls !== null && outcomes.every(({ kind }) => kind === 'committed')) {
      bucket.controls = batch.controls.next;
    }
    return { kind: 'answered', run: bucket.run, outcomes, controls };
  }

  async startEpoch(index: number, expected: string | null, next: string): Promise<string> {
    const bucket = this.#bucket(index);
    if (bucket.epoch === expected) bucket.epoch = next;
    return bucket.epoch ?? '';
  }

  learnControls(index: number, controls: string): void {
    this.#bucket(index).controls = controls;
  }

  async setControls(index: number, expected: string, next: string): Promise<string> {
    const bucket = this.#bucket(index);
    if (bucket.controls.slice(0, STAMP_LENGTH) === expected) bucket.controls = next;
    return bucket.controls;
  }

  async allControls(): Promise<readonly string[]> {
    return this.#buckets.map(({ controls }) => controls);
  }

  async makeDue(index: number, accountId: string, inMs: number): Promise<void> {
    const { due } = this.#bucket(index);
    const atMs = this.#clock.monotonicMs() + inMs;
    due.set(accountId, Math.min(atMs, due.get(accountId) ?? atMs));
  }

  async fields(index: number, accountId: string): Promise<ReadonlyMap<string, string>> {
    return new Map(this.#bucket(index).accounts.get(accountId)?.fields);
  }

  async forget(index: number, accountId: string): Promise<void> {
    const bucket = this.#bucket(index);
    bucket.accounts.delete(accountId);
    bucket.due.delete(accountId);
  }

  async records(index: number, accountId: string, { from, to, count, newest }: RecordRange) {
    const all = this.#bucket(index).accounts.get(accountId)?.records ?? [];
    const found = all.filter(({ number }) => number >= from && number <= to);
    return newest ? found.slice(Math.max(0, found.length - count)) : found.slice(0, count);
  }

  async holdDue(index: number, accountIds: readonly string[], inMs: number): Promise<void> {
    const { due } = this.#bucket(index);
    const now = this.#clock.monotonicMs();
    for (const accountId of accountIds) {
      const atMs = due.get(accountId) ?? 0;
      if (atMs > now) due.set(accountId, Math.max(atMs, now + inMs));
    }
  }

  async file(index: number, accountId: string, hash: string): Promise<string | null> {
    return this.#bucket(index).accounts.get(accountId)?.files.get(hash) ?? null;
  }

  async fileHashes(index: number, accountId: string): Promise<readonly string[]> {
    return [...(this.#bucket(index).accounts.get(accountId)?.files.keys() ?? [])];
  }

  async history(index: number, accountId: string, { fromMs, toMs, count }: HistoryRange) {
    const all = this.#bucket(index).accounts.get(accountId)?.history ?? [];
    const found = all.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    return found.slice(Math.max(0, found.length - count));
  }

  #bucket(index: number): Bucket {
    const bucket = this.#buckets[index];
    if (bucket === undefined) throw new RangeError(`there is no bucket ${index}`);
    return bucket;
  }

  #take(bucket: Bucket, request: RawRequest, due: NonNullable<RawRequest['due']>): readonly string[] {
    const now = this.#clock.monotonicMs();
    const hasSteppedBack = (bucket.due.get(CLOCK_MEMBER) ?? 0) > now + CLOCK_STEP_MS;
    const isDue = (atMs: number): boolean => atMs <= now || atMs > now + due.maxAheadMs || hasSteppedBack;
    bucket.due.set(CLOCK_MEMBER, now);
    const taken = request.accountIds.filter((accountId) => isDue(bucket.due.get(accountId) ?? 0));
    for (const accountId of taken) bucket.due.set(accountId, now + due.claimMs);
    return taken;
  }

  #nextDue(bucket: Bucket, accountIds: readonly string[]): number | null {
    if (accountIds.length === 0) return null;
    const next = Math.min(...accountIds.map((accountId) => bucket.due.get(accountId) ?? 0));
    return Math.max(0, next - this.#clock.monotonicMs());
  }

  /** Why the change is refused; undefined: it is made. */
  #judge(bucket: Bucket, change: RawChange, stamp: string, isStale: boolean): RawOutcome | undefined {
    const { accountId, expected, lease, lanes } = change;
    const account = bucket.accounts.get(accountId);
    const isChanged = expected !== null && (account?.fields.get(HEADER_FIELD) ?? '') !== expected;
    if (isChanged || lanes.some((lane) => !lane.isSeparable && !isExpected(account, lane))) {
      return { kind: 'conflict' };
    }
    if (isStale || (change.stamp !== null && change.stamp !== stamp)) return { kind: 'controlsChanged' };
    if (lease !== null && !this.leases.isHeld(accountId, lease.market, lease.token)) {
      return { kind: 'leaseLost' };
    }
    const hasRecords = change.records.length > 0 || lanes.some(({ records }) => records.length > 0);
    const isContradicted = (account?.records.at(-1)?.number ?? 0) > lastNumberOf(account, change);
    return hasRecords && isContradicted ? { kind: 'auditContradicts' } : undefined;
  }

  #apply(bucket: Bucket, writer: string, change: RawChange): RawOutcome {
    const { accountId } = change;
    const none: Account = { fields: new Map(), records: [], files: new Map(), history: [] };
    const account = bucket.accounts.get(accountId) ?? none;
    bucket.accounts.set(accountId, account);
    const { fields } = account;
    const lanes = change.lanes.filter((lane) => isExpected(account, lane));
    const leftOut = change.lanes.filter((lane) => !lanes.includes(lane)).map(({ market }) => market);
    let number = lastNumberOf(account, change);
    for (const record of [...change.records, ...lanes.flatMap(({ records }) => records)]) {
      account.records.push({ ...record, number: (number += 1) });
    }
    writeFields(fields, change, lanes);
    this.#applyOthers(bucket, account, change);
    if (!leavesTally(change)) return { kind: 'committed', tally: null, leftOut };
    const before = fields.get(TALLY_FIELD) ?? '';
    const after = writeTally({ writer, count: readTally(before).count + 1, lastNumber: number });
    fields.set(TALLY_FIELD, after);
    return { kind: 'committed', tally: { before, after }, leftOut };
  }

  #applyOthers(bucket: Bucket, account: Account, change: RawChange): void {
    const { accountId } = change;
    if (change.trimBefore > 0) {
      account.records = account.records.filter(({ number }) => number >= change.trimBefore);
    }
    for (const [hash, text] of pairsOf(change.files)) account.files.set(hash, text);
    for (const hash of change.removeFiles) account.files.delete(hash);
    if (change.history.length > 0) {
      account.history.push({ atMs: this.#clock.nowMs(), values: new Map(pairsOf(change.history)) });
      account.history.splice(0, Math.max(0, account.history.length - this.#historySamples));
    }
    if (change.dueInMs !== null) bucket.due.set(accountId, this.#clock.monotonicMs() + change.dueInMs);
  }
}

/** Applies a change to the fields of its account, except for the tally. */
export function writeFields(
  fields: Map<string, string>,
  change: RawChange,
  lanes: readonly RawLaneChange[],
): void {
  if (change.expected !== null) fields.set(HEADER_FIELD, change.header);
  for (const [field, text] of pairsOf(change.set)) fields.set(field, text);
  for (const field of change.remove) fields.delete(field);
  for (const { market, expected, header, text } of lanes) {
    if (header !== expected) fields.set(laneHeaderField(market), header);
    if (text === null) fields.delete(laneField(market));
    else if (text !== undefined) fields.set(laneField(market), text);
  }
}

function isExpected(account: Account | undefined, { market, expected }: RawLaneChange): boolean {
  return (account?.fields.get(laneHeaderField(market)) ?? '') === expected;
}

function lastNumberOf(account: Account | undefined, { lastNumber }: RawChange): number {
  const tally = account?.fields.get(TALLY_FIELD);
  return tally === undefined ? lastNumber : readTally(tally).lastNumber;
}

function readRaw(bucket: Bucket, accountId: string, writer: string): RawAccount {
  const fields = bucket.accounts.get(accountId)?.fields;
  const stand = standIn(accountId, fields);
  const isOwn = stand.header.split('|', 2)[1] === writer && stand.tally.startsWith(`${writer}|`);
  return { ...stand, fields: fields === undefined || isOwn ? null : new Map(fields) };
}

function standIn(accountId: string, fields: ReadonlyMap<string, string> | undefined): RawStand {
  return { accountId, header: fields?.get(HEADER_FIELD) ?? '', tally: fields?.get(TALLY_FIELD) ?? '' };
}
