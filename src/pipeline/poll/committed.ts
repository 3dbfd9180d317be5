import type { CommitResult, StoredAccount } from '../../core/ports/state-store.ts';
import type { Telemetry } from '../../core/ports/telemetry.ts';

/** What became of a commit; the first one of an account in a new life also says that one has begun. */
export function tellCommit(
  telemetry: Telemetry,
  by: 'poll' | 'act',
  base: StoredAccount,
  result: CommitResult,
): void {
  const { accountId, isNewLife, life } = base;
  telemetry.emit({ kind: 'commit', accountId, by, result: result.kind });
  if (!isNewLife || result.kind !== 'committed') return;
  telemetry.emit({ kind: 'lifeStarted', accountId, life: life.id, why: life.why });
}
