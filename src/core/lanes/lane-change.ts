import { type AuditEvent, type Recorder, recorder } from '../audit/audit-event.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { LaneState } from './lane-state.ts';

export interface LaneChange {
  readonly state: LaneState;
  readonly events: readonly AuditEvent[];
}

/** What a change of a lane is made with. */
export interface LaneScene {
  readonly settings: AccountSettings;
  /** On the lanes' clock. */
  readonly nowMs: number;
  readonly audit: Recorder;
}

/** Makes a change of a lane and collects its events. */
export function changeLane(
  lane: LaneState,
  settings: AccountSettings,
  nowMs: number,
  make: (scene: LaneScene) => LaneState,
): LaneChange {
  const audit = recorder(lane.accountId, lane.market, nowMs);
  return { state: make({ settings, nowMs, audit }), events: audit.events };
}
