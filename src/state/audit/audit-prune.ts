import { createHash } from 'node:crypto';
import type { AuditExporter, PruneRequest, PruneResult } from '../../core/ports/audit-reader.ts';
import { bucketOf, type StoredAccount } from '../../core/ports/state-store.ts';
import type { Backend, RawRecord } from '../account/account-backend.ts';
import type { AccountStore } from '../account/account-store.ts';
import { readRecord } from './audit-chain.ts';

/** Records read at once. */
export const RECORD_PAGE = 500;
const COMMIT_ATTEMPTS = 20;
const NOTHING: PruneResult = { pruned: 0, lastSeq: 0, exportSha256: null };

export interface Pruning {
  readonly result: PruneResult;
  /** The account afterwards. */
  readonly account: StoredAccount;
}

export type PruneBounds = Omit<PruneRequest, 'exporter'> & { readonly exporter: AuditExporter | null };

/** All records from `fromSeq` to `toSeq`, page by page. */
export async function* recordsBetween(
  backend: Backend,
  accountId: string,
  fromSeq: number,
  toSeq: number,
): AsyncGenerator<RawRecord> {
  const bucket = bucketOf(accountId);
  for (let next = fromSeq; next <= toSeq; ) {
    const range = { fromSeq: next, toSeq, count: RECORD_PAGE, newest: false };
    const page = await backend.records(bucket, accountId, range);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < RECORD_PAGE) return;
    next = last.seq + 1;
  }
}

/**
 * Takes the oldest records away: written out first, then removed by the very commit that chains the checkpoint
 * which stands for them, together with the attachments that no remaining record names.
 */
export async function pruneChain(
  store: AccountStore,
  backend: Backend,
  accountId: string,
  bounds: PruneBounds,
): Promise<Pruning> {
  let account = await loaded(store, accountId);
  const header = await store.headerOf(accountId);
  if (header === undefined) return { result: NOTHING, account };
  const upTo = header.seq - bounds.keepRecords;
  const exported = await exportRecords(backend, accountId, header.firstSeq, upTo, bounds);
  if (exported.last === undefined) return { result: NOTHING, account };
  const { last, exportSha256 } = exported;
  for (let attempt = 0; attempt < COMMIT_ATTEMPTS; attempt++) {
    const unnamed = await unnamedFiles(store, backend, accountId, last.seq + 1);
    const [committed] = await store.commit([
      {
        base: account,
        trimBefore: last.seq + 1,
        removeFiles: unnamed,
        storeRecords: [
          {
            kind: 'checkpoint',
            atMs: bounds.atMs,
            lastSeq: last.seq,
            lastHash: last.hash,
            exportSha256,
            reason: bounds.reason,
          },
        ],
      },
    ]);
    if (committed?.kind === 'committed') {
      const result = { pruned: exported.count, lastSeq: last.seq, exportSha256 };
      return { result, account: committed.account };
    }
    account = await loaded(store, accountId);
  }
  return { result: NOTHING, account };
}

async function loaded(store: AccountStore, accountId: string): Promise<StoredAccount> {
  const { load } = await store.read(accountId);
  if (load.kind === 'refused') throw new Error(load.problem.message);
  return load.account;
}

interface Exported {
  readonly last: { readonly seq: number; readonly hash: string } | undefined;
  readonly count: number;
  readonly exportSha256: string | null;
}

async function exportRecords(
  backend: Backend,
  accountId: string,
  fromSeq: number,
  toSeq: number,
  bounds: PruneBounds,
): Promise<Exported> {
  const { exporter, olderThanMs = Number.POSITIVE_INFINITY } = bounds;
  const digest = createHash('sha256');
  const files = new Set<string>();
  let last: Exported['last'];
  let count = 0;
  const write = async (line: string): Promise<void> => {
    digest.update(`${line}\n`, 'utf8');
    await exporter?.write(line);
  };
  for await (const raw of recordsBetween(backend, accountId, fromSeq, toSeq)) {
    const { record } = readRecord(accountId, raw);
    if (record.atMs >= olderThanMs) break;
    await write(`${raw.hash} ${raw.text}`);
    for (const hash of Object.values(record.attachments)) files.add(hash);
    last = { seq: raw.seq, hash: raw.hash };
    count += 1;
  }
  if (exporter === null || last === undefined) return { last, count, exportSha256: null };
  for (const hash of files)
    await write(`${hash} ${await backend.file(bucketOf(accountId), accountId, hash)}`);
  await exporter.end();
  return { last, count, exportSha256: digest.digest('hex') };
}

/** Attachments that no record from `fromSeq` on names. */
async function unnamedFiles(
  store: AccountStore,
  backend: Backend,
  accountId: string,
  fromSeq: number,
): Promise<readonly string[]> {
  const unnamed = new Set(await backend.fileHashes(bucketOf(accountId), accountId));
  const header = await store.headerOf(accountId);
  for await (const raw of recordsBetween(backend, accountId, fromSeq, header?.seq ?? 0)) {
    for (const hash of Object.values(readRecord(accountId, raw).record.attachments)) unnamed.delete(hash);
  }
  return [...unnamed];
}
