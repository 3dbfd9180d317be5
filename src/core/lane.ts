import { admittedOf, askGate, boundChange, failExhausted, type LaneContext, mayRemove } from './admission.ts';
import { type AuditEvent, type IdleReason, type Recorder, recorder } from './audit-event.ts';
import { formatDecimal } from './decimal.ts';
import { mayHideOrders } from './doubt.ts';
import { fenceEndMs, liquidationIsLikely } from './fence.ts';
import { BLOCK_WORDS, endIntent, isOpen } from './intent.ts';
import {
  type CancelTask,
  findPosition,
  type Intent,
  type LaneState,
  type MarketRead,
  type OwnOrder,
  orderTypesOf,
  type PlaceStep,
  type RetryKind,
  type Step,
} from './lane-state.ts';
import { recordObserved } from './observed.ts';
import { differ, isHedged } from './order-set.ts';
import { coverOrders } from './protective-stop.ts';
import { requestOf } from './request.ts';
import type { MarketSettings } from './settings.ts';
import { distanceNumber, expireIntents } from './settle.ts';
import type { Admitted, SetDifference, Want } from './want.ts';

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
  const bounded = boundChange(expired, audit);
  const asked = askGate(bounded, context, nowMs, audit);
  const ready = failExhausted(asked, context.settings, nowMs, audit);
  const recorded = recordObserved(ready, context.settings, nowMs, audit);
  const turn: Turn = { context, nowMs, audit, market: context.settings.marketSettings(state.market) };
  const { state: next, step } = decide(recorded, turn);
  return { state: next, step: withWake(step, next, context, nowMs), events: audit.events };
}

interface Turn {
  readonly context: LaneContext;
  readonly nowMs: number;
  readonly audit: Recorder;
  readonly market: MarketSettings | undefined;
}

interface Decided {
  readonly state: LaneState;
  readonly step: Step;
}

function idle(why: IdleReason): Step {
  return { kind: 'idle', why, wakeAtMs: null };
}

function decide(state: LaneState, turn: Turn): Decided {
  const task = dueTask(state, turn);
  if (task !== undefined) return task;
  const admitted = admittedOf(state);
  const removable = state.orders.some((order) => mayRemove(order, state, turn.context.gate));
  if (admitted.intents.length === 0 && admitted.covers.length === 0 && !removable) {
    const isHeldBack = state.intents.some(isOpen) || state.orders.length > 0;
    return { state: endChange(state), step: idle(isHeldBack ? 'gateClosed' : 'nothingWanted') };
  }
  if (turn.market === undefined) return { state, step: idle('blocked') };
  if (state.doubt !== null) return resolveDoubt(state, admitted, turn, turn.market);
  return pursue(state, admitted, turn, turn.market);
}

/** The rule's own cancel actions come first, as they do in its `do`. */
function dueTask(state: LaneState, turn: Turn): Decided | undefined {
  const { nowMs } = turn;
  const cancels = state.cancels.map((task) => overdue(task, turn));
  const expired = { ...state, cancels };
  const task = cancels.find((candidate) => candidate.state === 'open' && candidate.refusedBy === null);
  if (task === undefined) return undefined;
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
  turn.audit.emit({ kind: 'intentEnded', key: task.key, ruleId: task.ruleId, reason, words, alarm: true });
  return { ...task, state: 'failed' };
}

function cancelStep(
  state: LaneState,
  request: Extract<Step, { kind: 'cancelAll' }>['request'],
  why: Extract<Step, { kind: 'cancelAll' }>['why'],
  task: string | null,
  unfilled: readonly string[],
): Step {
  const admitted = admittedOf(state);
  const keys = [...admitted.intents, ...admitted.covers].map((subject) => subject.key);
  return { kind: 'cancelAll', request, why, task, admitted: keys, unfilled };
}

function ownCancel(
  state: LaneState,
  why: Extract<Step, { kind: 'cancelAll' }>['why'],
  unfilled: readonly string[],
): Step {
  return cancelStep(state, { market: state.market, types: orderTypesOf(state.market) }, why, null, unfilled);
}

function pausedBy(state: LaneState, kind: RetryKind, nowMs: number): Step | undefined {
  const untilMs = state.retryAtMs[kind];
  return nowMs < untilMs ? { kind: 'wait', untilMs, why: 'backoff' } : undefined;
}

/**
 * Something of ours may be open or still on its way: let the fence pass, cancel, read, place. The fence comes
 * before the cancel, because what arrives after a cancel is not reached by it.
 */
function resolveDoubt(state: LaneState, admitted: Admitted, turn: Turn, market: MarketSettings): Decided {
  const { settings } = turn.context;
  const { doubt } = state;
  if (doubt === null) return pursue(state, admitted, turn, market);
  const ahead = placeAhead(state, admitted, turn, market);
  if (ahead !== undefined) return { state, step: ahead };
  const isForbidden = settings.cancel === 'never';
  const untilMs = isForbidden ? doubt.sinceMs + settings.lateArrivalMs : fenceEndMs(doubt, settings);
  if (turn.nowMs < untilMs) return { state, step: { kind: 'wait', untilMs, why: 'lateArrival' } };
  if (isForbidden) return pursue(settleWithoutCancel(state, turn), admitted, turn, market);
  const pause = pausedBy(state, 'cancel', turn.nowMs);
  return { state, step: pause ?? ownCancel(state, 'doubt', []) };
}

/** `cancel: never`: the fence passes, what may have arrived stays in the accounting for good. */
function settleWithoutCancel(state: LaneState, turn: Turn): LaneState {
  const { nowMs } = turn;
  const { readLagMs } = turn.context.settings;
  turn.audit.emit({ kind: 'doubtResolved', reason: 'cancelForbidden', words: BLOCK_WORDS.cancelForbidden });
  return {
    ...state,
    doubt: null,
    priorOrdersPossible: state.priorOrdersPossible || (state.doubt !== null && mayHideOrders(state.doubt)),
    readAfterMs: nowMs + readLagMs,
    ignoreReadsBeforeMs: nowMs + readLagMs,
  };
}

/**
 * What need not or must not wait for the fence: a full close (the exchange trims it), and, audited, any
 * reduction when liquidation would probably come first. Never where it could raise a net exposure.
 */
function placeAhead(
  state: LaneState,
  admitted: Admitted,
  turn: Turn,
  market: MarketSettings,
): Step | undefined {
  const { settings } = turn.context;
  const { doubt, glance } = state;
  if (doubt === null || pausedBy(state, 'reduce', turn.nowMs) !== undefined) return undefined;
  const candidates = admitted.intents.filter((intent) => mayGoAhead(intent, state, turn));
  if (candidates.length === 0) return undefined;
  const isFresh =
    glance !== null &&
    glance.sentAtMs >= doubt.sinceMs &&
    turn.nowMs - glance.receivedAtMs <= settings.maxSnapshotAgeMs;
  if (!isFresh || glance === null) {
    return turn.nowMs < state.retryAtMs.read ? undefined : { kind: 'readPositions', market: state.market };
  }
  if (settings.hedge === 'net' && isHedged(glance)) return undefined;
  const alone: LaneState = { ...state, orders: [], intents: [...candidates] };
  const scene = { state: alone, read: glance, admitted: { intents: candidates, covers: [] } };
  const { place } = differ({ ...scene, market, settings, nowMs: turn.nowMs });
  const want = place.find((candidate) => candidate.role === 'reduce');
  if (want === undefined) return undefined;
  return placeStep(state, want, glance, turn, true);
}

function mayGoAhead(intent: Intent, state: LaneState, turn: Turn): boolean {
  const { doubt, glance } = state;
  if (doubt === null || intent.targetBase === null || doubt.sentAhead.includes(intent.positionId))
    return false;
  if (intent.targetBase === '0') return true;
  if (turn.context.settings.overshoot === 'never') return false;
  const position = findPosition(glance, intent.positionId) ?? findPosition(state.read, intent.positionId);
  return position !== undefined && liquidationIsLikely(position);
}

/** Nothing is in doubt: read if need be, compare, and take the first difference. */
function pursue(state: LaneState, admitted: Admitted, turn: Turn, market: MarketSettings): Decided {
  const { settings } = turn.context;
  const { read } = state;
  const isUsable =
    read !== null &&
    read.sentAtMs >= state.readAfterMs &&
    turn.nowMs - read.receivedAtMs <= settings.maxSnapshotAgeMs;
  if (!isUsable || read === null) return { state, step: readStep(state, turn) };
  const difference = differ({ state, read, admitted, market, settings, nowMs: turn.nowMs });
  const noted = note(state, difference, read, turn);
  const remove = difference.remove.filter(({ order }) => mayRemove(order, state, turn.context.gate));
  const tightened = difference.place.find((want) => isTightening(want, state));
  if (remove.length > 0 && tightened === undefined) {
    const why = remove[0]?.why ?? 'resolved';
    const unfilled = remove.filter((one) => one.why === 'notFilled').map((one) => one.order.positionId);
    const pause = pausedBy(state, 'cancel', turn.nowMs);
    return { state: noted, step: pause ?? ownCancel(noted, why, [...new Set(unfilled)]) };
  }
  const wants = tightened === undefined ? difference.place : [tightened];
  return placeFirst(noted, wants, read, turn, difference);
}

function readStep(state: LaneState, turn: Turn): Step {
  if (turn.nowMs < state.readAfterMs) return { kind: 'wait', untilMs: state.readAfterMs, why: 'readLag' };
  return pausedBy(state, 'read', turn.nowMs) ?? { kind: 'readPositions', market: state.market };
}

function isTightening(want: Want, state: LaneState): boolean {
  if (want.role !== 'cover' || want.resend !== null || state.change !== null) return false;
  return coverOrders(state, want.position).length > 0;
}

function placeFirst(
  state: LaneState,
  wants: readonly Want[],
  read: MarketRead,
  turn: Turn,
  difference: SetDifference,
): Decided {
  let waiting: Step | undefined;
  let current = state;
  for (const want of wants) {
    const pause = pausedBy(current, want.role, turn.nowMs);
    if (pause !== undefined) {
      waiting ??= pause;
      continue;
    }
    const refused = refusePriorOrders(current, want, read, turn);
    if (refused !== undefined) {
      current = refused;
      continue;
    }
    return { state: current, step: placeStep(current, want, read, turn, false) };
  }
  const done = waiting === undefined ? endChange(current) : current;
  const why = difference.blocked.length > 0 ? 'blocked' : 'setInPlace';
  return { state: done, step: waiting ?? idle(why) };
}

function endChange(state: LaneState): LaneState {
  return state.change === null ? state : { ...state, change: null };
}

/** Orders of an earlier life could add up with this one, and that is forbidden: it fails, loudly. */
function refusePriorOrders(
  state: LaneState,
  want: Want,
  read: MarketRead,
  turn: Turn,
): LaneState | undefined {
  const mayAddUp = state.priorOrdersPossible && !want.isTrimmed;
  const isHedgedNet = turn.context.settings.hedge === 'net' && isHedged(read);
  if (!mayAddUp || (turn.context.settings.overshoot === 'audited' && !isHedgedNet)) return undefined;
  const intents = state.intents.map((intent) => {
    if (!isOpen(intent) || intent.positionId !== want.position.positionId) return intent;
    const distance = distanceNumber(want.position);
    return endIntent(intent, { how: 'failed', why: 'priorOrders' }, distance, turn.nowMs, turn.audit);
  });
  return { ...state, intents };
}

function placeStep(state: LaneState, want: Want, read: MarketRead, turn: Turn, ahead: boolean): PlaceStep {
  const overshoot = ahead ? !want.isTrimmed : state.priorOrdersPossible && !want.isTrimmed;
  const isResend = want.resend !== null;
  const request = want.resend?.request ?? requestOf(state, want);
  const order: OwnOrder = {
    role: want.role,
    key: want.key,
    ruleId: want.ruleId,
    positionId: want.position.positionId,
    openDate: want.position.openDate,
    request,
    amount: want.resend?.amount ?? request.amount,
    slippage: want.slippage,
    status: 'sending',
    sentMs: turn.nowMs,
    arrivedByMs: turn.nowMs,
    placedSizeBase: want.position.sizeBase,
    baseSizeBase: want.position.sizeBase,
    seenAbove: false,
    seenBelow: false,
    activatedMs: null,
    presumedFilled: false,
    ambiguous: false,
    overshoot,
    coverBasis: want.coverBasis,
  };
  if (overshoot) {
    turn.audit.emit({
      kind: 'overshoot',
      key: want.key,
      positionId: order.positionId,
      ruleId: want.ruleId,
      reason: ahead ? 'liquidationLikely' : 'priorOrders',
      words: 'sent although earlier orders may add up with it: over-reduction is better than liquidation',
      alarm: true,
      order: request,
      targetBase: formatDecimal(want.targetBase),
    });
  }
  const anchorMark = want.role === 'cover' ? (findPosition(read, order.positionId)?.markPrice ?? null) : null;
  return { kind: 'place', request, order, ahead, isResend, anchorMark };
}

/** Records what the comparison found to be impossible. */
function note(state: LaneState, difference: SetDifference, read: MarketRead, turn: Turn): LaneState {
  const blocked = new Map(difference.blocked.map(({ key, why }) => [key, why]));
  const hedged = new Set(difference.hedged);
  const intents = state.intents.map((intent) => {
    if (!isOpen(intent)) return intent;
    const { key, positionId, ruleId } = intent;
    if (hedged.has(key)) {
      const distance = distanceNumber(findPosition(read, positionId));
      return endIntent(intent, { how: 'failed', why: 'hedged' }, distance, turn.nowMs, turn.audit);
    }
    const why = blocked.get(key) ?? null;
    if (why === intent.blockedBy || (why === null && intent.targetBase === null)) return intent;
    if (why !== null) {
      turn.audit.emit({
        kind: 'blocked',
        key,
        positionId,
        ruleId,
        reason: why,
        words: BLOCK_WORDS[why],
        alarm: true,
      });
    }
    return { ...intent, blockedBy: why };
  });
  const covers = state.covers.map((cover) => {
    const why = blocked.get(cover.key) ?? null;
    if (why === cover.blockedBy) return cover;
    if (why !== null) {
      const { key, positionId, ruleId } = cover;
      turn.audit.emit({
        kind: 'blocked',
        key,
        positionId,
        ruleId,
        reason: why,
        words: BLOCK_WORDS[why],
        alarm: true,
      });
    }
    return { ...cover, blockedBy: why };
  });
  return noteStanding({ ...state, intents, covers }, difference, turn);
}

function noteStanding(state: LaneState, difference: SetDifference, turn: Turn): LaneState {
  const ids = difference.standing.map(({ order }) => `standing:${order.request.clientOrderId}`);
  for (const { order, why } of difference.standing) {
    if (state.reported.includes(`standing:${order.request.clientOrderId}`)) continue;
    turn.audit.emit({
      kind: 'standingOrder',
      key: order.key,
      positionId: order.positionId,
      ruleId: order.ruleId,
      reason: why,
      words: 'this order should go but cannot be cancelled; it stays, as cover, and is counted',
      alarm: true,
      order: order.request,
    });
  }
  const others = state.reported.filter((entry) => !entry.startsWith('standing:'));
  const same =
    ids.length === state.reported.length - others.length && ids.every((id) => state.reported.includes(id));
  return same ? state : { ...state, reported: [...others, ...ids] };
}

/** When a lane that has nothing to do now should be looked at again. */
function withWake(step: Step, state: LaneState, context: LaneContext, nowMs: number): Step {
  if (step.kind !== 'idle') return step;
  const deadlines = state.intents.filter(isOpen).map((intent) => intent.deadlineMs);
  const followUps = state.orders.map((order) => order.sentMs + context.settings.fillWithinMs);
  const next = Math.min(...[...deadlines, ...followUps].filter((atMs) => atMs > nowMs));
  return { ...step, wakeAtMs: Number.isFinite(next) ? next : null };
}
