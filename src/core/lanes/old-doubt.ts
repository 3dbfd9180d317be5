import type { Recorder } from '../audit/audit-event.ts';
import { mayAddUp } from '../orders/beside.ts';
import { fenceEndMs } from '../orders/fence.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { mayHideOrders } from './doubtful.ts';
import type { LaneState, MarketRead } from './lane-state.ts';

/**
 * In a new store epoch orders of an earlier one may be open. A read from after the fence shows what they have done by
 * then; what they may still do is audited with whatever is placed beside them. So the first action waits for nothing.
 */
export function withoutOldDoubt(
  state: LaneState,
  read: MarketRead,
  settings: AccountSettings,
  audit: Recorder,
): LaneState {
  const { doubt } = state;
  if (doubt === null || !mayHideOrders(doubt) || !mayAddUp({ settings, read })) return state;
  if (read.sentAtMs < fenceEndMs(doubt, settings) + settings.readLagMs) return state;
  audit.emit({
    kind: 'doubtResolved',
    reason: 'beside',
    words: 'read after the fence; what an earlier store epoch left open is not counted',
  });
  return { ...state, doubt: null, priorOrdersPossible: true };
}
