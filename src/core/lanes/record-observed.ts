import type { Recorder } from '../audit/audit-event.ts';
import { isOpen } from '../intents/intent.ts';
import { requestOf } from '../orders/order-request.ts';
import { orderSetDifference } from '../orders/order-set.ts';
import { formatDecimal } from '../quantities/decimal.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { LaneState } from './lane-state.ts';

/**
 * Observe mode: the exact orders and cancels that would have been sent now, each recorded once per intent and
 * target.
 */
export function recordObserved(
  state: LaneState,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const cancelled = recordCancels(state, audit);
  const market = settings.marketSettings(state.market);
  const intents = state.intents.filter((intent) => isOpen(intent) && intent.refusedBy === 'observeMode');
  const covers = state.covers.filter((cover) => cover.refusedBy === 'observeMode');
  if (state.read === null || market === undefined || intents.length + covers.length === 0) return cancelled;
  const alone: LaneState = { ...state, intents, covers, orders: [], change: null };
  const admitted = { intents, covers };
  const { place } = orderSetDifference({
    state: alone,
    read: state.read,
    admitted,
    market,
    settings,
    nowMs,
    mayCancel: true,
  });
  const reported = [...cancelled.reported];
  for (const want of place) {
    const mark = `would:${want.key}:${formatDecimal(want.targetBase)}`;
    if (reported.includes(mark)) continue;
    reported.push(mark);
    audit.emit({
      kind: 'wouldPlace',
      key: want.key,
      positionId: want.position.positionId,
      ruleId: want.ruleId,
      reason: 'observeMode',
      words: 'would have been sent; the rule is in observe mode',
      order: requestOf(state, want),
      sizeBase: want.position.sizeBase,
    });
  }
  return { ...cancelled, reported: stillMeant(reported, state) };
}

function recordCancels(state: LaneState, audit: Recorder): LaneState {
  const due = state.cancels.filter((task) => task.state === 'open' && task.refusedBy === 'observeMode');
  const unsaid = due.filter((task) => !state.reported.includes(`would:${task.key}:cancel`));
  if (unsaid.length === 0) return state;
  for (const task of unsaid) {
    audit.emit({
      kind: 'wouldCancel',
      key: task.key,
      ruleId: task.ruleId,
      reason: 'observeMode',
      words: 'would have been sent; the rule is in observe mode',
      cancel: { market: state.market, types: task.types },
    });
  }
  return { ...state, reported: [...state.reported, ...unsaid.map((task) => `would:${task.key}:cancel`)] };
}

/** Marks of intents that are gone are dropped with them. */
function stillMeant(reported: readonly string[], state: LaneState): readonly string[] {
  const keys = [...state.intents, ...state.covers, ...state.cancels].map((subject) => subject.key);
  return reported.filter(
    (mark) => !mark.startsWith('would:') || keys.some((key) => mark.startsWith(`would:${key}:`)),
  );
}
