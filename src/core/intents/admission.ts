import type { LaneScene } from '../lanes/lane-change.ts';
import type { CancelTask, Cover, Intent, LaneState } from '../lanes/lane-state.ts';
import { findPosition } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import type { OrderRecord } from '../orders/cancel-policy.ts';
import type { Admitted, Removal } from '../orders/want.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { endIntent } from './end-intent.ts';
import { GATE_WORDS, type GateContext, gateRefusal } from './gate.ts';
import { isOpen } from './intent.ts';
import { distanceNumber } from './intent-target.ts';
import { reopen } from './renew.ts';
import { settleIntents } from './settle-intents.ts';

export interface LaneContext {
  readonly settings: AccountSettings;
  readonly gate: GateContext;
  /** What became of the newest orders in all lanes of the account; absent: the lane's own say it. */
  readonly orders?: OrderRecord;
}

/** Asks the gate for everything in the lane, and records each answer that is new. What it lets in again is settled. */
export function askGate(state: LaneState, gate: GateContext, scene: LaneScene): LaneState {
  const ask = <T extends Intent | Cover | CancelTask>(subject: T): T => withRefusal(subject, gate, scene);
  const intents = state.intents.map((intent) => {
    if (isOpen(intent)) return ask(intent);
    const failedAtGate = intent.end?.how === 'failed' && intent.end.why.startsWith('refused:');
    if (!failedAtGate || gateRefusal(intent, gate) !== null) return intent;
    return reopen(intent, 'gateOpened', scene);
  });
  const covers = state.covers.map(ask);
  const cancels = state.cancels.map((task) => (task.state === 'open' ? ask(task) : task));
  const asked = { ...state, intents, covers, cancels };
  const hasReopened = intents.some(
    (intent, index) => isOpen(intent) && !isOpen(state.intents[index] ?? intent),
  );
  if (!hasReopened) return asked;
  // The position may have changed hands meanwhile, and that may open others, which are asked for as well.
  const settled = settleIntents(asked, false, scene);
  return { ...settled, intents: settled.intents.map((intent) => (isOpen(intent) ? ask(intent) : intent)) };
}

function withRefusal<T extends Intent | Cover | CancelTask>(
  subject: T,
  gate: GateContext,
  { audit }: LaneScene,
): T {
  const refusedBy = gateRefusal(subject, gate);
  if (subject.refusedBy === refusedBy) return subject;
  const { key, ruleId } = subject;
  if (refusedBy !== null) {
    audit.emit({ kind: 'refused', key, ruleId, reason: refusedBy, words: GATE_WORDS[refusedBy] });
  }
  return { ...subject, refusedBy };
}

/** What may act now. A cancel-read-place under way completes, so that a pause never leaves a market half done. */
export function admittedOf(state: LaneState): Admitted {
  const passes = (subject: Intent | Cover): boolean =>
    subject.refusedBy === null || (state.change?.admitted.includes(subject.key) ?? false);
  return {
    intents: state.intents.filter((intent) => isOpen(intent) && passes(intent)),
    covers: state.covers.filter(passes),
  };
}

/** Rounds after which a cancel-read-place that never gets through is no longer exempt from the gate. */
const MAX_ROUNDS = 5;

/** A change whose cancels have failed that often, or that takes that long, is not completed at any price. */
export function boundChange(state: LaneState, { settings, nowMs, audit }: LaneScene): LaneState {
  const { change } = state;
  if (change === null) return state;
  const isFruitless = change.phase === 'cancel' && change.rounds >= MAX_ROUNDS;
  if (!isFruitless && nowMs - change.startedMs < settings.intentTtlMs) return state;
  audit.emit({
    kind: 'setChanged',
    reason: 'givenUp',
    words: `not completed after ${change.rounds} cancels: the gate counts again`,
    alarm: true,
  });
  return { ...state, change: null };
}

/** Whether a removal may be carried out now: a rule that is held back removes nothing, another one may need it. */
export function mayCarryOut(
  { order, why }: Removal,
  state: LaneState,
  admitted: Admitted,
  gate: GateContext,
): boolean {
  if (mayRemove(order, state, gate)) return true;
  // What serves what is wanted on its position may go, whoever placed the order.
  const isOver = why === 'resolved' || why === 'positionGone';
  return !isOver && admitted.intents.some((intent) => intent.positionId === order.positionId);
}

/** Whether an order whose intent may be gone may be cancelled now. */
export function mayRemove(order: OwnOrder, state: LaneState, gate: GateContext): boolean {
  if (state.change !== null) return true;
  const subject = {
    mode: gate.modeOf(order.ruleId),
    ruleId: order.ruleId,
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
