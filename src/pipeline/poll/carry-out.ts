import type { AuditEvent } from '../../core/audit/audit-event.ts';
import type { LaneRef, SeenAccount } from '../../core/ports/lane-dispatcher.ts';
import type { Notice } from '../../core/ports/notifier.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import type { ActingInputs } from '../act/lane-at-rest.ts';
import { routeDecisions } from '../act/route-decisions.ts';
import { markHanded } from '../alerts/alerts-due.ts';
import type { PipelineContext } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import type { Decided } from './decide.ts';
import { tellCommit } from './tell-commit.ts';

/** While lanes are not begun, the account is polled again after this time, however calm it is. */
const ASK_AGAIN_MS = 1_000;

/** The last step of a poll: hands over what was decided and is now durable. */
export async function carryOut(
  context: PipelineContext,
  decided: Pick<Decided, 'lanes' | 'events' | 'notices'>,
  committed: SeenAccount,
): Promise<void> {
  const { telemetry, lanes, turns, store } = context;
  const { accountId } = committed.stored;
  for (const event of decided.events) telemetry.emit({ kind: 'audited', event });
  if (decided.lanes.length > 0 && turns.isSettling) await store.makeDue(accountId, ASK_AGAIN_MS);
  else if (decided.lanes.length > 0) {
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

/** A lane begun by the same poll changes the account at the same time, and wins. */
const MARK_ATTEMPTS = 5;
const MARK_PAUSE_MS = 40;

/** If the marks cannot be made now, the next poll hands the same notices over again. */
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
    // `epochChanged`: work done alone has been handed back since, including this notice.
    if (result?.kind !== 'conflict' && result?.kind !== 'epochChanged') return;
    await clock.sleep(MARK_PAUSE_MS * (0.5 + random()));
    const { load } = await store.read(committed.accountId);
    if (load.kind === 'refused') return;
    base = load.account;
  }
}

export interface LeftLanes {
  readonly inputs: ActingInputs;
  readonly decided: Decided;
  readonly leftOut: readonly string[];
}

/** A run that changes its lane more often than this meanwhile will read the market itself. */
const CATCH_UP_ATTEMPTS = 4;

/** Brings lanes that a commit left out in line with it. If it fails, nothing is lost: the next poll asks again. */
export async function carryOutLeft(
  context: PipelineContext,
  { inputs, decided, leftOut }: LeftLanes,
  { controls: knownControls }: SeenAccount,
): Promise<void> {
  const { store, telemetry, time } = context;
  const { snapshot, evaluation, conclusive } = decided;
  const accountId = inputs.account.id;
  const toRun = new Map<string, LaneRef>();
  const events: AuditEvent[] = [];
  let left = new Set(leftOut);
  let stored: StoredAccount | undefined;
  for (let attempt = 0; attempt < CATCH_UP_ATTEMPTS && left.size > 0; attempt++) {
    const { load, controls } = await store.read(accountId);
    if (load.kind === 'refused') return;
    const base = load.account;
    stored = base;
    const again = { ...inputs, stored: base, controls, moment: time.moment() };
    const acted = routeDecisions({ ...again, snapshot, evaluation, conclusive });
    const isLeft = (market: string | null = null): boolean => market !== null && left.has(market);
    const lanes = new Map([...acted.lanes].filter(([market]) => isLeft(market)));
    const said = acted.events.filter(({ market }) => isLeft(market));
    for (const lane of acted.toRun) if (isLeft(lane.market)) toRun.set(lane.market ?? '', lane);
    if (lanes.size === 0) break;
    const audit = said.map((event) => ({ kind: 'action' as const, event }));
    const [result] = await store.commit([{ base, lanes, separable: left, audit }]);
    if (result === undefined) throw new TypeError('the store did not answer');
    tellCommit(telemetry, 'poll', base, result);
    if (result.kind !== 'committed') continue;
    stored = result.account;
    left = new Set(result.leftOut);
    events.push(...said.filter(({ market }) => !isLeft(market)));
  }
  if (stored === undefined) return;
  const lanes = [...toRun.values()];
  await carryOut(context, { lanes, events, notices: [] }, { stored, controls: knownControls });
}
