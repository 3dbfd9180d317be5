import { type AuditEvent, type Recorder, recorder } from '../audit/audit-event.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { Intent, LaneState } from './lane-state.ts';

export interface LaneChange {
  readonly state: LaneState;
  readonly events: readonly AuditEvent[];
}

export interface LaneScene {
  readonly settings: AccountSettings;
  /** On the lanes' clock. */
  readonly nowMs: number;
  readonly audit: Recorder;
}

export function changeLane(
  lane: LaneState,
  settings: AccountSettings,
  nowMs: number,
  make: (scene: LaneScene) => LaneState,
): LaneChange {
  const audit = recorder(lane.accountId, lane.market, nowMs);
  return { state: make({ settings, nowMs, audit }), events: audit.events };
}

/** Fields of an audit event that identify an action, or the action an order is for. */
export function about({ key, positionId, ruleId }: Pick<Intent, 'key' | 'positionId' | 'ruleId'>) {
  return { key, positionId, ruleId };
}
