import type { Notice } from '../core/ports/notify.ts';
import type { StoredAccount } from '../core/ports/state-store.ts';
import type { PipelineContext } from './account.ts';
import { markHanded } from './alerts.ts';
import { tellCommit } from './committed.ts';
import type { Decided } from './decide.ts';
import { pass } from './points.ts';

/** The last step of a poll: what was decided and is durable is handed to those who carry it out. */
export async function carryOut(
  context: PipelineContext,
  decided: Decided,
  committed: StoredAccount,
): Promise<void> {
  const { telemetry, lanes } = context;
  const { accountId } = committed;
  for (const event of decided.events) telemetry.emit({ kind: 'audited', event });
  if (decided.lanes.length > 0) {
    pass('poll.dispatching', { accountId });
    await lanes.dispatch(decided.lanes);
    pass('poll.dispatched', { accountId });
    telemetry.emit({ kind: 'laneDispatched', lanes: decided.lanes });
  }
  if (decided.notices.length > 0) await hand(context, decided.notices, committed);
}

/** An account whose marks cannot be made now hands the same notices over again with its next poll. */
async function hand(
  { notifier, store, telemetry }: PipelineContext,
  notices: readonly Notice[],
  committed: StoredAccount,
): Promise<void> {
  const { accountId, documents } = committed;
  pass('notice.handing', { accountId });
  await notifier.hand(notices);
  pass('notice.handed', { accountId });
  for (const notice of notices) telemetry.emit({ kind: 'notice', notice });
  if (documents.alerts === undefined) return;
  const alerts = markHanded(documents.alerts, new Set(notices.map(({ id }) => id)));
  const [result] = await store.commit([{ base: committed, documents: { alerts } }]);
  if (result !== undefined) tellCommit(telemetry, 'poll', committed, result);
}
