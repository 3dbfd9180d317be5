import type { BrakeCount } from '../intents/brake-count.ts';
import type { CommandOutcome } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { oursOf, unseen } from './absence.ts';
import { ACCOUNT_HOLDER, MOST_WAIT_MS } from './account-lane.ts';
import { cancelUnanswered } from './cancel-outcome.ts';
import { doubtful, finishTask, isSameId, unsure } from './doubtful.ts';
import { changeLane, type LaneChange } from './lane-change.ts';
import type { Absence, CancelStep, LaneState, PlaceStep, RetryKind } from './lane-state.ts';
import type { OwnOrder } from './own-order.ts';

/** Recovers a lane whose process may have died or lost it: its step has an unknown outcome, and waits start again. */
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
 * Takes up a lane. A step that an earlier run left in progress has an unknown outcome: that run no longer holds the
 * lane. Impossibly long waits and unknown holders are reset.
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

/** Starts all waits again, none longer than it can be, and forgets what was read. */
export function rebase(state: LaneState, settings: AccountSettings, nowMs: number): LaneState {
  const notAfter = (atMs: number, boundMs: number): number => Math.min(atMs, nowMs + boundMs);
  const { inProgress, change, doubt, retryAtMs } = state;
  const retryAt = (kind: RetryKind): number => notAfter(retryAtMs[kind] ?? nowMs, settings.fillWithinMs);
  // These times prove nothing any more: the clock may have changed.
  const {
    orderAcceptedMs: _,
    orderRefusedMs: __,
    roomTaken: ___,
    coverRoomTakenMs: ____,
    cancelPendingUntilMs: pendingMs,
    lastPrice: _____,
    ...kept
  } = state;
  return {
    ...kept,
    ...(state.unechoedMs === undefined ? {} : { unechoedMs: nowMs }),
    ...(pendingMs === undefined ? {} : { cancelPendingUntilMs: notAfter(pendingMs, settings.lateArrivalMs) }),
    read: null,
    latestRead: null,
    ...brakeOf(state, nowMs),
    ...absentOf(state, nowMs),
    ...contestsOf(state, nowMs),
    ...seenOf(state, nowMs),
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
      ...withoutRefusal(order),
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

/** On another clock nobody knows how old a refusal is: the question is asked again. */
function withoutRefusal(order: OwnOrder): OwnOrder {
  const { refusedQuestion: _, ...rest } = order;
  return rest;
}

function brakeOf({ brake, unclosed }: LaneState, nowMs: number): Pick<LaneState, 'brake' | 'unclosed'> {
  const past = (count?: BrakeCount) => count && { ...count, lastMs: Math.min(count.lastMs, nowMs) };
  return {
    ...(brake && { brake: { ...brake, orders: past(brake.orders), cancels: past(brake.cancels) } }),
    ...(unclosed && {
      unclosed: unclosed.map((one) => ({ ...one, sentMs: Math.min(one.sentMs, nowMs) })),
    }),
  };
}

/** The trades of others lie in the past on any clock. */
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

/** So do the lists that showed a joint limit, and our fills. */
function seenOf({ jointLimits, costs }: LaneState, nowMs: number): Pick<LaneState, 'jointLimits' | 'costs'> {
  const notLater = (atMs: number): number => Math.min(atMs, nowMs);
  return {
    ...(jointLimits && { jointLimits: jointLimits.map((one) => ({ ...one, atMs: notLater(one.atMs) })) }),
    ...(costs && {
      costs: costs.map((one) => ({ ...one, cost: { ...one.cost, filledMs: notLater(one.cost.filledMs) } })),
    }),
  };
}

/** Keeps which positions may be open although the reads are forgotten. */
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

/** Starts a new store epoch. The store may have been rolled back, so the lane is in doubt and order ids are new. */
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

/** Marks an order to be sent again under its id: it may have been taken down without this store knowing. */
function askedAfter(order: OwnOrder): OwnOrder {
  if (order.presumedFilled) return order;
  const stood = order.status === 'open' || order.wasOpen === true;
  const isConfirmed =
    order.neverConfirmed !== true && (stood || order.mayHaveVanished === true || order.behindCancel === true);
  const asked: OwnOrder = { ...order, status: 'unsure', ...(!isConfirmed && { neverConfirmed: true }) };
  return order.role === 'cover' ? { ...asked, mayHaveVanished: true } : { ...asked, behindCancel: true };
}

/** Holds a lane, which then does nothing by itself. Undefined if it is busy or something else holds it. */
export function hold(state: LaneState, by: string): LaneState | undefined {
  if (state.heldBy !== null && state.heldBy !== by) return undefined;
  return state.inProgress === null ? { ...state, heldBy: by } : undefined;
}

export function release(state: LaneState, by: string): LaneState {
  return state.heldBy === by ? { ...state, heldBy: null } : state;
}

/** Handles an answer after the lane was lost. Another process may have gone on, so the effect is in doubt. */
export function answeredLate(
  state: LaneState,
  step: PlaceStep | CancelStep,
  outcome: CommandOutcome<unknown>,
  settings: AccountSettings,
  nowMs: number,
): LaneChange {
  const hadNoEffect = outcome.kind === 'rejected' && outcome.error.effect === 'none';
  // Nobody has taken the lane up yet; the next holder treats the outcome as unknown.
  if (hadNoEffect || state.inProgress !== null) return { state, events: [] };
  return changeLane(state, settings, nowMs, (scene) => {
    if (step.kind === 'cancelAll') return cancelUnanswered(state, step, 'unknownOutcome', scene);
    if (state.orders.some((order) => isSameId(order, step.order))) return state;
    const arrivedByMs = nowMs + settings.lateArrivalMs;
    const orders = [...state.orders, { ...step.order, status: 'unsure' as const, arrivedByMs }];
    return doubtful({ ...state, orders }, 'unknownOutcome', scene);
  });
}
