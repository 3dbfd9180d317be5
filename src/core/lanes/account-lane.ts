import { type AuditEvent, GATE_WORDS, recorder } from '../audit/audit-event.ts';
import type { LaneContext } from '../intents/admission.ts';
import { countSet, isSpent as isSpentAt, paceMs, REFILL_MS, told } from '../intents/brake.ts';
import type { BrakeCount } from '../intents/brake-count.ts';
import { gateRefusal } from '../intents/gate.ts';
import { actionKey, askedCancel, openCancelTask, reopenedCancel } from '../intents/intent.ts';
import { cancelAnswerMs, judgeAnyCancel, orderRecordOf, reachesStops } from '../orders/cancel-policy.ts';
import { classifyRejection, isPassing, retryPauseMs } from '../orders/rejection.ts';
import type { CancelAllRequest, CommandOutcome, OrderType } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { ActionRequest } from '../rules/subject.ts';
import { cancelled, cancelUnanswered, notCancelled } from './cancel-outcome.ts';
import { finishedTask } from './doubtful.ts';
import { failedIfOverdue, mayGo, reductionsBehind } from './due-task.ts';
import type { LaneScene } from './lane-change.ts';
import type { CancelStep, CancelTask, LaneState } from './lane-state.ts';
import { beginCancel } from './lane-step.ts';
import { admittedKeys } from './lane-turn.ts';

/** Account-wide actions (`cancelAll` of account scope). Plain JSON. */
export interface AccountLane {
  readonly version: 1;
  readonly accountId: string;
  readonly cancels: readonly CancelTask[];
  readonly inProgress: AccountCancel | null;
  readonly retryAtMs: number;
  readonly refusals: number;
  /** Counts the cancels sent. Past a lane's bound people are told, and further ones wait (design: a brake). */
  readonly brake?: BrakeCount;
}

export interface AccountCancel {
  readonly key: string;
  readonly types: readonly OrderType[];
  readonly startedMs: number;
}

export const ACCOUNT_HOLDER = 'account';
/** Longer than any wait of a lane: a longer stored one was written by another program. */
export const MOST_WAIT_MS = 60_000;
/** Least answer timeout. A cancel lost repeatedly puts every lane in doubt, and its round trip is not learned. */
const LEAST_ANSWER_MS = 1_000;

export type AccountStep =
  /** Hold every lane (`hold`); a lane with a request in progress is held once that has ended. */
  | { readonly kind: 'takeLanes'; readonly markets: readonly string[] }
  | {
      readonly kind: 'cancelAll';
      readonly request: CancelAllRequest;
      readonly cancel: AccountCancel;
      /** After this time without an answer it counts as lost, because every lane waits for it. */
      readonly answerWithinMs: number;
    }
  /** Release every lane (`release`): each places its set again. */
  | { readonly kind: 'releaseLanes'; readonly markets: readonly string[] }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'idle' };

export interface AccountChange {
  readonly state: AccountLane;
  readonly lanes: readonly LaneState[];
  readonly events: readonly AuditEvent[];
}

export function newAccountLane(accountId: string): AccountLane {
  return { version: 1, accountId, cancels: [], inProgress: null, retryAtMs: 0, refusals: 0 };
}

/** Opens account-wide cancels that are newly requested and drops those that no longer are. */
export function observeAccountRequests(
  state: AccountLane,
  accountWide: readonly ActionRequest[],
  conclusive: boolean,
  settings: AccountSettings,
  nowMs: number,
): AccountLane {
  const active = new Map(accountWide.map((request) => [actionKey(request, null), request]));
  const kept = state.cancels.flatMap((task) => {
    const request = active.get(task.key);
    if (request === undefined) return conclusive && state.inProgress?.key !== task.key ? [] : [task];
    return [askedCancel(task, request)];
  });
  const known = new Set(kept.map((task) => task.key));
  const opened = [...active].flatMap(([key, request]) =>
    known.has(key) || request.action.kind !== 'cancelAll'
      ? []
      : [openCancelTask(key, request, request.action.types, { settings, nowMs })],
  );
  return { ...state, cancels: [...kept, ...opened] };
}

/** Returns the next step for the account as a whole. Lanes that are not held go on by themselves meanwhile. */
export function advanceAccount(
  state: AccountLane,
  lanes: readonly LaneState[],
  context: LaneContext,
  nowMs: number,
): { readonly state: AccountLane; readonly step: AccountStep; readonly events: readonly AuditEvent[] } {
  const audit = recorder(state.accountId, undefined, nowMs);
  const asked = askGate(state, context.gate, { settings: context.settings, nowMs, audit });
  const step = nextAccountStep(asked, lanes, context, nowMs);
  return { state: asked, step, events: audit.events };
}

function nextAccountStep(
  state: AccountLane,
  lanes: readonly LaneState[],
  context: LaneContext,
  nowMs: number,
): AccountStep {
  if (state.inProgress !== null) return { kind: 'idle' };
  const task = state.cancels.find(
    (one) => one.state === 'open' && one.refusedBy === null && mayCancelAll(one, lanes, context, nowMs),
  );
  const held = lanes.filter((lane) => lane.heldBy === ACCOUNT_HOLDER).map((lane) => lane.market);
  const isWaiting = nowMs < state.retryAtMs && state.retryAtMs <= nowMs + MOST_WAIT_MS;
  // No position should wait for its order while this waits for the exchange.
  if ((task === undefined || isWaiting) && held.length > 0) return { kind: 'releaseLanes', markets: held };
  if (task === undefined) return { kind: 'idle' };
  if (isWaiting) return { kind: 'wait', untilMs: state.retryAtMs };
  const free = lanes.filter((lane) => lane.heldBy !== ACCOUNT_HOLDER).map((lane) => lane.market);
  if (free.length > 0) return { kind: 'takeLanes', markets: free };
  const { key, types } = task;
  const cancel = { key, types, startedMs: nowMs };
  const answerWithinMs = Math.max(LEAST_ANSWER_MS, ...lanes.map(cancelAnswerMs));
  return { kind: 'cancelAll', request: { types }, cancel, answerWithinMs };
}

/** Whether the cancel may be sent: if it reaches stops, orders must be accepted and its reduction able to go. */
function mayCancelAll(
  task: CancelTask,
  lanes: readonly LaneState[],
  { settings, orders }: LaneContext,
  nowMs: number,
): boolean {
  const reached = lanes.filter((lane) => reachesStops(task.types, lane.market));
  if (reached.length === 0) return true;
  const record = orders ?? orderRecordOf(lanes);
  if (!reached.every((lane) => judgeAnyCancel(lane, record, nowMs) === 'may')) return false;
  const behind = lanes.flatMap((lane) => reductionsBehind(task, lane).map((intent) => ({ intent, lane })));
  const canGo = ({ intent, lane }: (typeof behind)[number]): boolean =>
    settings.marketSettings(lane.market) !== undefined && mayGo(intent, lane);
  return behind.length === 0 || behind.some(canGo);
}

function askGate(state: AccountLane, gate: LaneContext['gate'], scene: LaneScene): AccountLane {
  const cancels = state.cancels.map((before) => {
    const task = reopenedCancel(before, gate, scene);
    if (task.state !== 'open') return task;
    const refusedBy = gateRefusal(task, gate);
    if (refusedBy !== null && refusedBy !== task.refusedBy) {
      const { key, ruleId, types } = task;
      const about = { key, ruleId, reason: refusedBy, words: GATE_WORDS[refusedBy] };
      scene.audit.emit({ kind: 'refused', ...about });
      if (refusedBy === 'observeMode' || refusedBy === 'awaitingApproval')
        scene.audit.emit({ kind: 'wouldCancel', ...about, cancel: { types } });
    }
    return failedIfOverdue({ ...task, refusedBy }, 'the account-wide cancel was not carried out', scene);
  });
  return { ...state, cancels };
}

/** Records the cancel before it is sent. Every lane's generation rises; each then reads and places its set. */
export function beginAccountCancel(
  state: AccountLane,
  lanes: readonly LaneState[],
  cancel: AccountCancel,
  nowMs: number,
): AccountChange {
  const audit = recorder(state.accountId, undefined, nowMs);
  const words = 'cancels all orders of these types in the account, the owner’s own included';
  audit.emit({
    kind: 'cancelling',
    key: cancel.key,
    reason: 'cancelAction',
    words,
    cancel: { types: cancel.types },
  });
  const started = lanes.map((lane) => beginCancel(lane, laneStep(lane, cancel), { nowMs, audit: SILENT }));
  const counted = { ...state, inProgress: cancel, brake: countSet(state.brake, nowMs) };
  return { state: counted, lanes: started, events: audit.events };
}

function laneStep(lane: LaneState, cancel: AccountCancel): CancelStep {
  const request = { types: cancel.types };
  const admitted = admittedKeys(lane);
  return { kind: 'cancelAll', request, why: 'cancelAction', task: null, admitted, unfilled: [] };
}

/** Events are emitted once for the account, not once per lane. */
const SILENT: LaneScene['audit'] = { events: [], emit: () => undefined };

export function finishAccountCancel(
  state: AccountLane,
  lanes: readonly LaneState[],
  outcome: CommandOutcome<null>,
  settings: AccountSettings,
  nowMs: number,
): AccountChange {
  const { inProgress } = state;
  if (inProgress === null) return { state, lanes, events: [] };
  const audit = recorder(state.accountId, undefined, nowMs);
  const isSpent = state.brake !== undefined && isSpentAt(state.brake, settings.mostSets, nowMs);
  const brake = state.brake && isSpent ? told(state.brake, 'cancels', audit) : state.brake;
  const braked = {
    ...state,
    ...(brake && { brake }),
    retryAtMs: nowMs + Math.min(REFILL_MS, ...lanes.map(paceMs)),
  };
  const ended: AccountLane = { ...(isSpent ? braked : state), inProgress: null };
  const about = { key: inProgress.key, cancel: { types: inProgress.types } };
  if (outcome.kind === 'accepted') {
    audit.emit({ ...about, kind: 'cancelAccepted', reason: 'cancelAction', words: 'accepted' });
    const { startedMs } = inProgress;
    const settled = lanes.map((lane) =>
      cancelled(lane, { step: laneStep(lane, inProgress), startedMs }, { settings, nowMs, audit: SILENT }),
    );
    const cancels = finishedTask(state.cancels, inProgress.key, 'done');
    return { state: { ...ended, cancels, refusals: 0 }, lanes: settled, events: audit.events };
  }
  const { name, message, effect } = outcome.error;
  const pausedMs = nowMs + retryPauseMs(state.refusals, outcome.error);
  const retryAtMs = isSpent ? Math.max(pausedMs, ended.retryAtMs) : pausedMs;
  const delayed = { ...ended, refusals: state.refusals + 1, retryAtMs };
  const failed = { ...delayed, cancels: finishedTask(state.cancels, inProgress.key, 'failed') };
  if (outcome.kind === 'rejected' && effect === 'none') {
    const passing = isPassing(classifyRejection(outcome.error));
    audit.emit({ ...about, kind: 'cancelRejected', reason: name, words: message, alarm: !passing });
    return { state: passing ? delayed : failed, lanes: lanes.map(notCancelled), events: audit.events };
  }
  audit.emit({ ...about, kind: 'unknown', reason: name, words: message });
  const doubtful = inDoubt(lanes, inProgress, 'unknownOutcome', { settings, nowMs });
  return { state: failed, lanes: doubtful, events: audit.events };
}

function inDoubt(
  lanes: readonly LaneState[],
  { types }: AccountCancel,
  why: 'unknownOutcome' | 'processDied',
  scene: Pick<LaneScene, 'settings' | 'nowMs'>,
): readonly LaneState[] {
  return lanes.map((lane) =>
    cancelUnanswered(lane, { request: { types } }, why, { ...scene, audit: SILENT }),
  );
}

/** Recovers after the process may have died: a cancel in progress has an unknown outcome. */
export function recoverAccount(
  state: AccountLane,
  lanes: readonly LaneState[],
  settings: AccountSettings,
  nowMs: number,
): AccountChange {
  const { inProgress } = state;
  const rebased = {
    ...state,
    inProgress: null,
    retryAtMs: Math.min(state.retryAtMs, nowMs + settings.fillWithinMs),
  };
  if (inProgress === null) return { state: rebased, lanes, events: [] };
  const audit = recorder(state.accountId, undefined, nowMs);
  const { key, types } = inProgress;
  const words = 'the process that sent it has ended or lost its hold before an answer was recorded';
  audit.emit({ kind: 'unknown', key, reason: 'processDied', words, cancel: { types } });
  const failed = { ...rebased, cancels: finishedTask(state.cancels, key, 'failed') };
  const doubtful = inDoubt(lanes, inProgress, 'processDied', { settings, nowMs });
  return { state: failed, lanes: doubtful, events: audit.events };
}
