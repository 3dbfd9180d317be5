import type { AuditRecord } from '../../core/audit/audit-record.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { type AccountCommit, bucketOf } from '../../core/ports/state-store.ts';
import type { Backend, RawRecord } from '../account/account-backend.ts';

interface Sealing {
  readonly controls: { readonly trust: OperatorTrust };
  readonly beginsSeals: boolean;
}

/** The trust that seals the records of each commit. */
export async function recordTrusts(
  backend: Backend,
  commits: readonly AccountCommit[],
  { controls: { trust }, beginsSeals }: Sealing,
): Promise<readonly OperatorTrust[]> {
  if (beginsSeals) return commits.map(() => trust);
  return await Promise.all(commits.map(({ base }) => continuedTrust(backend, trust, base.accountId)));
}

/**
 * The trust that seals the next records of an account, for a process that begins no seals. After the first sealed record
 * every record must be sealed, so a command must not begin to seal a chain that a daemon without the key continues.
 */
async function continuedTrust(
  backend: Backend,
  trust: OperatorTrust,
  accountId: string,
): Promise<OperatorTrust> {
  const range = { from: 1, to: Number.POSITIVE_INFINITY, count: 1, newest: true };
  const [newest] = await backend.records(bucketOf(accountId), accountId, range);
  return newest !== undefined && isSealed(newest, trust) ? trust : { ...trust, recordSeal: () => undefined };
}

function isSealed({ text }: RawRecord, trust: OperatorTrust): boolean {
  try {
    return trust.recordProof(JSON.parse(text) as AuditRecord) === 'sealed';
  } catch {
    // `audit verify` reports what is wrong with it.
    return false;
  }
}
