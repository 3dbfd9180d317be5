import { type Recorder, recorder } from '../audit/audit-event.ts';
import { fenceEndMs } from '../orders/fence.ts';
import { coarserStep, forgetStep } from '../orders/market-steps.ts';
import { afterCancel, afterFill } from '../orders/outstanding.ts';
import { classifyRejection, isPassing, retryPauseMs } from '../orders/rejection.ts';
import type { CommandOutcome, ExchangeError, PlacedOrder } from '../ports/exchange.ts';
import { toDecimal } from '../quantities/decimal.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { withLeft } from './absence.ts';
import { doubtful, finishTask, isSameId, mayHideOrders, unsure } from './doubtful.ts';
import { type LaneChange, observeRead } from './lane-observe.ts';
import {
  type CancelStep,
  type InProgress,
  type LaneState,
  type OwnOrder,
  orderTypesOf,
  type PlaceStep,
  type RequestStep,
  type RetryKind,
} from './lane-state.ts';
import type { ReadObservation } from './market-read.ts';

/** What became of a request step. */
export type StepResult =
  | { readonly kind: 'place'; readonly outcome: CommandOutcome<PlacedOrder> }
  | { readonly kind: 'cancelAll'; readonly outcome: CommandOutcome<null> }
  | { readonly kind: 'readPositions'; readonly observation: ReadObservation | null };

/** Writes ahead what is about to be sent; persist the result before sending. */
export function begin(state: LaneState, step: RequestStep, nowMs: number): LaneChange {
  const audit = recorder(state.accountId, state.market, nowMs);
  const started: LaneState = { ...state, inProgress: { step, startedMs: nowMs } };
  switch (step.kind) {
    case 'readPositions':
      return { state: started, events: [] };
    case 'place':
      return { state: beginPlace(started, step, audit), events: audit.events };
    case 'cancelAll':
      return { state: beginCancel(started, step, nowMs, audit), events: audit.events };
  }
}

function beginPlace(state: LaneState, step: PlaceStep, audit: Recorder): LaneState {
  const { order } = step;
  audit.emit({
    ...about(order),
    kind: 'placing',
    reason: step.isResend ? 'resend' : order.role,
    words: words(order),
  });
  const others = state.orders.filter((other) => !isSameId(other, order));
  const covers = state.covers.map((cover) =>
    cover.key === order.key && step.anchor !== null ? { ...cover, anchor: step.anchor } : cover,
  );
  const doubt =
    step.ahead && state.doubt !== null
      ? { ...state.doubt, sentAhead: [...state.doubt.sentAhead, order.positionId] }
      : state.doubt;
  return { ...state, attempt: state.attempt + 1, orders: [...others, order], covers, doubt };
}

function about(order: OwnOrder): {
  key: string;
  positionId: string;
  ruleId: string;
  order: OwnOrder['request'];
} {
  return { key: order.key, positionId: order.positionId, ruleId: order.ruleId, order: order.request };
}

function words(order: OwnOrder): string {
  const { side, amount, activationPrice, price } = order.request;
  return `${side} ${amount}, activates at ${activationPrice}, limit ${price}`;
}

/** Raises the generation and starts a change, before the cancel is sent. */
export function beginCancel(state: LaneState, step: CancelStep, nowMs: number, audit: Recorder): LaneState {
  audit.emit({
    kind: 'cancelling',
    ...(step.task === null ? {} : { key: step.task }),
    reason: step.why,
    words: 'cancels all orders of these types in the market, the owner’s own included',
    cancel: step.request,
  });
  const intents = state.intents.map((intent) =>
    step.unfilled.includes(intent.positionId) && intent.end === null
      ? { ...intent, failures: intent.failures + 1 }
      : intent,
  );
  // An activation that was never reached lay too far away: the gap is as configured again.
  const unlearned = step.why === 'marketMovedAway' ? { learnedBasis: 0 } : {};
  const changed = startChange({ ...state, ...unlearned }, step.why, step.admitted, nowMs);
  return { ...changed, intents, generation: state.generation + 1 };
}

function startChange(
  state: LaneState,
  why: CancelStep['why'],
  admitted: readonly string[],
  nowMs: number,
): LaneState {
  const before = state.change;
  const rounds = (before?.rounds ?? 0) + 1;
  const keys = before === null ? admitted : before.admitted;
  const startedMs = before?.startedMs ?? nowMs;
  return { ...state, change: { why, startedMs, phase: 'cancel', admitted: keys, rounds } };
}

/** Records the outcome of the step that was begun. A second report of the same step changes nothing. */
export function finish(
  state: LaneState,
  result: StepResult,
  settings: AccountSettings,
  nowMs: number,
): LaneChange {
  const { inProgress } = state;
  if (inProgress === null || inProgress.step.kind !== result.kind) return { state, events: [] };
  const audit = recorder(state.accountId, state.market, nowMs);
  const ended: LaneState = { ...timed(state, inProgress, result, nowMs), inProgress: null };
  switch (result.kind) {
    case 'readPositions':
      return finishRead(ended, result.observation, settings, nowMs);
    case 'cancelAll':
      return {
        state: finishCancel(ended, inProgress, result.outcome, settings, nowMs, audit),
        events: audit.events,
      };
    case 'place':
      return {
        state: finishPlace(ended, inProgress, result.outcome, settings, nowMs, audit),
        events: audit.events,
      };
  }
}

/** How long an answer took: slower counts at once, faster by half, and what was not answered tells nothing. */
function timed(state: LaneState, { startedMs }: InProgress, result: StepResult, nowMs: number): LaneState {
  if (result.kind === 'readPositions' || result.outcome.kind === 'unknown') return state;
  const tookMs = Math.max(0, nowMs - startedMs);
  return { ...state, roundTripMs: Math.max(tookMs, Math.round(((state.roundTripMs ?? 0) + tookMs) / 2)) };
}

function finishRead(
  state: LaneState,
  observation: ReadObservation | null,
  settings: AccountSettings,
  nowMs: number,
): LaneChange {
  if (observation !== null) {
    const observed = observeRead(state, observation, settings, nowMs);
    // In doubt the latest read serves as well: for a full close ahead of the fence.
    const isNewestRead = state.doubt !== null && observed.state.latestRead !== state.latestRead;
    const isUsed = observed.state.read !== state.read || isNewestRead;
    return isUsed ? observed : { state: delay(observed.state, 'read', nowMs), events: observed.events };
  }
  return { state: delay(state, 'read', nowMs), events: [] };
}

function delay(state: LaneState, kind: RetryKind, nowMs: number, error?: ExchangeError): LaneState {
  const refusals = state.refusals + 1;
  const untilMs = nowMs + retryPauseMs(state.refusals, error);
  return { ...state, refusals, retryAtMs: { ...state.retryAtMs, [kind]: untilMs } };
}

/** Unanswered again and again, a request is not repeated at once; the first time waiting only loses time. */
function delayRepeated(state: LaneState, kind: RetryKind, nowMs: number): LaneState {
  return state.refusals === 0 ? { ...state, refusals: 1 } : delay(state, kind, nowMs);
}

function finishCancel(
  state: LaneState,
  inProgress: InProgress,
  outcome: CommandOutcome<null>,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const step = inProgress.step as CancelStep;
  if (outcome.kind === 'accepted') {
    audit.emit({ kind: 'cancelAccepted', reason: step.why, words: 'accepted', cancel: step.request });
    return finishTask(cancelled(state, step, inProgress.startedMs, settings, nowMs, audit), step, 'done');
  }
  if (outcome.kind === 'rejected' && outcome.error.effect === 'none') {
    const { name, message } = outcome.error;
    const passing = isPassing(classifyRejection(outcome.error));
    audit.emit({
      kind: 'cancelRejected',
      reason: name,
      words: message,
      alarm: !passing,
      cancel: step.request,
    });
    const delayed = delay(state, 'cancel', nowMs, outcome.error);
    return passing ? delayed : finishTask(countFailures(delayed, null), step, 'failed');
  }
  const delayed = delayRepeated(state, 'cancel', nowMs);
  return finishTask(doubtful(delayed, 'unknownOutcome', settings, nowMs, audit), step, 'failed');
}

/** An accepted cancel: what it covers is gone, and the next read has to be later than it. */
export function cancelled(
  state: LaneState,
  step: CancelStep,
  sentMs: number,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const ownTypes = orderTypesOf(state.market);
  const { types } = step.request;
  const coversOwn = types === undefined || ownTypes.every((type) => types.includes(type));
  const left = withLeft(state, afterCancel(state.orders, types, sentMs, settings, ownTypes));
  const settled = coversOwn ? settleDoubt(left, sentMs, settings, audit) : state;
  const readAfterMs = nowMs + settings.readLagMs;
  return {
    ...settled,
    change: settled.change === null ? null : { ...settled.change, phase: 'place' },
    readAfterMs,
    ignoreReadsBeforeMs: readAfterMs,
    // One that only clears up after another request does not show that that one would be answered now.
    refusals: step.why === 'doubt' ? settled.refusals : 0,
  };
}

function settleDoubt(
  state: LaneState,
  cancelSentMs: number,
  settings: AccountSettings,
  audit: Recorder,
): LaneState {
  const { doubt } = state;
  if (doubt === null || cancelSentMs < fenceEndMs(doubt, settings)) return state;
  audit.emit({ kind: 'doubtResolved', reason: doubt.why, words: 'cancelled after the fence had passed' });
  const leavesPrior = !settings.cancelCoversStops && mayHideOrders(doubt);
  return { ...state, doubt: null, priorOrdersPossible: state.priorOrdersPossible || leavesPrior };
}

function finishPlace(
  state: LaneState,
  inProgress: InProgress,
  outcome: CommandOutcome<PlacedOrder>,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const step = inProgress.step as PlaceStep;
  if (outcome.kind === 'accepted') return accepted(state, step, outcome.value, settings, nowMs, audit);
  if (outcome.kind === 'rejected' && outcome.error.effect === 'none') {
    return rejected(state, step, outcome.error, settings, nowMs, audit);
  }
  audit.emit({
    ...about(step.order),
    kind: 'unknown',
    reason: outcome.error.name,
    words: outcome.error.message,
  });
  const delayed = delayRepeated(state, step.order.role, nowMs);
  return unsure(delayed, step.order, 'unknownOutcome', settings, nowMs, audit);
}

function withoutOrder(state: LaneState, order: OwnOrder): LaneState {
  return { ...state, orders: state.orders.filter((other) => !isSameId(other, order)) };
}

function accepted(
  state: LaneState,
  step: PlaceStep,
  placed: PlacedOrder,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const { order } = step;
  const status = placed.status.known ? placed.status.value : 'NEW';
  const seenFromMs = nowMs + settings.readLagMs;
  if (status === 'CANCELLED') {
    audit.emit({
      ...about(order),
      kind: 'rejected',
      reason: 'cancelledAtCreation',
      words: 'cancelled at creation',
      alarm: true,
    });
    const failed = countFailures(withoutOrder(state, order), order);
    return { ...delay(failed, order.role, nowMs), readAfterMs: seenFromMs, ignoreReadsBeforeMs: seenFromMs };
  }
  noteAdjusted(order, placed, audit);
  audit.emit({ ...about(order), kind: 'accepted', reason: status, words: `order ${placed.orderId}` });
  const base: LaneState = { ...state, refusals: 0, ignoreReadsBeforeMs: seenFromMs };
  if (status === 'FILLED') {
    const rest = withLeft(base, withoutOrder(base, order).orders);
    const filledBase = toDecimal(placed.adjustedFrom === undefined ? order.amount : placed.amount);
    return { ...rest, orders: afterFill(rest.orders, order, filledBase), readAfterMs: seenFromMs };
  }
  const amount = placed.adjustedFrom === undefined ? order.amount : placed.amount;
  const orders = base.orders.map((other) =>
    isSameId(other, order) ? { ...other, status: 'open' as const, amount, arrivedByMs: nowMs } : other,
  );
  // Filled in part or trimmed, it says that the position is not, or not any more, what was read: read before going on.
  const isTrimmed =
    placed.adjustedFrom !== undefined && !toDecimal(placed.adjustedFrom).eq(toDecimal(amount));
  const hasMoved = status === 'PARTIALLY_FILLED' || isTrimmed;
  return { ...base, orders, readAfterMs: hasMoved ? seenFromMs : base.readAfterMs };
}

function noteAdjusted(order: OwnOrder, placed: PlacedOrder, audit: Recorder): void {
  if (placed.adjustedFrom === undefined || toDecimal(placed.adjustedFrom).eq(toDecimal(placed.amount)))
    return;
  const text = `asked for ${placed.adjustedFrom}, accepted for ${placed.amount}`;
  audit.emit({ ...about(order), kind: 'adjusted', reason: 'trimmed', words: text });
}

function rejected(
  state: LaneState,
  step: PlaceStep,
  error: ExchangeError,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const { order } = step;
  const reason = classifyRejection(error);
  const retry = step.isResend ? undefined : coarserStep(reason, order.request, state, settings);
  const passing = isPassing(reason);
  const isExpected = passing || reason === 'side' || (reason === 'duplicateId' && step.isResend);
  const said = retry === undefined ? error.message : `${error.message} (${retry.words})`;
  audit.emit({ ...about(order), kind: 'rejected', reason, words: said, alarm: !isExpected });
  if (reason === 'duplicateId') {
    if (step.isResend) return resentIsThere(state, order);
    // Somebody with our identity used it: this store was rolled back, or copied.
    return unsure(countFailures(state, order), order, 'duplicateUnexpected', settings, nowMs, audit);
  }
  if (reason === 'side') return sideRefused(withoutOrder(state, order), order, settings, nowMs);
  const kept = step.isResend ? markUnsure(state, order) : withoutOrder(state, order);
  const unsent = step.ahead ? forgetAhead(kept, order.positionId) : kept;
  // The market may as well have passed the price: it is taken from a new read.
  if (retry !== undefined) return { ...unsent, learnedSteps: retry.learnedSteps, readAfterMs: nowMs };
  if (passing) return delay(unsent, order.role, nowMs, error);
  const failed = countFailures(dropAdmitted(unsent, order.key), order);
  return delay(forgetStep(failed, reason), order.role, nowMs, error);
}

/** What was refused was not sent ahead of the fence: it may be tried again. */
function forgetAhead(state: LaneState, positionId: string): LaneState {
  if (state.doubt === null) return state;
  const sentAhead = state.doubt.sentAhead.filter((other) => other !== positionId);
  return { ...state, doubt: { ...state.doubt, sentAhead } };
}

function markUnsure(state: LaneState, order: OwnOrder): LaneState {
  const orders = state.orders.map((other) =>
    isSameId(other, order) ? { ...other, status: 'unsure' as const } : other,
  );
  return { ...state, orders };
}

/** A duplicate: the order that was sent again was accepted once, and no cancel reaches it. */
function resentIsThere(state: LaneState, order: OwnOrder): LaneState {
  const orders = state.orders.map((other) =>
    isSameId(other, order) ? { ...other, status: 'open' as const } : other,
  );
  return { ...state, orders };
}

/** 116: gone, or at target, or the side is wrong; the next read tells which. */
function sideRefused(state: LaneState, order: OwnOrder, settings: AccountSettings, nowMs: number): LaneState {
  const readAfterMs = nowMs + settings.readLagMs;
  const intents = state.intents.map((intent) =>
    intent.positionId === order.positionId && intent.end === null && intent.refusedBy === null
      ? { ...intent, sideRefused: true }
      : intent,
  );
  const dropped = dropAdmitted(state, order.key);
  const paused = order.role === 'cover' ? delay(dropped, 'cover', nowMs) : dropped;
  return { ...paused, intents, readAfterMs, ignoreReadsBeforeMs: readAfterMs };
}

/** A refused order is not part of a change that has to be completed any more. */
function dropAdmitted(state: LaneState, key: string): LaneState {
  if (state.change === null) return state;
  const admitted = state.change.admitted.filter((other) => other !== key);
  return { ...state, change: { ...state.change, admitted } };
}

/** One failed attempt, of the intents behind an order, or of all of them when a cancel was refused. */
function countFailures(state: LaneState, order: OwnOrder | null): LaneState {
  const isMeant = (positionId: string): boolean => order === null || order.positionId === positionId;
  const intents = state.intents.map((intent) =>
    intent.end === null && intent.refusedBy === null && isMeant(intent.positionId) && order?.role !== 'cover'
      ? { ...intent, failures: intent.failures + 1 }
      : intent,
  );
  return { ...state, intents };
}
