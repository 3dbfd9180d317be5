import { isOpen } from '../intents/intent.ts';
import { judgeAnyCancel, reachesStops } from '../orders/cancel-policy.ts';
import { type CancelTask, type Intent, type LaneState } from './lane-state.ts';
import { cancelStep, type DecidedStep, type Turn } from './lane-turn.ts';
import { findPosition } from './market-read.ts';
import { trialStep } from './trial-step.ts';

/**
 * A rule's own cancel. One that reaches the stops of the market goes only where orders are taken, and where the
 * reduction behind it can go; until then that reduction goes first. Without a step nothing waits for it.
 */
export function dueTask(
  state: LaneState,
  turn: Turn,
): DecidedStep | { readonly state: LaneState; readonly step: null } {
  const cancels = state.cancels.map((task) => settled(task, state, turn));
  const expired = { ...state, cancels };
  for (const task of cancels) {
    if (task.state !== 'open' || task.refusedBy !== null) continue;
    const step = stepOf(task, expired, turn);
    if (step !== undefined) return { state: expired, step };
  }
  return { state: expired, step: null };
}

function stepOf(task: CancelTask, state: LaneState, turn: Turn): DecidedStep['step'] | undefined {
  const verdict = reachesStops(task.types, state.market)
    ? judgeAnyCancel(state, turn.context.orders, turn.nowMs)
    : turn.nowMs < state.retryAtMs.cancel
      ? 'barred'
      : 'may';
  if (verdict === 'barred') return undefined;
  const behind = reductionsBehind(task, state);
  const canGo =
    behind.length === 0 ||
    !reachesStops(task.types, state.market) ||
    behind.some((intent) => mayGo(intent, state));
  if (!canGo) return undefined;
  if (verdict === 'may') {
    const request = { market: state.market, types: task.types };
    return cancelStep(state, request, 'cancelAction', task.key, []);
  }
  // What is wanted in the market shows by itself whether orders are taken.
  const isAlone = behind.length === 0 && !state.intents.some(isOpen);
  return isAlone && turn.market !== undefined ? trialStep(state, task, turn, turn.market) : undefined;
}

/** The reductions of the same episode. */
export function reductionsBehind({ episodeKey }: CancelTask, { intents }: LaneState): readonly Intent[] {
  return intents.filter((intent) => intent.episodeKey === episodeKey);
}

/** Market configured, gate open, side known; or it has gone already. */
export function mayGo(intent: Intent, { latestRead }: LaneState): boolean {
  if (intent.end?.how === 'reached') return true;
  const side = findPosition(latestRead, intent.positionId)?.direction ?? null;
  return isOpen(intent) && intent.refusedBy === null && intent.blockedBy === null && side !== null;
}

function settled(task: CancelTask, state: LaneState, turn: Turn): CancelTask {
  const { settings } = turn.context;
  if (task.state !== 'open') return task;
  const { key, ruleId, refusedBy } = task;
  const behind = reductionsBehind(task, state);
  const isNeedless =
    behind.length > 0 && behind.every(({ end }) => end?.how === 'reached' || end?.how === 'superseded');
  const isTaken = judgeAnyCancel(state, turn.context.orders, turn.nowMs) === 'may';
  if (isNeedless && !isTaken && reachesStops(task.types, state.market)) {
    const words = 'the reduction that the cancel was for has been made without it';
    turn.audit.emit({ kind: 'intentEnded', key, ruleId, reason: 'superseded:targetReachedEarlier', words });
    return { ...task, state: 'done' };
  }
  if (task.failures < settings.maxAttempts && turn.nowMs < task.deadlineMs) return task;
  const reason = refusedBy === null ? 'failed:attempts' : `failed:refused:${refusedBy}`;
  const words = 'the cancel of the rule was not carried out';
  const alarm = refusedBy !== 'observeMode';
  turn.audit.emit({ kind: 'intentEnded', key, ruleId, reason, words, alarm });
  return { ...task, state: 'failed' };
}
