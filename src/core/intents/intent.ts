import type { GateReason } from '../audit/audit-event.ts';
import type { OperatorOrder } from '../controls/controls.ts';
import type { LaneScene } from '../lanes/lane-change.ts';
import type { CancelTask, Cover, Intent, LaneState } from '../lanes/lane-state.ts';
import { type Decimal, type DecimalString, maxDecimal, toDecimal } from '../quantities/decimal.ts';
import { MS_PER_DAY } from '../quantities/units.ts';
import { unaskedMode } from '../rules/rule.ts';
import type { ActionRequest } from '../rules/subject.ts';
import { endIntent } from './end-intent.ts';
import { episodeKeyOf, type GateContext, gateRefusal } from './gate.ts';

/** One action of an active stage for one position of a lane's market; `cancelAll` names no position. */
export interface LaneRequest {
  readonly request: ActionRequest;
  readonly positionId: string | null;
  /** For an account-wide target: the size to leave of this position. */
  readonly plannedBase?: DecimalString;
}

/** An operator order. It takes the same way as a rule's intents, gate included. */
export interface OperatorRequest
  extends Pick<ReduceOrder, 'id' | 'target' | 'slippageSteps' | 'flatten' | 'urgent'> {
  readonly positionId: string;
  readonly because: string;
}

type ReduceOrder = Extract<OperatorOrder, { readonly kind: 'reduce' }>;

export function actionKey(request: ActionRequest, positionId: string | null): string {
  const { ruleId, ruleChecksum, subject, episode, stage, actionIndex } = request;
  // The checksum makes a rule that starts fresh count its episodes anew.
  return JSON.stringify([ruleId, ruleChecksum, subject, episode, stage, actionIndex, positionId]);
}

/** Actions that rules ask of a market now, by key. `conclusive`: a missing one has ended. */
interface Asked {
  readonly active: ReadonlyMap<string, LaneRequest>;
  readonly conclusive: boolean;
}

/** Opens new requests, and ends missing ones as resolved if the evaluation was conclusive. */
export function reconcileRequests(
  state: LaneState,
  requests: readonly LaneRequest[],
  conclusive: boolean,
  scene: LaneScene,
): LaneState {
  const active = new Map(requests.map((entry) => [actionKey(entry.request, entry.positionId), entry]));
  const asked = { active, conclusive };
  const covers = reconcile(
    state.covers,
    asked,
    (cover, request) => ({ ...cover, ...coverFields(request) }),
    openCover,
  );
  const kept = keepIntents(state.intents, covers, asked, scene);
  const intents = openIntents(kept, active, scene);
  const cancels = reconcile(state.cancels, asked, askedCancel, (key, { request }) =>
    request.action.kind === 'cancelAll' && request.action.scope === 'market'
      ? openCancelTask(key, request, request.action.types, scene)
      : undefined,
  );
  return { ...state, intents, covers, cancels, ...pastIntents(state, intents, scene.nowMs) };
}

/** No rule is asked about its last episode after this time. */
const PAST_MS = MS_PER_DAY;

/** Keeps the newest intents of each rule and position that are gone now. */
function pastIntents(
  { intents, past = [] }: LaneState,
  next: readonly Intent[],
  nowMs: number,
): Pick<LaneState, 'past'> {
  const gone = intents
    .filter(({ source, basis }) => source === 'rule' && basis !== null)
    .filter(({ key }) => !next.some((one) => one.key === key));
  if (gone.length + past.length === 0) return {};
  const isNewest = ({ ruleId, positionId, endedMs }: Intent): boolean =>
    !gone.some((one) => one.ruleId === ruleId && one.positionId === positionId) &&
    nowMs - (endedMs ?? nowMs) < PAST_MS;
  const ended = (one: Intent): Intent => ({ ...one, endedMs: nowMs });
  return { past: [...past.filter(isNewest), ...gone.map(ended)] };
}

function reconcile<T extends { readonly key: string }>(
  known: readonly T[],
  { active, conclusive }: Asked,
  update: (one: T, request: ActionRequest) => T,
  open: (key: string, entry: LaneRequest) => T | undefined,
): readonly T[] {
  const kept = known.flatMap((one) => {
    const entry = active.get(one.key);
    if (entry === undefined) return conclusive ? [] : [one];
    return [update(one, entry.request)];
  });
  const keys = new Set(kept.map(({ key }) => key));
  const opened = [...active].flatMap(([key, entry]) => (keys.has(key) ? [] : (open(key, entry) ?? [])));
  return [...kept, ...opened];
}

function keepIntents(
  intents: readonly Intent[],
  covers: readonly Cover[],
  { active, conclusive }: Asked,
  scene: LaneScene,
): readonly Intent[] {
  const coverKeys = new Set(covers.map(({ key }) => key));
  const isWanted = ({ source, key }: Intent): boolean =>
    source === 'operator' || (source === 'cover' ? coverKeys.has(key) : active.has(key));
  const kept: Intent[] = [];
  for (const intent of intents) {
    if (!isWanted(intent) && conclusive) {
      if (isOpen(intent)) endIntent(intent, { how: 'resolved', why: 'ruleResolved' }, scene);
      continue;
    }
    if (intent.source === 'operator' && !isOpen(intent)) continue;
    const entry = active.get(intent.key);
    kept.push(entry === undefined ? intent : { ...intent, ...askedNow(intent, entry) });
  }
  return kept;
}

/** What an intent takes from the config in force; another target counts from the same size. */
function askedNow({ source, target }: Intent, entry: LaneRequest): Partial<Intent> {
  const { action } = entry.request;
  if (source === 'cover') return coverFields(entry.request);
  const fields = { ...gateFields(entry.request), ...plannedFields(entry) };
  if (source !== 'rule' || action.kind !== 'reduce') return fields;
  const isSame = JSON.stringify(action.target) === JSON.stringify(target);
  const { slippageSteps } = action;
  return { ...fields, slippageSteps, ...(isSame ? {} : { target: action.target, targetBase: null }) };
}

/** Whether a person is asked before it acts. */
export function needsApproval({
  mode,
  exemptFromLimits,
}: Pick<Intent, 'mode' | 'exemptFromLimits'>): boolean {
  return mode === 'approve' && !exemptFromLimits;
}

function plannedFields({ plannedBase }: LaneRequest): Pick<Intent, 'plannedBase'> {
  return plannedBase === undefined ? {} : { plannedBase };
}

function gateFields(
  request: ActionRequest,
): Pick<Intent, 'mode' | 'severity' | 'exemptFromLimits' | 'hasCleared' | 'continuesForMs'> {
  const { mode, severity, exemptFromLimits, hasCleared = false, continuesForMs } = request;
  const flapping = continuesForMs === undefined ? {} : { continuesForMs };
  return { mode, severity, exemptFromLimits, hasCleared, ...flapping };
}

/** A standing stop needs no approval, nor does what follows once it triggers. */
function coverFields(request: ActionRequest): ReturnType<typeof gateFields> {
  return { ...gateFields(request), mode: unaskedMode(request.mode) };
}

function originOf(request: ActionRequest): Pick<Intent, 'episodeKey' | 'ruleId' | 'episode' | 'stage'> {
  const { ruleId, episode, stage } = request;
  return { episodeKey: episodeKeyOf(request), ruleId, episode, stage };
}

function openIntents(kept: readonly Intent[], active: Asked['active'], scene: LaneScene): readonly Intent[] {
  const intents = [...kept];
  for (const [key, entry] of active) {
    const { request, positionId } = entry;
    const { action, ruleId, because } = request;
    if (action.kind !== 'reduce' || positionId === null) continue;
    if (intents.some((intent) => intent.key === key)) continue;
    const intent: Intent = {
      ...blankIntent(key, positionId, scene),
      ...gateFields(request),
      ...plannedFields(entry),
      ...originOf(request),
      source: 'rule',
      target: action.target,
      slippageSteps: action.slippageSteps,
      stageAtMs: request.atMs,
      // Until the gate has been asked.
      ...(needsApproval(request) ? { refusedBy: 'awaitingApproval' } : {}),
    };
    scene.audit.emit({ kind: 'intentOpened', key, positionId, ruleId, reason: 'firing', words: because });
    const end = { how: 'superseded', why: 'targetReachedEarlier' } as const;
    intents.push(isCancelledStage(intent, intents) ? endIntent(intent, end, scene) : intent);
  }
  return intents;
}

/** An intent before its first attempt. */
export const UNTRIED = {
  failures: 0,
  renewals: 0,
  sideRefused: false,
  blockedBy: null,
  refusedBy: null,
  end: null,
  endedMs: null,
  endDistance: null,
} as const satisfies Partial<Intent>;

function blankIntent(key: string, positionId: string, { settings, nowMs }: LaneScene) {
  return {
    key,
    positionId,
    targetBase: null,
    perLeg: false,
    openedMs: nowMs,
    deadlineMs: nowMs + settings.intentTtlMs,
    ...UNTRIED,
    basis: null,
  } satisfies Partial<Intent>;
}

/** Whether an earlier stage reached its target before this one began; one with nothing to reduce does not count. */
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

function openCover(key: string, { request, positionId }: LaneRequest): Cover | undefined {
  const { action } = request;
  if (action.kind !== 'protect' || positionId === null) return undefined;
  const { at, slippage } = action;
  const ladder = action.ladder === undefined ? {} : { ladder: action.ladder };
  const asked = { ...originOf(request), ...coverFields(request), positionId, at, slippage, ...ladder };
  return { key, ...asked, anchor: null, blockedBy: null, refusedBy: null };
}

export function askedCancel(task: CancelTask, { mode, exemptFromLimits }: ActionRequest): CancelTask {
  return { ...task, mode, exemptFromLimits };
}

export function openCancelTask(
  key: string,
  request: ActionRequest,
  types: CancelTask['types'],
  { settings, nowMs }: Pick<LaneScene, 'settings' | 'nowMs'>,
): CancelTask {
  const { ruleId, mode, exemptFromLimits } = request;
  return {
    key,
    episodeKey: episodeKeyOf(request),
    ruleId,
    types,
    mode,
    exemptFromLimits,
    failures: 0,
    refusedBy: null,
    openedMs: nowMs,
    deadlineMs: nowMs + settings.intentTtlMs,
    state: 'open',
  };
}

/** Reopens a cancel that people held back, once they are asked again or have approved it after all. */
export function reopenedCancel(
  task: CancelTask,
  gate: GateContext,
  { settings, nowMs }: Pick<LaneScene, 'settings' | 'nowMs'>,
): CancelTask {
  const isHeld = task.state === 'failed' && isHeldByPeople(task.refusedBy);
  if (!isHeld) return task;
  const refusal = gateRefusal(task, gate);
  if (refusal !== null && refusal !== 'awaitingApproval') return task;
  return { ...task, state: 'open', failures: 0, deadlineMs: nowMs + settings.intentTtlMs };
}

/** Whether people refused, or did not answer where an answer is required. */
export function isHeldByPeople(refusedBy: GateReason | null): refusedBy is 'vetoed' | 'notAnswered' {
  return refusedBy === 'vetoed' || refusedBy === 'notAnswered';
}

/** Adds an operator's intent. An intent with the same id is left unchanged. */
export function operatorIntent(state: LaneState, request: OperatorRequest, scene: LaneScene): LaneState {
  const { id, positionId, target, slippageSteps, flatten, urgent, because } = request;
  const key = JSON.stringify(['operator', id, positionId]);
  if (state.intents.some((intent) => intent.key === key)) return state;
  const ruleId = `operator:${id}`;
  const intent: Intent = {
    ...blankIntent(key, positionId, scene),
    episodeKey: key,
    source: 'operator',
    ruleId,
    episode: 0,
    stage: 0,
    target,
    slippageSteps,
    perLeg: flatten,
    ...(flatten && urgent === true ? { urgent } : {}),
    stageAtMs: scene.nowMs,
    mode: unaskedMode(scene.settings.mode),
    severity: 'info',
    exemptFromLimits: true,
  };
  scene.audit.emit({ kind: 'intentOpened', key, positionId, ruleId, reason: 'operator', words: because });
  return { ...state, intents: [...state.intents, intent] };
}

/** Withdraws an operator's intent; its orders are then removed like those of any resolved intent. */
export function withdrawOperatorIntent(
  state: LaneState,
  id: string,
  scene: Pick<LaneScene, 'nowMs' | 'audit'>,
): LaneState {
  const intents = state.intents.map((intent) =>
    intent.ruleId === `operator:${id}` && intent.source === 'operator' && isOpen(intent)
      ? endIntent(intent, { how: 'resolved', why: 'withdrawn' }, scene)
      : intent,
  );
  return { ...state, intents };
}

/** Returns the intent of a triggered cover: it closes the position, or all of it above `leftBase`. */
export function coverIntent(cover: Cover, leftBase: DecimalString, scene: LaneScene): Intent {
  const { key, positionId, episodeKey, ruleId, episode, stage, mode, severity, exemptFromLimits } = cover;
  return {
    ...blankIntent(key, positionId, scene),
    episodeKey,
    ruleId,
    episode,
    stage,
    mode,
    severity,
    exemptFromLimits,
    source: 'cover',
    target: { kind: 'to', fraction: 0 },
    ...(leftBase === '0' ? {} : { targetBase: leftBase }),
    slippageSteps: [cover.slippage],
    stageAtMs: scene.nowMs,
  };
}

/** Returns the slippage of the current attempt: each failure moves one step on, up to the last. */
export function slippageOf(intent: Intent): number {
  const steps = intent.slippageSteps;
  return steps[Math.min(intent.failures, steps.length - 1)] ?? 0;
}

/** Returns the target, but no lower than what people have approved. */
export function boundByApproval(
  targetBase: DecimalString,
  { approvedBase }: Pick<Intent, 'approvedBase'>,
): Decimal {
  const target = toDecimal(targetBase);
  return approvedBase === undefined ? target : maxDecimal(target, toDecimal(approvedBase));
}

/** The smallest target of a position's open intents; undefined: none has one. */
export function leastTarget(intents: readonly Intent[], positionId: string): Decimal | undefined {
  const open = intents.filter((intent) => isOpen(intent) && intent.positionId === positionId);
  const targets = open.flatMap(({ targetBase }) => (targetBase === null ? [] : [toDecimal(targetBase)]));
  return targets.toSorted((a, b) => a.cmp(b))[0];
}

export function isOpen(intent: Intent): boolean {
  return intent.end === null;
}
