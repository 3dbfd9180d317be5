import type { SeenAccount } from '../../core/ports/lane-dispatcher.ts';
import type { Notice } from '../../core/ports/notifier.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import { markHanded } from '../alerts/alerts-due.ts';
import type { PipelineContext } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import type { Decided } from './decide.ts';
import { tellCommit } from './tell-commit.ts';

/** The last step of a poll: what was decided and is durable is handed to those who carry it out. */
export async function carryOut(
  context: PipelineContext,
  decided: Pick<Decided, 'lanes' | 'events' | 'notices'>,
  committed: SeenAccount,
): Promise<void> {
  const { telemetry, lanes } = context;
  const { accountId } = committed.stored;
  for (const event of decided.events) telemetry.emit({ kind: 'audited', event });
  if (decided.lanes.length > 0) {
    pass('poll.dispatching', { accountId });
    await lanes.dispatch(decided.lanes, committed);
    pass('poll.dispatched', { accountId });
    telemetry.emit({ kind: 'laneDispatched', lanes: decided.lanes });
  }
  if (decided.notices.length > 0) await hand(context, decided.notices, committed.stored);
}

async function hand(
  context: PipelineContext,
  notices: readonly Notice[],
  committed: StoredAccount,
): Promise<void> {
  const { notifier, telemetry } = context;
  const { accountId } = committed;
  pass('notice.handing', { accountId });
  await notifier.hand(notices);
  pass('notice.handed', { accountId });
  for (const notice of notices) telemetry.emit({ kind: 'notice', notice });
  await mark(context, committed, new Set(notices.map(({ id }) => id)));
}

/** A lane that was begun with the same poll changes the account at the same time, and goes first. */
const MARK_ATTEMPTS = 5;
const MARK_PAUSE_MS = 40;

/** An account whose marks cannot be made now hands the same notices over again with its next poll. */
async function mark(
  { store, telemetry, clock, random }: PipelineContext,
  committed: StoredAccount,
  ids: ReadonlySet<string>,
): Promise<void> {
  let base = committed;
  for (let attempt = 0; attempt < MARK_ATTEMPTS; attempt++) {
    const { alerts } = base.documents;
    if (alerts === undefined) return;
    const [result] = await store.commit([{ base, documents: { alerts: markHanded(alerts, ids) } }]);
    if (result !== undefined) tellCommit(telemetry, 'poll', base, result);
    if (result?.kind !== 'conflict') return;
    await clock.sleep(MARK_PAUSE_MS * (0.5 + random()));
    const { load } = await store.read(committed.accountId);
    if (load.kind === 'refused') return;
    base = load.account;
  }
}
