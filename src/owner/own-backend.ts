import type { Clock } from '../core/ports/clock.ts';
import {
  type HistoryRange,
  isDecision,
  type RawBatch,
  type RawChange,
  type RawCommitReply,
  type RecordRange,
} from '../state/account/account-backend.ts';
import { MemoryBackend } from '../state/account/backend-memory.ts';
import { createMemoryLeases, type MemoryLeases } from '../state/leases/leases-memory.ts';
import type { Keeper } from './keeper.ts';
import type { TrailFiles } from './trail-files.ts';

/**
 * The state of this process in its memory, with a copy on its own disk: a decision is there before it is acted on. Audit
 * records, attachments and samples leave the memory once they are on the disk.
 */
export class OwnBackend extends MemoryBackend {
  #keeper: Keeper | undefined;
  #trail: TrailFiles | undefined;

  /** `mayAct`: false once another process has taken the accounts over; no lane runs here then. */
  constructor(clock: Clock, historySamples: number, mayAct: () => boolean) {
    super(clock, historySamples, leasesWhile(mayAct, createMemoryLeases(clock)));
  }

  /** From now on changes are kept. What was restored before is on the disk already. */
  keepBy(keeper: Keeper): void {
    this.#keeper = keeper;
  }

  readFrom(trail: TrailFiles): void {
    this.#trail = trail;
  }

  override async commit(index: number, batch: RawBatch): Promise<RawCommitReply> {
    const reply = await super.commit(index, batch);
    const keeper = this.#keeper;
    if (reply.kind !== 'answered' || keeper === undefined) return reply;
    const made = batch.changes.filter((_, place) => reply.outcomes[place]?.kind === 'committed');
    const decided = made.filter(isDecision);
    for (const change of made) {
      removeOld(keeper, change);
      if (!isDecision(change)) keeper.moved(change.accountId);
    }
    const kept = decided.map(({ accountId }) => keeper.changed(accountId));
    if (batch.controls !== null) kept.push(keeper.bucketChanged(index));
    await Promise.all(kept);
    return reply;
  }

  override async startEpoch(index: number, expected: string | null, next: string): Promise<string> {
    const epoch = await super.startEpoch(index, expected, next);
    await this.#keeper?.bucketChanged(index);
    return epoch;
  }

  override async setControls(index: number, expected: string, next: string): Promise<string> {
    const controls = await super.setControls(index, expected, next);
    await this.#keeper?.bucketChanged(index);
    return controls;
  }

  override async forget(index: number, accountId: string): Promise<void> {
    await super.forget(index, accountId);
    await this.#keeper?.forget(accountId);
  }

  override async records(index: number, accountId: string, range: RecordRange) {
    const recent = await super.records(index, accountId, { ...range, count: Number.POSITIVE_INFINITY });
    const firstRecent = recent[0]?.number ?? Number.POSITIVE_INFINITY;
    const earlier = { ...range, to: Math.min(range.to, firstRecent - 1) };
    const kept = (await this.#trail?.records(accountId, earlier)) ?? [];
    const all = [...kept, ...recent];
    return range.newest ? all.slice(Math.max(0, all.length - range.count)) : all.slice(0, range.count);
  }

  override async file(index: number, accountId: string, hash: string): Promise<string | null> {
    return (await super.file(index, accountId, hash)) ?? (await this.#trail?.file(accountId, hash)) ?? null;
  }

  override async fileHashes(index: number, accountId: string): Promise<readonly string[]> {
    const recent = await super.fileHashes(index, accountId);
    return [...new Set([...recent, ...((await this.#trail?.fileHashes(accountId)) ?? [])])];
  }

  override async history(index: number, accountId: string, range: HistoryRange) {
    const recent = await super.history(index, accountId, range);
    const firstRecent = recent[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const earlier = { ...range, toMs: Math.min(range.toMs, firstRecent - 1) };
    const kept = (await this.#trail?.history(accountId, earlier)) ?? [];
    const all = [...kept, ...recent];
    return all.slice(Math.max(0, all.length - range.count));
  }
}

function removeOld(keeper: Keeper, { accountId, trimBefore, removeFiles }: RawChange): void {
  if (trimBefore > 0 || removeFiles.length > 0) keeper.outdated(accountId, { trimBefore, removeFiles });
}

const ASK_AGAIN_MS = 1_000;

function leasesWhile(mayAct: () => boolean, leases: MemoryLeases): MemoryLeases {
  return {
    async acquire(...request) {
      if (mayAct()) return await leases.acquire(...request);
      return { kind: 'busy', by: 'another process', retryInMs: ASK_AGAIN_MS };
    },
    renew: async (...request) => (mayAct() ? await leases.renew(...request) : 'lost'),
    release: (lease) => leases.release(lease),
    isHeld: (...lease) => mayAct() && leases.isHeld(...lease),
  };
}
