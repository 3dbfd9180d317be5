import type { AuditEvent } from '../../core/audit/audit-event.ts';
import type { LaneRef } from '../../core/ports/lane-dispatcher.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import { type ActingInputs, routeDecisions } from '../act/route-decisions.ts';
import type { PipelineContext } from '../pipeline-context.ts';
import type { Decided } from './decide.ts';
import { tellCommit } from './tell-commit.ts';

/** Lanes of a decision that a run of theirs has changed while it was being made. */
export interface LeftLanes {
  readonly inputs: ActingInputs;
  readonly decided: Decided;
  readonly leftOut: readonly string[];
}

export interface CaughtUp {
  readonly stored: StoredAccount;
  readonly toRun: readonly LaneRef[];
  readonly events: readonly AuditEvent[];
}

/** A run that changes its lane more often than this meanwhile will read the market itself. */
const MOST_ATTEMPTS = 4;

/**
 * Brings lanes that were left out of a commit in line with what that commit has decided: what is asked for is stored
 * already, so nothing is lost if this does not succeed, or its process dies; the next poll asks again.
 */
export async function catchUpLanes(
  context: PipelineContext,
  { inputs, decided, leftOut }: LeftLanes,
): Promise<CaughtUp | undefined> {
  const { store, telemetry, time } = context;
  const { snapshot, evaluation, conclusive } = decided;
  const accountId = inputs.account.id;
  const isRun = new Map<string, LaneRef>();
  const events: AuditEvent[] = [];
  let left = new Set(leftOut);
  let stored: StoredAccount | undefined;
  for (let attempt = 0; attempt < MOST_ATTEMPTS && left.size > 0; attempt++) {
    const { load, controls } = await store.read(accountId);
    if (load.kind === 'refused') return undefined;
    const base = load.account;
    stored = base;
    const again = { ...inputs, stored: base, controls, moment: time.moment() };
    const acted = routeDecisions(again, snapshot, evaluation, conclusive);
    const isLeft = (market: string | null = null): boolean => market !== null && left.has(market);
    const lanes = new Map([...acted.lanes].filter(([market]) => isLeft(market)));
    const said = acted.events.filter(({ market }) => isLeft(market));
    for (const lane of acted.toRun) if (isLeft(lane.market)) isRun.set(lane.market ?? '', lane);
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
  return stored && { stored, toRun: [...isRun.values()], events };
}
