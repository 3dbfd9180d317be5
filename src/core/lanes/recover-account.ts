import type { AccountSettings } from '../quantities/settings.ts';
import { type AccountChange, type AccountLane, inDoubt, mark } from './account-lane.ts';
import type { LaneState } from './lane-state.ts';

/** After the process that carried it out may have died: a cancel in progress has an unknown outcome. */
export function recoverAccount(
  state: AccountLane,
  lanes: readonly LaneState[],
  settings: AccountSettings,
  nowMs: number,
): AccountChange {
  const { inProgress } = state;
  const rebased = {
    ...state,
    inProgress: null,
    retryAtMs: Math.min(state.retryAtMs, nowMs + settings.fillWithinMs),
  };
  if (inProgress === null) return { state: rebased, lanes, events: [] };
  const failed = mark(rebased, inProgress.key, 'failed');
  return { state: failed, lanes: inDoubt(lanes, inProgress, 'processDied', settings, nowMs), events: [] };
}
