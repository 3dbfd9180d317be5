import { type ChainedRecord, type ChainHead, GENESIS_HASH } from '../../core/audit/audit-record.ts';
import { sha256Hex } from '../../core/audit/sha256.ts';
import type { AuditQuery, AuditReader, ChainVerdict } from '../../core/ports/audit-reader.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { bucketOf } from '../../core/ports/state-store.ts';
import type { Backend } from '../account/account-backend.ts';
import type { AccountStore } from '../account/account-store.ts';
import { readRecord, restoreInputs } from './audit-chain.ts';
import { pruneChain, recordsBetween } from './audit-prune.ts';
import { broken, TrailVerifier } from './audit-verify.ts';

const DEFAULT_LIMIT = 100;

export function createAuditLog(trails: Trails): AuditReader {
  const { store, backend } = trails;
  const attachment = async (accountId: string, hash: string): Promise<string | undefined> =>
    (await backend.file(bucketOf(accountId), accountId, hash)) ?? undefined;
  const read = async (accountId: string, query: AuditQuery = {}): Promise<readonly ChainedRecord[]> => {
    const { from = 1, to = Number.POSITIVE_INFINITY, limit = DEFAULT_LIMIT } = query;
    if (limit <= 0) return [];
    const range = { from, to, count: limit, newest: query.from === undefined };
    const records = await backend.records(bucketOf(accountId), accountId, range);
    return records.map((record) => readRecord(accountId, record));
  };
  return {
    read,
    tail: (accountId, count) => read(accountId, { limit: count }),
    async show(accountId, number) {
      return (await read(accountId, { from: number, to: number, limit: 1 }))[0];
    },
    inputs: (record) => restoreInputs(record, (hash) => attachment(record.accountId, hash)),
    attachment,
    async head(accountId) {
      const { seq, head } = (await store.trailOf(accountId))?.header ?? { seq: 0, head: GENESIS_HASH };
      return seq === 0 ? undefined : { seq, hash: head };
    },
    verify: (accountId, kept) => verifyChain(trails, accountId, kept),
    async prune(accountId, request) {
      if (!(request.keepRecords >= 0)) throw new RangeError('keepRecords is at least 0');
      return (await pruneChain(store, backend, accountId, request)).result;
    },
  };
}

interface Trails {
  readonly store: AccountStore;
  readonly backend: Backend;
  readonly trust: OperatorTrust;
}

async function verifyChain(
  { store, backend, trust }: Trails,
  accountId: string,
  kept?: ChainHead,
): Promise<ChainVerdict> {
  const trail = await store.trailOf(accountId);
  const verifier = new TrailVerifier(accountId, trust, kept);
  // Without a state every record contradicts it; otherwise later records are not read.
  const to = trail?.lastNumber ?? Number.POSITIVE_INFINITY;
  for await (const record of recordsBetween(backend, accountId, 1, to)) {
    const wrong = verifier.add(record);
    if (wrong !== undefined) return wrong;
  }
  const { seq: last, head: hash } = trail?.header ?? { seq: 0, head: GENESIS_HASH };
  const verdict = verifier.finish({ seq: last, hash, lanes: trail?.lanes ?? new Map() });
  if (verdict.kind === 'broken') return verdict;
  for (const [hash, seq] of verifier.attachments) {
    const text = await backend.file(bucketOf(accountId), accountId, hash);
    if (text === null) return broken(seq, 'attachment', `its attachment ${hash} is missing`);
    if (sha256Hex(text) !== hash) return broken(seq, 'attachment', `its attachment ${hash} was changed`);
  }
  return verdict;
}
