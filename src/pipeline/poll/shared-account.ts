import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import { aged } from './read-memory.ts';

/**
 * The account of the config that acts in place of this one, as both are the same account of the exchange: one of them
 * has to, and exactly one may. It is the first by id of those that would, and that have been read lately.
 */
export function sharedAccount(
  { accounts, memory, time }: PipelineContext,
  { id }: WatchedAccount,
): string | undefined {
  const acting = memory.samePositions.othersLike(id).filter((otherId) => {
    const other = accounts.get(otherId);
    const read = memory.recall(otherId).positions;
    if (otherId >= id || other === undefined || read === undefined) return false;
    const { maxSnapshotAgeMs } = other.rules.settings;
    return reduces(other) && aged(read.reading, read.at, time.instant()).ageMs <= maxSnapshotAgeMs;
  });
  return acting.toSorted()[0];
}

/** Whether some rule of an account that is enforced reduces a position or protects it. */
function reduces({ rules }: WatchedAccount): boolean {
  return rules.all.some(
    ({ mode, stages }) =>
      mode === 'enforce' &&
      stages.some((actions) => actions.some(({ spec }) => spec.kind === 'reduce' || spec.kind === 'protect')),
  );
}
