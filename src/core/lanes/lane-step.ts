import { type Recorder, recorder } from '../audit/audit-event.ts';
import { withDecision } from '../costs/note-fills.ts';
import { countSent } from '../intents/brake.ts';
import { learn } from '../orders/market-steps.ts';
import { classifyRejection } from '../orders/rejection.ts';
import type { CommandOutcome, PlacedOrder } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { Kinds } from '../schema/parts.ts';
import { finishCancel } from './cancel-outcome.ts';
import { isSameId } from './doubtful.ts';
import { changeLane, type LaneChange, type LaneScene } from './lane-change.ts';
import { observeRead } from './lane-observe.ts';
import type { CancelStep, InProgress, LaneState, PlaceStep, RequestStep } from './lane-state.ts';
import type { ReadObservation } from './market-read.ts';
import { aboutOrder, delay, finishPlace } from './place-outcome.ts';

export type StepResult = Kinds<{
  /** `othersAct`: other processes act on the same state and cannot be asked: they may have sent the same order. */
  place: { outcome: CommandOutcome<PlacedOrder>; othersAct?: boolean };
  cancelAll: { outcome: CommandOutcome<null> };
  readPositions: { observation: ReadObservation | null };
}>;

type PlaceResult = Extract<StepResult, { readonly kind: 'place' }>;

/** Records a step before it is sent. Persist the result before sending. */
export function begin(state: LaneState, step: RequestStep, nowMs: number): LaneChange {
  const audit = recorder(state.accountId, state.market, nowMs);
  const started: LaneState = { ...state, inProgress: { step, startedMs: nowMs } };
  if (step.kind === 'readPositions') return { state: started, events: [] };
  const counted = countSent(started, step, nowMs);
  const begun =
    step.kind === 'place' ? beginPlace(counted, step, audit) : beginCancel(counted, step, { nowMs, audit });
  return { state: begun, events: audit.events };
}

function beginPlace(state: LaneState, step: PlaceStep, audit: Recorder): LaneState {
  const { order } = step;
  const { side, amount, activationPrice, price, clientOrderId } = order.request;
  const last = state.lastPrice === undefined ? '' : ` (last price ${state.lastPrice.price})`;
  const words = `${side} ${amount}, activates at ${activationPrice}${last}, limit ${price}`;
  audit.emit({
    ...aboutOrder(order),
    kind: 'placing',
    reason: step.isResend ? 'resend' : order.role,
    words: step.isResend
      ? `asks whether order ${clientOrderId} still stands, by sending it again under its id: ${words}`
      : words,
  });
  const others = state.orders.filter((other) => !isSameId(other, order));
  const covers = state.covers.map((cover) =>
    cover.key === order.key && step.anchor !== null ? { ...cover, anchor: step.anchor } : cover,
  );
  const doubt =
    step.ahead && state.doubt !== null
      ? { ...state.doubt, sentAhead: [...state.doubt.sentAhead, order.positionId] }
      : state.doubt;
  return {
    ...state,
    attempt: state.attempt + 1,
    orders: [...others, withDecision(order, state)],
    covers,
    doubt,
  };
}

/** Raises the generation and starts a change before the cancel is sent. */
export function beginCancel(
  state: LaneState,
  step: CancelStep,
  { nowMs, audit }: Pick<LaneScene, 'nowMs' | 'audit'>,
): LaneState {
  audit.emit({
    kind: 'cancelling',
    ...(step.task === null ? {} : { key: step.task }),
    reason: step.why,
    words: 'cancels all orders of these types in the market, the owner’s own included',
    cancel: step.request,
  });
  // An activation that was never reached was too far away: the gap is as configured again.
  const forgotten = { basis: 0, basisInFavour: undefined };
  const known = step.why === 'marketMovedAway' ? learn(state, forgotten) : state;
  const { startedMs, admitted, rounds } = state.change ?? {
    startedMs: nowMs,
    admitted: step.admitted,
    rounds: 0,
  };
  return {
    ...known,
    change: { why: step.why, startedMs, phase: 'cancel', admitted, rounds: rounds + 1 },
    generation: state.generation + 1,
  };
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
  const ended: LaneState = { ...timed(state, inProgress, result, nowMs), inProgress: null };
  if (result.kind === 'readPositions') return finishRead(ended, result.observation, settings, nowMs);
  const { step, startedMs } = inProgress;
  return changeLane(state, settings, nowMs, (scene) =>
    result.kind === 'place'
      ? finishPlace(ended, sentBefore(step as PlaceStep, result), result.outcome, scene)
      : finishCancel(ended, { step: step as CancelStep, startedMs }, result.outcome, scene),
  );
}

/** Equal state gives equal ids: where other processes act too, a taken id means that one of them was faster. */
function sentBefore(step: PlaceStep, result: PlaceResult): PlaceStep {
  return wasSentByAnother(step, result) ? { ...step, isResend: true, byAnother: true } : step;
}

export function wasSentByAnother(step: PlaceStep, { outcome, othersAct = false }: PlaceResult): boolean {
  const isTaken = outcome.kind === 'rejected' && classifyRejection(outcome.error) === 'duplicateId';
  return othersAct && isTaken && !step.isResend;
}

/** Updates the round trip: slower answers count at once, faster ones by half, lost ones only if given up early. */
function timed(
  state: LaneState,
  { startedMs, step }: InProgress,
  result: StepResult,
  nowMs: number,
): LaneState {
  if (result.kind === 'readPositions') return state;
  const isLost = result.outcome.kind === 'unknown';
  if (isLost && !('answerWithinMs' in step)) return state;
  // The answer may have been on its way: wait a little longer for the next one.
  const tookMs = Math.max(0, nowMs - startedMs) * (isLost ? 0.5 : 1);
  return { ...state, roundTripMs: Math.max(tookMs, Math.round(((state.roundTripMs ?? 0) + tookMs) / 2)) };
}

function finishRead(
  state: LaneState,
  observation: ReadObservation | null,
  settings: AccountSettings,
  nowMs: number,
): LaneChange {
  const observed: LaneChange =
    observation === null ? { state, events: [] } : observeRead(state, observation, settings, nowMs);
  // In doubt the latest read is useful too: for an order ahead of the fence.
  const isNewestRead = state.doubt !== null && observed.state.latestRead !== state.latestRead;
  const isUsed = observed.state.read !== state.read || isNewestRead;
  return isUsed ? observed : { state: delay(observed.state, 'read', nowMs), events: observed.events };
}
