import type { CommitResult, StoredAccount } from '../../core/ports/state-store.ts';
import type { Telemetry } from '../../core/ports/telemetry.ts';

/** Emits a commit's result; the first commit in a new store epoch also reports the epoch. */
export function tellCommit(
  telemetry: Telemetry,
  by: 'poll' | 'act',
  base: StoredAccount,
  result: CommitResult,
): void {
  const { accountId, isNewEpoch, epoch } = base;
  telemetry.emit({ kind: 'commit', accountId, by, result: result.kind });
  if (!isNewEpoch || result.kind !== 'committed') return;
  telemetry.emit({ kind: 'epochStarted', accountId, epoch: epoch.id, why: epoch.why });
}
