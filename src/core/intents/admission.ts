import { type AskedTarget, approvedTarget, isAnother, restRefusal } from '../approvals/question.ts';
import { GATE_WORDS, type GateReason } from '../audit/audit-event.ts';
import { isPresumedClosed } from '../lanes/absence.ts';
import type { LaneScene } from '../lanes/lane-change.ts';
import type { CancelTask, Change, Cover, Intent, LaneState } from '../lanes/lane-state.ts';
import { findPosition } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import type { OrderRecord } from '../orders/cancel-policy.ts';
import { marketOf } from '../orders/market-steps.ts';
import type { Admitted, Removal } from '../orders/want.ts';
import { formatDecimal, toDecimal } from '../quantities/decimal.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { unaskedMode } from '../rules/rule.ts';
import { endIntent } from './end-intent.ts';
import { type GateContext, gateRefusal } from './gate.ts';
import { boundByApproval, isHeldByPeople, isOpen, needsApproval, reopenedCancel } from './intent.ts';
import { distanceNumber } from './intent-target.ts';
import { reopen } from './renew.ts';
import { settleIntents } from './settle-intents.ts';
import { reachedBy } from './targets.ts';

export interface LaneContext {
  readonly settings: AccountSettings;
  readonly gate: GateContext;
  /** Outcome of the newest orders in all lanes of the account. Absent: only the lane's own count. */
  readonly orders?: OrderRecord;
  /** This process acts in place of another one, whose orders it cannot know. Absent: it does not. */
  readonly standsIn?: true;
}

/** Asks the gate about everything in the lane and records each new answer. Settles the intents if any reopened. */
export function askGate(state: LaneState, gate: GateContext, scene: LaneScene): LaneState {
  const ask = <T extends Intent | Cover | CancelTask>(subject: T): T =>
    withRefusal(inForceNow(subject, gate), gate, scene);
  const askIntent = (intent: Intent): Intent =>
    intent.mode === 'approve'
      ? askApproval(inForceNow(intent, gate), state, gate, scene)
      : ask(unbound(intent));
  const intents = state.intents.map((intent) => {
    if (isOpen(intent)) return askIntent(intent);
    const failedAtGate = intent.end?.how === 'failed' && intent.end.why.startsWith('refused:');
    if (!failedAtGate) return intent;
    const refusal = approvalRefused(intent, approvedFor(intent, gate), gate, { ...scene, state });
    if (refusal === 'awaitingApproval') return askIntent(reopen(intent, 'gateOpened', scene));
    return refusal === null ? reopen(intent, 'gateOpened', scene) : intent;
  });
  const covers = state.covers.map(ask);
  const cancels = state.cancels
    .map((task) => reopenedCancel(task, gate, scene))
    .map((task) => (task.state === 'open' ? ask(task) : task));
  const asked = { ...state, intents, covers, cancels };
  const hasReopened = intents.some(
    (intent, index) => isOpen(intent) && !isOpen(state.intents[index] ?? intent),
  );
  if (!hasReopened) return asked;
  // The position may have changed meanwhile. Settling may open other intents, so the gate is asked about those too.
  const settled = settleIntents(asked, false, scene);
  return {
    ...settled,
    intents: settled.intents.map((intent) => (isOpen(intent) ? askIntent(intent) : intent)),
  };
}

/** A rule's action leaves observe mode only in a new episode, an operator order whenever its account does. */
function inForceNow<T extends Intent | Cover | CancelTask>(subject: T, { modeOf }: GateContext): T {
  const mode = unaskedMode(modeOf(subject.ruleId));
  const isBound = mode === 'observe' || ('source' in subject && subject.source === 'operator');
  return isBound && subject.mode !== mode ? { ...subject, mode } : subject;
}

function withRefusal<T extends Intent | Cover | CancelTask>(
  subject: T,
  gate: GateContext,
  { audit }: LaneScene,
  refusedBy: GateReason | null = gateRefusal(subject, gate),
): T {
  if (subject.refusedBy === refusedBy) return subject;
  const { key, ruleId } = subject;
  if (refusedBy !== null) {
    audit.emit({ kind: 'refused', key, ruleId, reason: refusedBy, words: GATE_WORDS[refusedBy] });
  }
  return { ...subject, refusedBy };
}

/** Asks the gate about an intent that needs approval: it may go as far as was approved, and ends if it was vetoed. */
function askApproval(intent: Intent, state: LaneState, gate: GateContext, scene: LaneScene): Intent {
  const approved = approvedFor(intent, gate);
  const bound: Intent =
    approved === undefined ? unbound(intent) : { ...intent, approvedBase: approved.targetBase };
  const asked = withRefusal(bound, gate, scene, approvalRefused(bound, approved, gate, { ...scene, state }));
  if (isHeldByPeople(asked.refusedBy))
    return endIntent(asked, { how: 'failed', why: `refused:${asked.refusedBy}` }, scene);
  const wasHeld = intent.refusedBy === 'awaitingApproval' && asked.refusedBy !== 'awaitingApproval';
  // Its time to act begins once it may act.
  return wasHeld ? { ...asked, deadlineMs: scene.nowMs + scene.settings.intentTtlMs } : asked;
}

function approvedFor(intent: Intent, { questions }: GateContext): AskedTarget | undefined {
  return needsApproval(intent) ? approvedTarget(intent, questions) : undefined;
}

function unbound(intent: Intent): Intent {
  if (intent.approvedBase === undefined) return intent;
  const { approvedBase: _, ...rest } = intent;
  return rest;
}

/** Returns why the gate refuses an intent. Once it has gone as far as approved, any rest needs approval too. */
function approvalRefused(
  intent: Intent,
  approved: AskedTarget | undefined,
  gate: GateContext,
  { settings, state }: LaneScene & { readonly state: LaneState },
): GateReason | null {
  const refusal = gateRefusal(intent, gate);
  if (refusal !== null || approved === undefined) return refusal;
  const position = findPosition(state.read, intent.positionId);
  const steps = marketOf(state, settings);
  if (position === undefined || steps === undefined) return null;
  const size = toDecimal(position.sizeBase);
  // The position has grown since people were asked, or is another one under its id.
  if (size.gt(toDecimal(approved.sizeBase)) || isAnother(approved, position)) return 'awaitingApproval';
  const isBound =
    intent.targetBase !== null && toDecimal(intent.targetBase).lt(toDecimal(approved.targetBase));
  if (!isBound || reachedBy(size, toDecimal(approved.targetBase), steps) === undefined) return null;
  return restRefusal(intent, gate.questions);
}

/** Returns what may act now. A cancel-read-place under way completes: a pause never leaves a market half done. */
export function admittedOf(state: LaneState): Admitted {
  const passes = (subject: Intent | Cover): boolean =>
    subject.refusedBy === null || (state.change?.admitted.includes(subject.key) ?? false);
  return {
    intents: state.intents.filter((intent) => isOpen(intent) && passes(intent)).map(asApproved),
    covers: state.covers.filter(passes),
  };
}

function asApproved(intent: Intent): Intent {
  if (intent.approvedBase === undefined || intent.targetBase === null) return intent;
  return { ...intent, targetBase: formatDecimal(boundByApproval(intent.targetBase, intent)) };
}

/** Rounds after which a cancel-read-place that does not get through is no longer exempt from the gate. */
const MAX_ROUNDS = 5;

/** Added to the time that a request may take to arrive. */
const REDUCTION_WITHIN_MS = 10_000;

/**
 * Gives up a change when its cancels failed `MAX_ROUNDS` times or when it takes too long. A reduction that the gate
 * refuses by now is given up after seconds, as a pause must hold. A standing stop that the change took down is not.
 */
export function boundChange(state: LaneState, scene: LaneScene): LaneState {
  const { change } = state;
  if (change === null) return state;
  const { settings, nowMs } = scene;
  const tookMs = nowMs - change.startedMs;
  if (isFruitless(change) || tookMs >= settings.intentTtlMs) return givenUp(state, change, [], scene);
  if (tookMs < settings.lateArrivalMs + REDUCTION_WITHIN_MS) return state;
  // The reduction that follows a triggered stop has the key of that stop.
  const stops = new Set(state.covers.map(({ key }) => key));
  const isHeldBack = ({ key, refusedBy }: Intent): boolean => refusedBy !== null && !stops.has(key);
  const heldBack = new Set(
    state.intents.filter((intent) => isOpen(intent) && isHeldBack(intent)).map(({ key }) => key),
  );
  const admitted = change.admitted.filter((key) => !heldBack.has(key));
  if (admitted.length === change.admitted.length) return state;
  return givenUp(state, change, admitted, scene);
}

function isFruitless({ phase, rounds }: Change): boolean {
  return phase === 'cancel' && rounds >= MAX_ROUNDS;
}

/** `left`: keys of what is still completed. */
function givenUp(
  state: LaneState,
  change: Change,
  left: readonly string[],
  { audit, nowMs }: LaneScene,
): LaneState {
  const tookSeconds = Math.round((nowMs - change.startedMs) / 1_000);
  const wanted = state.intents.filter(isOpen);
  const isUnseen = wanted.length > 0 && wanted.every(({ positionId }) => isPresumedClosed(state, positionId));
  audit.emit({
    kind: 'setChanged',
    reason: 'givenUp',
    words: `not completed after ${isFruitless(change) ? `${change.rounds} cancels` : `${tookSeconds} s`}: the gate counts again`,
    alarm: !isUnseen,
  });
  return { ...state, change: left.length === 0 ? null : { ...change, admitted: left } };
}

/** Whether a removal may be carried out now. A rule that is held back removes nothing, unless another rule needs it. */
export function mayCarryOut(
  { order, why }: Removal,
  state: LaneState,
  admitted: Admitted,
  gate: GateContext,
): boolean {
  if (mayRemove(order, state, gate)) return true;
  // A removal that serves an admitted intent on the position may go, whichever rule placed the order.
  const isOver = why === 'resolved' || why === 'positionGone';
  return !isOver && admitted.intents.some((intent) => intent.positionId === order.positionId);
}

/** Whether an order may be cancelled now, even if its intent is gone. */
export function mayRemove(order: OwnOrder, state: LaneState, gate: GateContext): boolean {
  if (state.change !== null) return true;
  const subject = {
    mode: gate.modeOf(order.ruleId),
    ruleId: order.ruleId,
    key: order.key,
    episodeKey: order.key,
    exemptFromLimits: true,
  };
  return gateRefusal(subject, gate) === null;
}

export function failExhausted(state: LaneState, scene: LaneScene): LaneState {
  const isExhausted = (intent: Intent): boolean =>
    isOpen(intent) && intent.failures >= scene.settings.maxAttempts;
  if (!state.intents.some(isExhausted)) return state;
  const intents = state.intents.map((intent) => {
    if (!isExhausted(intent)) return intent;
    const distance = distanceNumber(findPosition(state.read, intent.positionId));
    return endIntent(intent, { how: 'failed', why: 'attempts' }, scene, distance);
  });
  return { ...state, intents };
}
