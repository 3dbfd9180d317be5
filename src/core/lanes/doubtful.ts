import { leastTarget } from '../intents/intent.ts';
import { mayAnyAddUp } from '../orders/beside.ts';
import { fenceEndMs } from '../orders/fence.ts';
import { formatDecimal, maxDecimal, toDecimal } from '../quantities/decimal.ts';
import type { LaneScene } from './lane-change.ts';
import type { CancelStep, CancelTask, Doubt, LaneState, MarketRead } from './lane-state.ts';
import type { OwnOrder } from './own-order.ts';

export function isSameId(a: OwnOrder, b: OwnOrder): boolean {
  return a.request.clientOrderId === b.request.clientOrderId;
}

export function changeOrder(
  state: LaneState,
  order: OwnOrder,
  change: (known: OwnOrder) => OwnOrder,
): LaneState {
  return { ...state, orders: state.orders.map((other) => (isSameId(other, order) ? change(other) : other)) };
}

/** Puts the lane in doubt: what is open at the exchange is not known. */
export function doubtful(
  state: LaneState,
  why: Doubt['why'],
  { settings, nowMs, audit }: LaneScene,
): LaneState {
  audit.emit({
    kind: 'doubt',
    reason: why,
    words: 'what is open at the exchange is not known: fence, cancel, read, place',
  });
  const kept = state.doubt !== null && mayHideOrders(state.doubt) ? state.doubt.why : why;
  const sentAhead = state.doubt?.sentAhead ?? [];
  const shownFromMs = nowMs + settings.readLagMs;
  return {
    ...state,
    doubt: { why: kept, sinceMs: nowMs, sentAhead },
    readAfterMs: shownFromMs,
    ignoreReadsBeforeMs: shownFromMs,
  };
}

/** Puts an order and the lane in doubt: the order may stand, may still arrive, or may never have been sent. */
export function unsure(state: LaneState, order: OwnOrder, why: Doubt['why'], scene: LaneScene): LaneState {
  const arrivedByMs = scene.nowMs + scene.settings.lateArrivalMs;
  const changed = changeOrder(state, order, (known) => ({ ...known, status: 'unsure', arrivedByMs }));
  return doubtful(changed, why, scene);
}

const ATTEMPTS_OF_ONE = 1_000;

/** Returns an attempt number that other processes, starting from the same state, have not reached. */
export function unusedAttempt({ attempt }: LaneState): number {
  return (Math.floor(attempt / ATTEMPTS_OF_ONE) + 1) * ATTEMPTS_OF_ONE;
}

/**
 * Accounts for another process that sent an order under this id. It may have replaced the order since, so the order
 * counts for all that is wanted, and nothing is added before a cancel. Further ids may be taken too: an order refused
 * under one of them would count as standing when nothing stands, so the attempt number skips them.
 */
export function actedOnByAnother(state: LaneState, order: OwnOrder): LaneState {
  const attempt = unusedAttempt(state);
  const target = leastTarget(state.intents, order.positionId);
  if (order.role !== 'reduce' || target === undefined) return { ...state, attempt };
  const left = toDecimal(order.placedSizeBase).minus(target);
  const amount = formatDecimal(maxDecimal(left, toDecimal(order.amount)));
  return { ...changeOrder(state, order, (known) => ({ ...known, amount })), attempt };
}

export function finishTask(state: LaneState, { task }: CancelStep, how: 'done' | 'failed'): LaneState {
  return task === null ? state : { ...state, cancels: finishedTask(state.cancels, task, how) };
}

export function finishedTask(
  cancels: readonly CancelTask[],
  key: string,
  how: 'done' | 'failed',
): readonly CancelTask[] {
  return cancels.map((task) => {
    if (task.key !== key) return task;
    return how === 'done' ? { ...task, state: how } : { ...task, failures: task.failures + 1 };
  });
}

/** Whether the lane may have no record of some of our orders. */
export function mayHideOrders(doubt: Doubt): boolean {
  return doubt.why === 'newStore' || doubt.why === 'duplicateUnexpected';
}

/** Ends a doubt about an earlier epoch: a read after the fence shows its fills; what may still fill is audited. */
export function withoutOldDoubt(
  state: LaneState,
  read: MarketRead,
  { settings, audit }: LaneScene,
): LaneState {
  const { doubt } = state;
  if (doubt === null || !mayHideOrders(doubt) || !mayAnyAddUp({ settings, read })) return state;
  if (read.sentAtMs < fenceEndMs(doubt, settings) + settings.readLagMs) return state;
  audit.emit({
    kind: 'doubtResolved',
    reason: 'beside',
    words: 'read after the fence; what an earlier store epoch left open is not counted',
  });
  return { ...state, doubt: null, priorOrdersPossible: true };
}
