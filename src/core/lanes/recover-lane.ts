import type { CommandOutcome } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { oursOf, unseen } from './absence.ts';
import { ACCOUNT_HOLDER, MOST_WAIT_MS } from './account-lane.ts';
import { cancelUnanswered } from './cancel-outcome.ts';
import { doubtful, finishTask, isSameId, unsure } from './doubtful.ts';
import { changeLane, type LaneChange } from './lane-change.ts';
import type { Absence, CancelStep, LaneState, PlaceStep, RetryKind } from './lane-state.ts';
import type { OwnOrder } from './own-order.ts';

/** After its process may have died or lost its hold: what was in progress is unknown, and all waiting starts again. */
export function recover(state: LaneState, settings: AccountSettings, nowMs: number): LaneChange {
  const step = state.inProgress?.step;
  return changeLane(state, settings, nowMs, (scene) => {
    const rebased = rebase({ ...state, inProgress: null }, settings, nowMs);
    if (step?.kind === 'place') return unsure(rebased, step.order, 'processDied', scene);
    if (step?.kind !== 'cancelAll') return rebased;
    return finishTask(cancelUnanswered(rebased, step, 'processDied', scene), step, 'failed');
  });
}

/**
 * What an earlier run left in progress has an unknown outcome: whoever holds the lane knows that it has ended. Waits and
 * holders that no lane has do not stop it.
 */
export function takeUp(state: LaneState, settings: AccountSettings, nowMs: number): LaneChange {
  const { inProgress, heldBy, readAfterMs, ignoreReadsBeforeMs, retryAtMs } = state;
  const waits = [readAfterMs, ignoreReadsBeforeMs, ...Object.values(retryAtMs)];
  const longestMs = MOST_WAIT_MS + settings.lateArrivalMs + settings.fillWithinMs;
  const isStuck = waits.some((atMs) => atMs > nowMs + longestMs);
  const isFree = heldBy === null || heldBy === ACCOUNT_HOLDER;
  if (inProgress === null && !isStuck && isFree) return { state, events: [] };
  return recover(isFree ? state : { ...state, heldBy: null }, settings, nowMs);
}

/** All waiting starts again, and lasts no longer than it can: what was read counts no more. */
export function rebase(state: LaneState, settings: AccountSettings, nowMs: number): LaneState {
  const notAfter = (atMs: number, boundMs: number): number => Math.min(atMs, nowMs + boundMs);
  const { inProgress, change, doubt, retryAtMs } = state;
  const retryAt = (kind: RetryKind): number => notAfter(retryAtMs[kind] ?? nowMs, settings.fillWithinMs);
  // What was proven, the clock that it was proven by may not be the same any more.
  const {
    orderAcceptedMs: _,
    orderRefusedMs: __,
    roomTakenMs: ___,
    coverRoomTakenMs: ____,
    cancelPendingUntilMs: pendingMs,
    ...kept
  } = state;
  return {
    ...kept,
    ...(pendingMs === undefined ? {} : { cancelPendingUntilMs: notAfter(pendingMs, settings.lateArrivalMs) }),
    read: null,
    latestRead: null,
    ...absentOf(state, nowMs),
    ...contestsOf(state, nowMs),
    marks: [],
    readAfterMs: nowMs + settings.readLagMs,
    ignoreReadsBeforeMs: nowMs + settings.readLagMs,
    doubt: doubt && { ...doubt, sinceMs: nowMs },
    inProgress: inProgress && { ...inProgress, startedMs: notAfter(inProgress.startedMs, 0) },
    change: change && { ...change, startedMs: notAfter(change.startedMs, 0) },
    retryAtMs: {
      reduce: retryAt('reduce'),
      cover: retryAt('cover'),
      cancel: retryAt('cancel'),
      read: retryAt('read'),
    },
    intents: state.intents.map((intent) => ({
      ...intent,
      openedMs: notAfter(intent.openedMs, 0),
      stageAtMs: notAfter(intent.stageAtMs, 0),
      deadlineMs: notAfter(intent.deadlineMs, settings.intentTtlMs),
      endedMs: intent.endedMs === null ? null : notAfter(intent.endedMs, 0),
    })),
    cancels: state.cancels.map((task) => ({
      ...task,
      openedMs: notAfter(task.openedMs, 0),
      deadlineMs: notAfter(task.deadlineMs, settings.intentTtlMs),
    })),
    orders: state.orders.map((order) => ({
      ...order,
      sentMs: notAfter(order.sentMs, 0),
      ...(order.unwantedSinceMs === undefined ? {} : { unwantedSinceMs: notAfter(order.unwantedSinceMs, 0) }),
      arrivedByMs:
        order.status === 'open'
          ? Math.max(nowMs, notAfter(order.arrivedByMs, settings.lateArrivalMs))
          : nowMs + settings.lateArrivalMs,
      activatedMs: order.activatedMs === null ? null : notAfter(order.activatedMs, 0),
      reachedMs: order.reachedMs === null ? null : notAfter(order.reachedMs, 0),
    })),
  };
}

/** What others did lies in the past by whatever clock. */
function contestsOf({ contests }: LaneState, nowMs: number): Pick<LaneState, 'contests'> {
  if (contests === undefined) return {};
  const notLater = (atMs: number): number => Math.min(atMs, nowMs);
  return {
    contests: contests.map(({ addsMs, falls, ...rest }) => ({
      ...rest,
      addsMs: addsMs.map(notLater),
      ...(falls === undefined
        ? {}
        : { falls: falls.map((fall) => ({ ...fall, atMs: notLater(fall.atMs) })) }),
    })),
  };
}

/** What was read is forgotten; which positions may be open is not. */
function absentOf(state: LaneState, nowMs: number): Pick<LaneState, 'absent'> {
  const ours = oursOf(state);
  const seen = (state.read?.positions ?? []).filter(({ positionId }) =>
    ours.some((one) => one.positionId === positionId),
  );
  const notLater = (one: Absence): Absence =>
    one.sinceMs === null ? one : { ...one, sinceMs: Math.min(one.sinceMs, nowMs) };
  const known = [...(state.absent ?? []).map(notLater), ...seen.map((last) => unseen(last.positionId, last))];
  return known.length === 0 ? {} : { absent: known };
}

/** The store may have been rolled back: what it says of the exchange is in doubt, and order ids are new ones. */
export function startEpoch(
  state: LaneState,
  epoch: string,
  settings: AccountSettings,
  nowMs: number,
): LaneState {
  const { state: recovered } = recover(state, settings, nowMs);
  return {
    ...recovered,
    epoch,
    change: null,
    doubt: { why: 'newStore', sinceMs: nowMs, sentAhead: [] },
    orders: recovered.orders.map(askedAfter),
  };
}

/**
 * Somebody may have taken it down and this store not know: that it was accepted proves nothing any more, so it is sent
 * again under its own id.
 */
function askedAfter(order: OwnOrder): OwnOrder {
  if (order.presumedFilled) return order;
  const isConfirmed = order.status === 'open' || order.mayHaveVanished === true;
  const asked: OwnOrder = { ...order, status: 'unsure', ...(!isConfirmed && { neverConfirmed: true }) };
  return order.role === 'cover' ? { ...asked, mayHaveVanished: true } : { ...asked, behindCancel: true };
}

/** Held, a lane does nothing by itself: an account-wide action is under way. */
export function hold(state: LaneState, by: string): LaneState | undefined {
  if (state.heldBy !== null && state.heldBy !== by) return undefined;
  return state.inProgress === null ? { ...state, heldBy: by } : undefined;
}

export function release(state: LaneState, by: string): LaneState {
  return state.heldBy === by ? { ...state, heldBy: null } : state;
}

/** An answer after the lane was lost to somebody who may have gone on without it: what the request did is in doubt. */
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
  return changeLane(state, settings, nowMs, (scene) => {
    if (step.kind === 'cancelAll') return cancelUnanswered(state, step, 'unknownOutcome', scene);
    if (state.orders.some((order) => isSameId(order, step.order))) return state;
    const arrivedByMs = nowMs + settings.lateArrivalMs;
    const orders = [...state.orders, { ...step.order, status: 'unsure' as const, arrivedByMs }];
    return doubtful({ ...state, orders }, 'unknownOutcome', scene);
  });
}
