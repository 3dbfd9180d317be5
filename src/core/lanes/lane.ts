import { type AuditEvent, type Recorder, recorder } from '../audit/audit-event.ts';
import {
  admittedOf,
  askGate,
  boundChange,
  failExhausted,
  type LaneContext,
  mayCarryOut,
  mayRemove,
} from '../intents/admission.ts';
import { isOpen } from '../intents/intent.ts';
import { expireIntents } from '../intents/renew.ts';
import { settleIntents } from '../intents/settle-intents.ts';
import { fenceEndMs } from '../orders/fence.ts';
import { marketOf } from '../orders/market-steps.ts';
import { mayHideSide } from '../orders/net-exposure.ts';
import { orderSetDifference } from '../orders/order-set.ts';
import { isRemovable } from '../orders/outstanding.ts';
import { coverOrders } from '../orders/protective-stop.ts';
import type { Admitted, SetDifference, Want } from '../orders/want.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { isCancelHeldBack, isHeld, withHeld } from './absence.ts';
import { failPriorOrders, note, noteStanding, noteUnconfigured, withoutAddingUp } from './lane-note.ts';
import type { CancelTask, LaneState, OwnOrder, Step } from './lane-state.ts';
import {
  cancelStep,
  type DecidedStep,
  idle,
  ownCancel,
  pausedBy,
  placeStep,
  type Turn,
} from './lane-turn.ts';
import { mayPrice } from './market-read.ts';
import { recordObserved } from './record-observed.ts';
import { resolveDoubt } from './resolve-doubt.ts';

export interface Advance {
  /** To be persisted before the step is carried out. */
  readonly state: LaneState;
  readonly step: Step;
  readonly events: readonly AuditEvent[];
}

/**
 * What a lane is to do next. Ask again after each step; carry a request out only between `begin` and `finish`.
 * The gate is asked each time, so it is asked again immediately before each request.
 */
export function advance(state: LaneState, context: LaneContext, nowMs: number): Advance {
  const audit = recorder(state.accountId, state.market, nowMs);
  if (state.inProgress !== null) return { state, step: idle('busy'), events: [] };
  if (state.heldBy !== null) return { state, step: idle('held'), events: [] };
  const expired = expireIntents(state, context.settings, nowMs, audit);
  const bounded = boundChange(expired, context.settings, nowMs, audit);
  const started = startIntents(bounded, context.settings, nowMs, audit);
  // After everything that may open an intent.
  const asked = askGate(started, context, nowMs, audit);
  const ready = failExhausted(asked, context.settings, nowMs, audit);
  const recorded = recordObserved(ready, context.settings, nowMs, audit);
  const turn: Turn = { context, nowMs, audit, market: marketOf(recorded, context.settings) };
  const { state: next, step } = decide(recorded, turn);
  return { state: next, step: withWake(step, next, context, nowMs), events: audit.events };
}

/** Whether the read that may be sized by is the newest one, and not too old. */
function isCurrent(state: LaneState, settings: AccountSettings, nowMs: number): boolean {
  const { read, latestRead } = state;
  if (read === null || read.sentAtMs < state.readAfterMs) return false;
  const isNewest = latestRead === null || latestRead.sentAtMs <= read.sentAtMs;
  return isNewest && nowMs - read.receivedAtMs <= settings.maxSnapshotAgeMs;
}

/** Intents that fired since take what the position was from the read that came with them, or wait for the next. */
function startIntents(
  state: LaneState,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const isDue = state.intents.some((intent) => isOpen(intent) && intent.basis === null);
  if (!isDue || !isCurrent(state, settings, nowMs)) return state;
  return settleIntents(state, true, settings, nowMs, audit);
}

function decide(state: LaneState, turn: Turn): DecidedStep {
  const { state: current, step } = dueTask(state, turn);
  return step === null ? decideSet(current, turn) : { state: current, step };
}

/** What the order set needs next. */
function decideSet(state: LaneState, turn: Turn): DecidedStep {
  const admitted = admittedOf(state);
  const removable = state.orders.some((order) => mayRemove(order, state, turn.context.gate));
  if (admitted.intents.length === 0 && admitted.covers.length === 0 && !removable) {
    const isHeldBack = state.intents.some(isOpen) || state.orders.length + state.covers.length > 0;
    return { state: endChange(state), step: idle(isHeldBack ? 'gateClosed' : 'nothingWanted') };
  }
  const { market } = turn;
  if (market === undefined) return withoutSettings(state, admitted, turn);
  const certain = resolveDoubt(state, admitted, turn, market);
  return certain.step === null ? pursue(certain.state, admitted, turn, market) : certain;
}

/**
 * A market whose entry was taken out of the config: nothing can be shaped there. What nobody wants any more is
 * still cancelled, unless something that is wanted would go with it and could not come back.
 */
function withoutSettings(state: LaneState, admitted: Admitted, turn: Turn): DecidedStep {
  const { settings, gate } = turn.context;
  const noted = noteUnconfigured(state, admitted, turn);
  const isUnwanted = (order: OwnOrder): boolean =>
    !isWanted(order, state) && mayRemove(order, state, gate) && isRemovable(order, settings, turn.nowMs);
  const unwanted = state.orders.filter(isUnwanted);
  if (unwanted.length === 0 || unwanted.length < state.orders.length) {
    const standing = unwanted.map((order) => ({ order, why: 'resolved' as const }));
    return { state: endChange(noteStanding(noted, standing, turn)), step: idle('blocked') };
  }
  const untilMs = state.doubt === null ? turn.nowMs : fenceEndMs(state.doubt, settings);
  if (turn.nowMs < untilMs) return { state: noted, step: { kind: 'wait', untilMs, why: 'lateArrival' } };
  return { state: noted, step: pausedBy(state, 'cancel', turn.nowMs) ?? ownCancel(noted, 'resolved', []) };
}

function isWanted({ role, positionId }: OwnOrder, state: LaneState): boolean {
  return role === 'cover'
    ? state.covers.some((cover) => cover.positionId === positionId)
    : state.intents.some((intent) => isOpen(intent) && intent.positionId === positionId);
}

/** The rule's own cancel actions come first, as they do in its `do`. */
function dueTask(
  state: LaneState,
  turn: Turn,
): DecidedStep | { readonly state: LaneState; readonly step: null } {
  const { nowMs } = turn;
  const cancels = state.cancels.map((task) => overdue(task, turn));
  const expired = { ...state, cancels };
  const task = cancels.find((candidate) => candidate.state === 'open' && candidate.refusedBy === null);
  if (task === undefined) return { state: expired, step: null };
  const pause = pausedBy(state, 'cancel', nowMs);
  if (pause !== undefined) return { state: expired, step: pause };
  const request = { market: state.market, types: task.types };
  return { state: expired, step: cancelStep(expired, request, 'cancelAction', task.key, []) };
}

function overdue(task: CancelTask, turn: Turn): CancelTask {
  const { settings } = turn.context;
  const isExhausted = task.failures >= settings.maxAttempts || turn.nowMs >= task.deadlineMs;
  if (task.state !== 'open' || !isExhausted) return task;
  const reason = task.refusedBy === null ? 'failed:attempts' : `failed:refused:${task.refusedBy}`;
  const words = 'the cancel of the rule was not carried out';
  const alarm = task.refusedBy !== 'observeMode';
  turn.audit.emit({ kind: 'intentEnded', key: task.key, ruleId: task.ruleId, reason, words, alarm });
  return { ...task, state: 'failed' };
}

/** Nothing is in doubt: read if need be, compare, and take the first difference. */
function pursue(state: LaneState, admitted: Admitted, turn: Turn, market: MarketSettings): DecidedStep {
  const { settings } = turn.context;
  const { read } = state;
  const isUsable =
    read !== null &&
    read.sentAtMs >= state.readAfterMs &&
    turn.nowMs - read.receivedAtMs <= settings.maxSnapshotAgeMs;
  const isMissed = admitted.intents.some(
    (intent) => intent.basis === null && !isHeld(state, intent.positionId),
  );
  if (!isUsable || isMissed || read === null) return { state, step: readStep(state, turn) };
  // A record set aside somewhere may be the other side here: a read of this market tells.
  const isSideHidden =
    read.partial === 'list' && mayHideSide(withHeld(read, state)) && isNetBound(admitted, settings);
  if (isSideHidden) return { state, step: readStep(state, turn) };
  const wished = orderSetDifference({ state, read, admitted, market, settings, nowMs: turn.nowMs });
  const { difference, refused } = withoutAddingUp(wished, state, read, turn);
  const noted = failPriorOrders(note(state, difference, read, turn), refused, turn);
  const { gate } = turn.context;
  const removable = isCancelHeldBack(state) ? [] : difference.remove;
  const remove = removable.filter((removal) => mayCarryOut(removal, state, admitted, gate));
  const tightened = difference.place.find((want) => isTightening(want, state));
  if (remove.length > 0 && tightened === undefined) {
    const why = remove[0]?.why ?? 'resolved';
    const unfilled = remove.filter((one) => one.why === 'notFilled').map((one) => one.order.positionId);
    const pause = pausedBy(state, 'cancel', turn.nowMs);
    return { state: noted, step: pause ?? ownCancel(noted, why, [...new Set(unfilled)]) };
  }
  const wants = tightened === undefined ? difference.place : [tightened];
  return placeFirst(noted, wants, turn, difference);
}

function isNetBound({ intents, covers }: Admitted, settings: AccountSettings): boolean {
  return settings.hedge === 'net' && intents.length + covers.length > 0;
}

function readStep(state: LaneState, turn: Turn): Step {
  const untilMs = Math.max(state.readAfterMs, state.ignoreReadsBeforeMs);
  if (turn.nowMs < untilMs) return { kind: 'wait', untilMs, why: 'readLag' };
  return pausedBy(state, 'read', turn.nowMs) ?? { kind: 'readPositions', market: state.market };
}

function isTightening(want: Want, state: LaneState): boolean {
  if (want.role !== 'cover' || want.resend !== null || state.change !== null) return false;
  return coverOrders(state, want.position).length > 0;
}

function placeFirst(
  state: LaneState,
  wants: readonly Want[],
  turn: Turn,
  difference: SetDifference,
): DecidedStep {
  const { settings } = turn.context;
  const isPriced = state.read !== null && mayPrice(state.read, state, settings, turn.nowMs);
  let waiting: Step | undefined;
  for (const want of wants) {
    const pause = pausedBy(state, want.role, turn.nowMs);
    if (pause === undefined)
      return { state, step: isPriced ? placeStep(state, want, turn, false) : readStep(state, turn) };
    waiting ??= pause;
  }
  // What is admitted and not seen is placed again when it is.
  const isUnseen = difference.blocked.some(({ why }) => why === 'positionNotSeen');
  const done = waiting === undefined && !isUnseen ? endChange(state) : state;
  const why = difference.blocked.length > 0 ? 'blocked' : 'setInPlace';
  return { state: done, step: waiting ?? idle(why) };
}

function endChange(state: LaneState): LaneState {
  return state.change === null ? state : { ...state, change: null };
}

/** When a lane that has nothing to do now should be looked at again. */
function withWake(step: Step, state: LaneState, context: LaneContext, nowMs: number): Step {
  if (step.kind !== 'idle') return step;
  const deadlines = state.intents.filter(isOpen).map((intent) => intent.deadlineMs);
  const followUps = state.orders.map((order) => order.sentMs + context.settings.fillWithinMs);
  const arrivals = state.orders.map((order) => order.arrivedByMs);
  const next = Math.min(...[...deadlines, ...followUps, ...arrivals].filter((atMs) => atMs > nowMs));
  return { ...step, wakeAtMs: Number.isFinite(next) ? next : null };
}
