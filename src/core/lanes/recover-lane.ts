import type { CommandOutcome } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { oursOf, unseen } from './absence.ts';
import { cancelUnanswered } from './cancel-outcome.ts';
import { doubtful, finishTask, isSameId, unsure } from './doubtful.ts';
import { changeLane, type LaneChange } from './lane-change.ts';
import type { Absence, CancelStep, LaneState, PlaceStep } from './lane-state.ts';

/**
 * After the process that held the lane may have died, or lost its hold of it: what was in progress has an
 * unknown outcome, and all waiting starts again, as the clock may not be the same.
 */
export function recover(state: LaneState, settings: AccountSettings, nowMs: number): LaneChange {
  const step = state.inProgress?.step;
  return changeLane(state, settings, nowMs, (scene) => {
    const rebased = rebase({ ...state, inProgress: null }, settings, nowMs);
    if (step?.kind === 'place') return unsure(rebased, step.order, 'processDied', scene);
    if (step?.kind !== 'cancelAll') return rebased;
    return finishTask(cancelUnanswered(rebased, step, 'processDied', scene), step, 'failed');
  });
}

/** All waiting starts again, and lasts no longer than it can: what was read counts no more. */
export function rebase(state: LaneState, settings: AccountSettings, nowMs: number): LaneState {
  const notAfter = (atMs: number, boundMs: number): number => Math.min(atMs, nowMs + boundMs);
  const { reduce, cover, cancel, read } = state.retryAtMs;
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
    doubt: state.doubt === null ? null : { ...state.doubt, sinceMs: nowMs },
    inProgress:
      state.inProgress === null
        ? null
        : { ...state.inProgress, startedMs: notAfter(state.inProgress.startedMs, 0) },
    change:
      state.change === null ? null : { ...state.change, startedMs: notAfter(state.change.startedMs, 0) },
    retryAtMs: {
      reduce: notAfter(reduce, settings.fillWithinMs),
      cover: notAfter(cover, settings.fillWithinMs),
      cancel: notAfter(cancel, settings.fillWithinMs),
      read: notAfter(read, settings.fillWithinMs),
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

/**
 * A store that may have been rolled back, or a stand-in acting from its memory: nothing that it says about the
 * exchange is taken for granted, and its orders bear ids that no other store epoch uses.
 */
export function startEpoch(
  state: LaneState,
  epoch: string,
  settings: AccountSettings,
  nowMs: number,
): LaneState {
  const { state: recovered } = recover(state, settings, nowMs);
  return { ...recovered, epoch, change: null, doubt: { why: 'newStore', sinceMs: nowMs, sentAhead: [] } };
}

/** Held, a lane does nothing by itself: an account-wide action is under way. */
export function hold(state: LaneState, by: string): LaneState | undefined {
  if (state.heldBy !== null && state.heldBy !== by) return undefined;
  return state.inProgress === null ? { ...state, heldBy: by } : undefined;
}

export function release(state: LaneState, by: string): LaneState {
  return state.heldBy === by ? { ...state, heldBy: null } : state;
}

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
  return changeLane(state, settings, nowMs, (scene) => {
    if (step.kind === 'cancelAll') return cancelUnanswered(state, step, 'unknownOutcome', scene);
    if (state.orders.some((order) => isSameId(order, step.order))) return state;
    const arrivedByMs = nowMs + settings.lateArrivalMs;
    const orders = [...state.orders, { ...step.order, status: 'unsure' as const, arrivedByMs }];
    return doubtful({ ...state, orders }, 'unknownOutcome', scene);
  });
}
