import type { BlockReason, Recorder } from '../audit/audit-event.ts';
import type { CancelTask, Cover, Intent, LaneState } from '../lanes/lane-state.ts';
import type { DecimalString } from '../quantities/decimal.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { ReduceTarget } from '../rules/rule.ts';
import type { ActionRequest } from '../rules/subject.ts';
import { endIntent } from './end-intent.ts';
import { episodeKeyOf } from './gate.ts';

/** One action of an active stage for one position of a lane's market; `cancelAll` names no position. */
export interface LaneRequest {
  readonly request: ActionRequest;
  readonly positionId: string | null;
  /** Of a target of the account as a whole: what is to be left of this position. */
  readonly plannedBase?: DecimalString;
}

/** What an operator asks for by hand; goes the same way as a rule's intents, gate included. */
export interface OperatorRequest {
  /** Unique per account; part of the client order id. */
  readonly id: string;
  readonly positionId: string;
  readonly target: ReduceTarget;
  readonly slippageSteps: readonly number[];
  /** `flatten`: closes even where it raises the market's net exposure. */
  readonly flatten: boolean;
  readonly because: string;
}

export function actionKey(request: ActionRequest, positionId: string | null): string {
  const { ruleId, ruleChecksum, subject, episode, stage, actionIndex } = request;
  // A rule that changed starts fresh, and counts its episodes anew.
  return JSON.stringify([ruleId, ruleChecksum, subject, episode, stage, actionIndex, positionId]);
}

/**
 * Brings intents, covers and cancel actions in line with what evaluating asks for now: opens what is new,
 * ends as resolved what is gone - if the evaluation was conclusive; absence proves nothing otherwise.
 */
export function reconcileRequests(
  state: LaneState,
  requests: readonly LaneRequest[],
  conclusive: boolean,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const active = new Map<string, LaneRequest>();
  for (const entry of requests) active.set(actionKey(entry.request, entry.positionId), entry);
  const covers = reconcileCovers(state, active, conclusive);
  const coverKeys = new Set(covers.map((cover) => cover.key));
  const kept = keepIntents(state.intents, active, coverKeys, conclusive, nowMs, audit);
  const opened = openIntents(kept, active, settings, nowMs, audit);
  return {
    ...state,
    intents: opened,
    covers,
    cancels: reconcileCancels(state.cancels, active, conclusive, settings, nowMs),
  };
}

function isWanted(
  intent: Intent,
  active: ReadonlyMap<string, LaneRequest>,
  coverKeys: ReadonlySet<string>,
): boolean {
  if (intent.source === 'operator') return true;
  return intent.source === 'cover' ? coverKeys.has(intent.key) : active.has(intent.key);
}

function keepIntents(
  intents: readonly Intent[],
  active: ReadonlyMap<string, LaneRequest>,
  coverKeys: ReadonlySet<string>,
  conclusive: boolean,
  nowMs: number,
  audit: Recorder,
): readonly Intent[] {
  const kept: Intent[] = [];
  for (const intent of intents) {
    const wanted = isWanted(intent, active, coverKeys);
    if (!wanted && conclusive) {
      if (intent.end === null)
        endIntent(intent, { how: 'resolved', why: 'ruleResolved' }, null, nowMs, audit);
      continue;
    }
    if (intent.source === 'operator' && intent.end !== null) continue;
    const entry = active.get(intent.key);
    kept.push(
      entry === undefined ? intent : { ...intent, ...gateFields(entry.request), ...plannedFields(entry) },
    );
  }
  return kept;
}

function plannedFields({ plannedBase }: LaneRequest): Pick<Intent, 'plannedBase'> {
  return plannedBase === undefined ? {} : { plannedBase };
}

function gateFields(
  request: ActionRequest,
): Pick<Intent, 'mode' | 'severity' | 'exemptFromLimits' | 'hasCleared'> {
  const { mode, severity, exemptFromLimits, hasCleared = false } = request;
  return { mode, severity, exemptFromLimits, hasCleared };
}

function openIntents(
  kept: readonly Intent[],
  active: ReadonlyMap<string, LaneRequest>,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): readonly Intent[] {
  const intents = [...kept];
  for (const [key, entry] of active) {
    const { request, positionId } = entry;
    if (request.action.kind !== 'reduce' || positionId === null) continue;
    if (intents.some((intent) => intent.key === key)) continue;
    const intent: Intent = {
      ...blankIntent(key, positionId, settings, nowMs),
      ...gateFields(request),
      ...plannedFields(entry),
      episodeKey: episodeKeyOf(request),
      source: 'rule',
      ruleId: request.ruleId,
      episode: request.episode,
      stage: request.stage,
      target: request.action.target,
      slippageSteps: request.action.slippageSteps,
      stageAtMs: request.atMs,
    };
    audit.emit({
      kind: 'intentOpened',
      key,
      positionId,
      ruleId: intent.ruleId,
      reason: 'firing',
      words: request.because,
    });
    intents.push(isCancelledStage(intent, intents) ? cancelStage(intent, nowMs, audit) : intent);
  }
  return intents;
}

type IntentCore = Pick<
  Intent,
  | 'episodeKey'
  | 'source'
  | 'ruleId'
  | 'episode'
  | 'stage'
  | 'target'
  | 'slippageSteps'
  | 'stageAtMs'
  | 'mode'
  | 'severity'
  | 'exemptFromLimits'
>;

function blankIntent(
  key: string,
  positionId: string,
  settings: AccountSettings,
  nowMs: number,
): Omit<Intent, keyof IntentCore> {
  return {
    key,
    positionId,
    targetBase: null,
    perLeg: false,
    openedMs: nowMs,
    deadlineMs: nowMs + settings.intentTtlMs,
    failures: 0,
    renewals: 0,
    sideRefused: false,
    blockedBy: null,
    refusedBy: null,
    end: null,
    endedMs: null,
    endDistance: null,
    basis: null,
  };
}

/** A target that was reached cancels the later stages of its episode - unless there was nothing to reduce. */
function isCancelledStage(intent: Intent, intents: readonly Intent[]): boolean {
  return intents.some(
    (earlier) =>
      earlier.episodeKey === intent.episodeKey &&
      earlier.positionId === intent.positionId &&
      earlier.stage < intent.stage &&
      earlier.end?.how === 'reached' &&
      earlier.end.why !== 'nothingToReduce' &&
      (earlier.endedMs ?? Infinity) <= intent.stageAtMs,
  );
}

function cancelStage(intent: Intent, nowMs: number, audit: Recorder): Intent {
  return endIntent(intent, { how: 'superseded', why: 'targetReachedEarlier' }, null, nowMs, audit);
}

function reconcileCovers(
  state: LaneState,
  active: ReadonlyMap<string, LaneRequest>,
  conclusive: boolean,
): readonly Cover[] {
  const kept = state.covers.flatMap((cover) => {
    const entry = active.get(cover.key);
    if (entry === undefined) return conclusive ? [] : [cover];
    return [{ ...cover, ...gateFields(entry.request) }];
  });
  const covers = [...kept];
  for (const [key, { request, positionId }] of active) {
    if (request.action.kind !== 'protect' || positionId === null) continue;
    if (covers.some((cover) => cover.key === key)) continue;
    covers.push({
      key,
      episodeKey: episodeKeyOf(request),
      ruleId: request.ruleId,
      episode: request.episode,
      stage: request.stage,
      positionId,
      at: request.action.at,
      slippage: request.action.slippage,
      anchor: null,
      ...gateFields(request),
      blockedBy: null,
      refusedBy: null,
    });
  }
  return covers;
}

function reconcileCancels(
  cancels: readonly CancelTask[],
  active: ReadonlyMap<string, LaneRequest>,
  conclusive: boolean,
  settings: AccountSettings,
  nowMs: number,
): readonly CancelTask[] {
  const tasks = cancels.flatMap((task) => {
    const entry = active.get(task.key);
    if (entry === undefined) return conclusive ? [] : [task];
    return [{ ...task, mode: entry.request.mode, exemptFromLimits: entry.request.exemptFromLimits }];
  });
  for (const [key, { request }] of active) {
    if (request.action.kind !== 'cancelAll' || request.action.scope !== 'market') continue;
    if (tasks.some((task) => task.key === key)) continue;
    tasks.push(openCancelTask(key, request, request.action.types, settings, nowMs));
  }
  return tasks;
}

export function openCancelTask(
  key: string,
  request: ActionRequest,
  types: CancelTask['types'],
  settings: AccountSettings,
  nowMs: number,
): CancelTask {
  return {
    key,
    episodeKey: episodeKeyOf(request),
    ruleId: request.ruleId,
    types,
    mode: request.mode,
    exemptFromLimits: request.exemptFromLimits,
    failures: 0,
    refusedBy: null,
    openedMs: nowMs,
    deadlineMs: nowMs + settings.intentTtlMs,
    state: 'open',
  };
}

/** Adds an operator's own intent; one with the same id is left as it is. */
export function operatorIntent(
  state: LaneState,
  request: OperatorRequest,
  settings: AccountSettings,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const key = JSON.stringify(['operator', request.id, request.positionId]);
  if (state.intents.some((intent) => intent.key === key)) return state;
  const intent: Intent = {
    ...blankIntent(key, request.positionId, settings, nowMs),
    episodeKey: key,
    source: 'operator',
    ruleId: `operator:${request.id}`,
    episode: 0,
    stage: 0,
    target: request.target,
    slippageSteps: request.slippageSteps,
    perLeg: request.flatten,
    stageAtMs: nowMs,
    mode: settings.mode,
    severity: 'info',
    exemptFromLimits: true,
  };
  audit.emit({
    kind: 'intentOpened',
    key,
    positionId: request.positionId,
    ruleId: intent.ruleId,
    reason: 'operator',
    words: request.because,
  });
  return { ...state, intents: [...state.intents, intent] };
}

/** Withdraws an operator's intent; its orders are then removed like any resolved one's. */
export function withdrawOperatorIntent(
  state: LaneState,
  id: string,
  nowMs: number,
  audit: Recorder,
): LaneState {
  const intents = state.intents.map((intent) =>
    intent.ruleId === `operator:${id}` && intent.source === 'operator' && intent.end === null
      ? endIntent(intent, { how: 'resolved', why: 'withdrawn' }, null, nowMs, audit)
      : intent,
  );
  return { ...state, intents };
}

/** The intent that a triggered cover becomes: everything of the position goes. */
export function coverIntent(cover: Cover, settings: AccountSettings, nowMs: number): Intent {
  return {
    ...blankIntent(cover.key, cover.positionId, settings, nowMs),
    episodeKey: cover.episodeKey,
    source: 'cover',
    ruleId: cover.ruleId,
    episode: cover.episode,
    stage: cover.stage,
    target: { kind: 'to', fraction: 0 },
    slippageSteps: [cover.slippage],
    stageAtMs: nowMs,
    mode: cover.mode,
    severity: cover.severity,
    exemptFromLimits: cover.exemptFromLimits,
  };
}

/** Slippage of the current attempt: steps rise with failures, the last one stays. */
export function slippageOf(intent: Intent): number {
  const steps = intent.slippageSteps;
  return steps[Math.min(intent.failures, steps.length - 1)] ?? 0;
}

export function isOpen(intent: Intent): boolean {
  return intent.end === null;
}

export const BLOCK_WORDS: Readonly<Record<BlockReason, string>> = {
  markUnknown: 'the mark price is unknown; nothing is guessed',
  markTooCoarse: 'the mark price is less exact than half the slippage',
  directionUnknown: 'the direction of the position is unknown or contradicted',
  liquidationPriceUnknown: 'the liquidation price is unknown',
  disagreement: 'the liquidation price lies on the wrong side although the exchange does not liquidate',
  marketNotConfigured: 'the market has no entry in the config',
  priceNotPositive: 'the order would need a price of zero or less',
  noRoomForStop: 'there is no room for a stop between mark and liquidation price',
  positionNotSeen: 'the position is not in the newest list; what stands for it stays',
  contested:
    'somebody adds to the position after each reduction: it is not reduced again before a margin call, or for an hour',
  reducedByOthers:
    'somebody else reduces the position whenever a rule does: it is not reduced again before a margin call, or for an hour',
  netExposure: 'the other side of the market is open: more would raise the net exposure',
  priorOrders: 'orders of an earlier store epoch may still be open, and overshoot is forbidden',
  stopNotCancellable: 'an order of ours stands that cancel-all does not reach',
  cancelForbidden: 'an order of ours stands and cancel is forbidden',
};
