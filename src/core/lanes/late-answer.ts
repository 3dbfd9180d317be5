import { recorder } from '../audit/audit-event.ts';
import type { CommandOutcome } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { cancelUnanswered } from './cancel-outcome.ts';
import { doubtful, isSameId } from './doubtful.ts';
import type { LaneChange } from './lane-observe.ts';
import type { CancelStep, LaneState, PlaceStep } from './lane-state.ts';

/**
 * The answer to a request came after the lane had been lost to somebody else, who may have gone on as if it had never
 * left: what it did, or may still do, is in doubt.
 */
export function answeredLate(
  state: LaneState,
  step: PlaceStep | CancelStep,
  outcome: CommandOutcome<unknown>,
  settings: AccountSettings,
  nowMs: number,
): LaneChange {
  const hadNoEffect = outcome.kind === 'rejected' && outcome.error.effect === 'none';
  // Nobody has taken it up yet: whoever does knows that its outcome is unknown.
  if (hadNoEffect || state.inProgress !== null) return { state, events: [] };
  const audit = recorder(state.accountId, state.market, nowMs);
  if (step.kind === 'cancelAll') {
    const pending = cancelUnanswered(state, step, 'unknownOutcome', settings, nowMs, audit);
    return { state: pending, events: audit.events };
  }
  if (state.orders.some((order) => isSameId(order, step.order))) return { state, events: [] };
  const arrivedByMs = nowMs + settings.lateArrivalMs;
  const order = { ...step.order, status: 'unsure' as const, arrivedByMs };
  const orders = [...state.orders, order];
  return {
    state: doubtful({ ...state, orders }, 'unknownOutcome', settings, nowMs, audit),
    events: audit.events,
  };
}
