import type { AuditRecord } from '../../core/audit/audit-record.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { type AccountCommit, bucketOf } from '../../core/ports/state-store.ts';
import type { Backend, RawRecord } from '../account/account-backend.ts';

/** Whether a process may write the first sealed record of a chain; `isEmpty`: the account has no record at all. */
export type MayBeginSeals = (isEmpty: boolean) => Promise<boolean>;

interface Sealing {
  readonly controls: { readonly trust: OperatorTrust };
  /** Absent: it may. */
  readonly mayBeginSeals?: MayBeginSeals | undefined;
}

/** What seals the records of each commit. */
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
 * What seals the next records of an account. From the first seal on every record needs one, so a command must not begin
 * with it in a chain that a daemon without the key goes on with.
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
    // `audit verify` says what is wrong with it.
    return false;
  }
}
