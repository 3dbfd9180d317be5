import {
  type AuditRecord,
  type ChainedRecord,
  type DecisionInputs,
  GENESIS_HASH,
} from '../../core/audit/audit-record.ts';
import type {
  AuditQuery,
  AuditReader,
  ChainVerdict,
  PruneRequest,
  PruneResult,
} from '../../core/ports/audit-reader.ts';
import { bucketOf } from '../../core/ports/state-store.ts';
import type { Backend } from '../account/account-backend.ts';
import type { AccountStore } from '../account/account-store.ts';
import { sha256Hex } from '../canonical.ts';
import { readRecord, restoreInputs } from './audit-chain.ts';
import { pruneChain, recordsBetween } from './audit-prune.ts';
import { broken, ChainVerifier } from './audit-verify.ts';

const DEFAULT_LIMIT = 100;

/** Reads, checks and prunes what commits have chained. */
export function createAuditLog(store: AccountStore, backend: Backend): AuditReader {
  const attachment = async (accountId: string, hash: string): Promise<string | undefined> =>
    (await backend.file(bucketOf(accountId), accountId, hash)) ?? undefined;
  const read = async (accountId: string, query: AuditQuery = {}): Promise<readonly ChainedRecord[]> => {
    const { fromSeq = 1, toSeq = Number.POSITIVE_INFINITY, limit = DEFAULT_LIMIT } = query;
    if (limit <= 0) return [];
    const range = { fromSeq, toSeq, count: limit, newest: query.fromSeq === undefined };
    const records = await backend.records(bucketOf(accountId), accountId, range);
    return records.map((record) => readRecord(accountId, record));
  };
  return {
    read,
    tail: (accountId, count) => read(accountId, { limit: count }),
    async show(accountId, seq) {
      return (await read(accountId, { fromSeq: seq, toSeq: seq, limit: 1 }))[0];
    },
    inputs: (record: AuditRecord): Promise<DecisionInputs | undefined> =>
      restoreInputs(record, (hash) => attachment(record.accountId, hash)),
    attachment,
    verify: (accountId) => verifyChain(store, backend, accountId),
    async prune(accountId: string, request: PruneRequest): Promise<PruneResult> {
      if (!(request.keepRecords >= 0)) throw new RangeError('keepRecords is at least 0');
      return (await pruneChain(store, backend, accountId, request)).result;
    },
  };
}

async function verifyChain(store: AccountStore, backend: Backend, accountId: string): Promise<ChainVerdict> {
  const header = await store.headerOf(accountId);
  const end = { seq: header?.seq ?? 0, head: header?.head ?? GENESIS_HASH };
  const verifier = new ChainVerifier(accountId);
  // Without a header everything that is there contradicts it; else what came later is not looked at.
  const toSeq = header === undefined ? Number.POSITIVE_INFINITY : end.seq;
  for await (const record of recordsBetween(backend, accountId, 1, toSeq)) {
    const wrong = verifier.add(record);
    if (wrong !== undefined) return wrong;
  }
  const verdict = verifier.finish(end);
  if (verdict.kind === 'broken') return verdict;
  for (const [hash, seq] of verifier.attachments) {
    const text = await backend.file(bucketOf(accountId), accountId, hash);
    if (text === null) return broken(seq, 'attachment', `its attachment ${hash} is missing`);
    if (sha256Hex(text) !== hash) return broken(seq, 'attachment', `its attachment ${hash} was changed`);
  }
  return verdict;
}
