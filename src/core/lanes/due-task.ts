import { isHeldByPeople, isOpen } from '../intents/intent.ts';
import { judgeAnyCancel, reachesStops } from '../orders/cancel-policy.ts';
import type { LaneScene } from './lane-change.ts';
import type { CancelTask, Intent, LaneState, Step } from './lane-state.ts';
import { cancelStep, type MaybeStep, pausedBy, type Turn, trialStep } from './lane-turn.ts';
import { findPosition, isAtMarginCall } from './market-read.ts';

/** Returns the next cancel of a rule. One that reaches stops needs orders accepted and its reduction able to go. */
export function dueTask(state: LaneState, turn: Turn): MaybeStep {
  const cancels = state.cancels.map((task) => settled(task, state, turn));
  const expired = { ...state, cancels };
  for (const task of cancels) {
    if (task.state !== 'open' || task.refusedBy !== null) continue;
    const step = stepOf(task, expired, turn);
    if (step !== undefined) return { state: expired, step };
  }
  return { state: expired, step: null };
}

function stepOf(task: CancelTask, state: LaneState, turn: Turn): Step | undefined {
  const isReaching = reachesStops(task.types, state.market);
  if (!isReaching && pausedBy(state, 'cancel', turn.nowMs) !== undefined) return undefined;
  const verdict = isReaching ? judgeAnyCancel(state, turn.context.orders, turn.nowMs) : 'may';
  if (verdict === 'barred') return undefined;
  const behind = reductionsBehind(task, state);
  if (isReaching && behind.length > 0 && !behind.some((intent) => mayGo(intent, state))) return undefined;
  if (verdict === 'may') {
    const request = { market: state.market, types: task.types };
    return cancelStep(state, request, 'cancelAction', task.key, []);
  }
  // Orders that are wanted in the market show by themselves whether orders are accepted.
  const isAlone = behind.length === 0 && !state.intents.some(isOpen);
  return isAlone && turn.market !== undefined ? trialStep(state, task, turn, turn.market) : undefined;
}

export function reductionsBehind({ episodeKey }: CancelTask, { intents }: LaneState): readonly Intent[] {
  return intents.filter((intent) => intent.episodeKey === episodeKey);
}

/** What blocks a reduction, and only a cancel lifts. */
const LIFTED_BY_CANCEL: ReadonlySet<Intent['blockedBy']> = new Set([
  null,
  'cancelForbidden',
  'stopNotCancellable',
]);

/** Whether a reduction can be sent, after the cancel at the latest, or has reached its target. */
export function mayGo(intent: Intent, { latestRead }: LaneState): boolean {
  if (intent.end?.how === 'reached') return true;
  const position = findPosition(latestRead, intent.positionId);
  const hasSide = position !== undefined && (position.direction !== null || isAtMarginCall(position));
  return isOpen(intent) && intent.refusedBy === null && LIFTED_BY_CANCEL.has(intent.blockedBy) && hasSide;
}

function settled(task: CancelTask, state: LaneState, turn: Turn): CancelTask {
  if (task.state !== 'open') return task;
  const { key, ruleId } = task;
  const behind = reductionsBehind(task, state);
  const isNeedless =
    behind.length > 0 && behind.every(({ end }) => end?.how === 'reached' || end?.how === 'superseded');
  const isTaken = judgeAnyCancel(state, turn.context.orders, turn.nowMs) === 'may';
  if (isNeedless && !isTaken && reachesStops(task.types, state.market)) {
    const words = 'the reduction that the cancel was for has been made without it';
    turn.audit.emit({ kind: 'intentEnded', key, ruleId, reason: 'superseded:targetReachedEarlier', words });
    return { ...task, state: 'done' };
  }
  return failedIfOverdue(task, 'the cancel of the rule was not carried out', turn);
}

/** Fails a cancel that people refused, or that was tried as often or has waited as long as allowed. */
export function failedIfOverdue(
  task: CancelTask,
  words: string,
  { settings, nowMs, audit }: LaneScene,
): CancelTask {
  const { key, ruleId, refusedBy } = task;
  // Its time begins once people have answered.
  if (refusedBy === 'awaitingApproval') return { ...task, deadlineMs: nowMs + settings.intentTtlMs };
  const isTried = task.failures >= settings.maxAttempts || nowMs >= task.deadlineMs;
  if (!isTried && !isHeldByPeople(refusedBy)) return task;
  const reason = refusedBy === null ? 'failed:attempts' : `failed:refused:${refusedBy}`;
  audit.emit({
    kind: 'intentEnded',
    key,
    ruleId,
    reason,
    words,
    alarm: refusedBy !== 'observeMode' && refusedBy !== 'vetoed',
  });
  return { ...task, state: 'failed' };
}
