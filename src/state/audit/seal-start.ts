import type { AuditRecord } from '../../core/audit/audit-record.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { type AccountCommit, bucketOf } from '../../core/ports/state-store.ts';
import type { Backend, RawRecord } from '../account/account-backend.ts';

/** Whether a process may write the first sealed record of a chain; `isEmpty`: the account has no records. */
export type MayBeginSeals = (isEmpty: boolean) => Promise<boolean>;

interface Sealing {
  readonly controls: { readonly trust: OperatorTrust };
  /** Absent: it always may. */
  readonly mayBeginSeals?: MayBeginSeals | undefined;
}

/** The trust that seals the records of each commit. */
export async function recordTrusts(
  backend: Backend,
  commits: readonly AccountCommit[],
  { controls: { trust }, mayBeginSeals }: Sealing,
): Promise<readonly OperatorTrust[]> {
  if (mayBeginSeals === undefined) return commits.map(() => trust);
  const parts = { backend, trust };
  return await Promise.all(commits.map(({ base }) => recordTrust(parts, base.accountId, mayBeginSeals)));
}

/**
 * The trust that seals the next records of an account. After the first sealed record every record must be sealed, so
 * a command must not begin to seal a chain that a daemon without the key continues.
 */
async function recordTrust(
  { backend, trust }: { readonly backend: Backend; readonly trust: OperatorTrust },
  accountId: string,
  mayBegin: MayBeginSeals,
): Promise<OperatorTrust> {
  const range = { from: 1, to: Number.POSITIVE_INFINITY, count: 1, newest: true };
  const [newest] = await backend.records(bucketOf(accountId), accountId, range);
  if (newest !== undefined && isSealed(newest, trust)) return trust;
  return (await mayBegin(newest === undefined)) ? trust : { ...trust, recordSeal: () => undefined };
}

function isSealed({ text }: RawRecord, trust: OperatorTrust): boolean {
  try {
    return trust.recordProof(JSON.parse(text) as AuditRecord) === 'sealed';
  } catch {
    // `audit verify` reports what is wrong with it.
    return false;
  }
}
