import { createHash } from 'node:crypto';
import { GENESIS_HASH } from '../../core/audit/audit-record.ts';
import type { AuditExporter, PruneRequest, PruneResult } from '../../core/ports/audit-reader.ts';
import { bucketOf, type StoredAccount } from '../../core/ports/state-store.ts';
import type { Backend, RawRecord } from '../account/account-backend.ts';
import type { AccountStore } from '../account/account-store.ts';
import { DocumentError } from '../account/documents.ts';
import { readRecord } from './audit-chain.ts';

/** Records per read. */
export const RECORD_PAGE = 500;
const COMMIT_ATTEMPTS = 20;
const NOTHING: PruneResult = { pruned: 0, lastNumber: 0, exportSha256: null };

export type PruneBounds = Omit<PruneRequest, 'exporter'> & { readonly exporter: AuditExporter | null };

/** All records from `from` to `to`, page by page. */
export async function* recordsBetween(
  backend: Backend,
  accountId: string,
  from: number,
  to: number,
): AsyncGenerator<RawRecord> {
  const bucket = bucketOf(accountId);
  for (let next = from; next <= to; ) {
    const range = { from: next, to, count: RECORD_PAGE, newest: false };
    const page = await backend.records(bucket, accountId, range);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < RECORD_PAGE || !(last.number >= next)) return;
    next = last.number + 1;
  }
}

/**
 * Exports the oldest records, then removes them in the commit that chains their checkpoint. Also resolves to the
 * account afterwards.
 */
export async function pruneChain(
  store: AccountStore,
  backend: Backend,
  accountId: string,
  bounds: PruneBounds,
): Promise<{ readonly result: PruneResult; readonly account: StoredAccount }> {
  let account = await loaded(store, accountId);
  const trail = await store.trailOf(accountId);
  if (trail === undefined) return { result: NOTHING, account };
  const upTo = trail.lastNumber - bounds.keepRecords;
  const exported = await exportRecords(backend, accountId, trail.header.firstNumber, upTo, bounds);
  if (exported.lastNumber === 0) return { result: NOTHING, account };
  const { lastNumber, exportSha256 } = exported;
  const { reason, atMs } = bounds;
  for (let attempt = 0; attempt < COMMIT_ATTEMPTS; attempt++) {
    const { unnamed, before } = await remaining(store, backend, accountId, lastNumber + 1);
    const [committed] = await store.commit([
      {
        base: account,
        trimBefore: lastNumber + 1,
        removeFiles: unnamed,
        storeRecords: [{ kind: 'checkpoint', atMs, ...before, exportSha256, reason }],
      },
    ]);
    if (committed?.kind === 'committed') {
      const result = { pruned: exported.count, lastNumber, exportSha256 };
      return { result, account: committed.account };
    }
    account = await loaded(store, accountId);
  }
  return { result: NOTHING, account };
}

async function loaded(store: AccountStore, accountId: string): Promise<StoredAccount> {
  const { load } = await store.read(accountId);
  if (load.kind === 'refused') {
    const { code, document, message } = load.problem;
    throw new DocumentError(code, document, message);
  }
  return load.account;
}

/** Exports the oldest records; `lastNumber` 0: nothing was exported. */
async function exportRecords(
  backend: Backend,
  accountId: string,
  from: number,
  to: number,
  bounds: PruneBounds,
) {
  const { exporter, olderThanMs = Number.POSITIVE_INFINITY } = bounds;
  const digest = createHash('sha256');
  const files = new Set<string>();
  let lastNumber = 0;
  let count = 0;
  const write = async (line: string): Promise<void> => {
    digest.update(`${line}\n`, 'utf8');
    await exporter?.write(line);
  };
  for await (const raw of recordsBetween(backend, accountId, from, to)) {
    const { record } = readRecord(accountId, raw);
    if (record.atMs >= olderThanMs) break;
    await write(`${raw.hash} ${raw.text}`);
    for (const hash of Object.values(record.attachments)) files.add(hash);
    lastNumber = raw.number;
    count += 1;
  }
  if (exporter === null || lastNumber === 0) return { lastNumber, count, exportSha256: null };
  const bucket = bucketOf(accountId);
  for (const hash of files) await write(`${hash} ${await backend.file(bucket, accountId, hash)}`);
  await exporter.end();
  return { lastNumber, count, exportSha256: digest.digest('hex') };
}

/** For the records from number `from` on: attachments that none of them names, and what the chains begin after. */
async function remaining(store: AccountStore, backend: Backend, accountId: string, from: number) {
  const unnamed = new Set(await backend.fileHashes(bucketOf(accountId), accountId));
  const trail = await store.trailOf(accountId);
  const before = new Map<string | undefined, { readonly lastSeq: number; readonly lastHash: string }>();
  for await (const raw of recordsBetween(backend, accountId, from, trail?.lastNumber ?? 0)) {
    const { market, seq, previous, attachments } = readRecord(accountId, raw).record;
    for (const hash of Object.values(attachments)) unnamed.delete(hash);
    if (!before.has(market)) before.set(market, { lastSeq: seq - 1, lastHash: previous });
  }
  const lanes = [...(trail?.lanes ?? [])].flatMap(([market, { seq, hash }]) => {
    const taken = before.get(market) ?? { lastSeq: seq, lastHash: hash };
    return taken.lastSeq === 0 ? [] : [[market, taken] as const];
  });
  const { seq: lastSeq = 0, head: lastHash = GENESIS_HASH } = trail?.header ?? {};
  return {
    unnamed: [...unnamed],
    before: {
      ...(before.get(undefined) ?? { lastSeq, lastHash }),
      ...(lanes.length === 0 ? {} : { lanes: Object.fromEntries(lanes) }),
    },
  };
}
