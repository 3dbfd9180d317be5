import { withoutSent } from '../intents/brake.ts';
import { restInClosedMarket } from '../orders/after-outage.ts';
import { fenceEndMs } from '../orders/fence.ts';
import { orderTypesOf } from '../orders/order-request.ts';
import { afterCancel } from '../orders/outstanding.ts';
import { RESIZES } from '../orders/protective-stop.ts';
import { classifyRejection, isAlarming, isPassing, retryPauseMs } from '../orders/rejection.ts';
import type { CommandOutcome, ExchangeError } from '../ports/exchange.ts';
import { withLeft } from './absence.ts';
import { finishTask, mayHideOrders } from './doubtful.ts';
import type { LaneScene } from './lane-change.ts';
import type { CancelStep, LaneState } from './lane-state.ts';

interface SentCancel {
  readonly step: CancelStep;
  readonly startedMs: number;
}

/** Applies the outcome of a cancel. If it was refused or not answered, the lane goes on without it. */
export function finishCancel(
  state: LaneState,
  { step, startedMs }: SentCancel,
  outcome: CommandOutcome<null>,
  scene: LaneScene,
): LaneState {
  const { nowMs, audit } = scene;
  if (outcome.kind === 'accepted') {
    audit.emit({ kind: 'cancelAccepted', reason: step.why, words: 'accepted', cancel: step.request });
    return finishTask(cancelled(state, { step, startedMs }, scene), step, 'done');
  }
  if (outcome.kind === 'rejected' && outcome.error.effect === 'none') {
    const { name, message } = outcome.error;
    const why = classifyRejection(outcome.error);
    const passing = isPassing(why);
    const alarm = isAlarming(why, state.cancelRefusals ?? 0);
    audit.emit({ kind: 'cancelRejected', reason: name, words: message, alarm, cancel: step.request });
    // Orders do not wait for another cancel.
    const refused = notCancelled(delayCancel(state, nowMs, outcome.error));
    if (why === 'marketClosed') return restInClosedMarket(refused, nowMs);
    return passing ? refused : finishTask(refused, step, 'failed');
  }
  return finishTask(cancelUnanswered(state, step, 'unknownOutcome', scene), step, 'failed');
}

/** Ends the change of a cancel without effect: nothing was taken down, so nothing has to be completed. */
export function notCancelled(state: LaneState): LaneState {
  return state.change?.phase === 'cancel' ? { ...state, change: null } : state;
}

/** Refusals of cancels lengthen the pause of cancels only. */
function delayCancel(state: LaneState, nowMs: number, error?: ExchangeError): LaneState {
  const refusals = state.cancelRefusals ?? 0;
  const untilMs = nowMs + retryPauseMs(refusals, error);
  return {
    ...state,
    cancelRefusals: refusals + 1,
    retryAtMs: { ...state.retryAtMs, cancel: Math.max(state.retryAtMs.cancel, untilMs) },
  };
}

/** Marks orders unsure until an unanswered cancel can no longer arrive; then they are sent again under their ids. */
export function cancelUnanswered(
  state: LaneState,
  { request }: Pick<CancelStep, 'request'>,
  reason: 'unknownOutcome' | 'processDied',
  { settings, nowMs, audit }: LaneScene,
): LaneState {
  const { types } = request;
  const reachesOwn = types === undefined || orderTypesOf(state.market).some((type) => types.includes(type));
  const delayed = delayCancel(state, nowMs);
  if (!reachesOwn) return delayed;
  audit.emit({
    kind: 'doubt',
    reason,
    words: 'a cancel was not answered: until it can no longer arrive, what stands may be gone',
    alarm: state.cancelRefusals !== undefined,
  });
  const untilMs = nowMs + settings.lateArrivalMs;
  const orders = state.orders.map((order) => ({
    ...order,
    status: 'unsure' as const,
    arrivedByMs: Math.max(untilMs, order.arrivedByMs),
    behindCancel: true,
  }));
  return {
    ...delayed,
    orders,
    cancelPendingUntilMs: untilMs,
    retryAtMs: { ...delayed.retryAtMs, cancel: Math.max(delayed.retryAtMs.cancel, untilMs) },
    change: state.change === null ? null : { ...state.change, phase: 'place' },
  };
}

/** Applies an accepted cancel: the orders that it covers are gone, and the next read must be later. */
export function cancelled(state: LaneState, { step, startedMs }: SentCancel, scene: LaneScene): LaneState {
  const { settings, nowMs } = scene;
  const { roomTaken, coverRoomTakenMs, cancelPendingUntilMs: _, cancelRefusals: __, ...rest } = state;
  const ownTypes = orderTypesOf(state.market);
  const { types } = step.request;
  const coversOwn = types === undefined || ownTypes.every((type) => types.includes(type));
  const orders = afterCancel(state.orders, { types, ownTypes, cancelSentMs: startedMs }, settings);
  const isLeft = (id: string): boolean => orders.some(({ request }) => request.clientOrderId === id);
  const left = withoutSent(
    withLeft(rest, orders),
    ({ clientOrderId }) => settings.cancelCoversStops && !isLeft(clientOrderId),
  );
  const settled = coversOwn ? settleDoubt(left, startedMs, scene) : rest;
  const readAfterMs = nowMs + settings.readLagMs;
  const retryAtMs = {
    ...settled.retryAtMs,
    ...(roomTaken !== undefined && { reduce: nowMs }),
    ...(coverRoomTakenMs !== undefined && { cover: nowMs }),
  };
  const intents = settled.intents.map((intent) =>
    step.unfilled.includes(intent.positionId) && intent.end === null
      ? { ...intent, failures: intent.failures + 1 }
      : intent,
  );
  return {
    ...settled,
    ...(RESIZES.has(step.why) && { cancelledMs: { ...state.cancelledMs, resize: nowMs } }),
    ...(roomTaken !== undefined && { cancelledMs: { ...state.cancelledMs, room: nowMs } }),
    intents,
    retryAtMs,
    change: settled.change === null ? null : { ...settled.change, phase: 'place' },
    readAfterMs,
    ignoreReadsBeforeMs: readAfterMs,
    // A cancel after an unanswered request does not show that such a request would be answered now.
    refusals: step.why === 'doubt' ? settled.refusals : 0,
  };
}

function settleDoubt(state: LaneState, cancelSentMs: number, { settings, audit }: LaneScene): LaneState {
  const { doubt } = state;
  if (doubt === null) {
    return settings.cancelCoversStops ? { ...state, priorOrdersPossible: false } : state;
  }
  if (cancelSentMs < fenceEndMs(doubt, settings)) return state;
  audit.emit({ kind: 'doubtResolved', reason: doubt.why, words: 'cancelled after the fence had passed' });
  const leavesPrior = !settings.cancelCoversStops && (state.priorOrdersPossible || mayHideOrders(doubt));
  return { ...state, doubt: null, priorOrdersPossible: leavesPrior };
}
