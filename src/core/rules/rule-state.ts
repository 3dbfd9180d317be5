import { FALSE, TRUE, type Truth, UNKNOWN } from './condition.ts';
import type { DecisionReason, TransitionReason } from './reason.ts';
import type { RuleSpec } from './rule.ts';
import type { SubjectKey } from './subject.ts';

export type Phase = 'inactive' | 'pending' | 'firing';

/** When and why a stage of an episode started. */
export interface StageMark {
  readonly stage: number;
  readonly atMs: number;
  readonly because: string;
}

/**
 * State of one rule for one subject. Plain JSON without a clock: a timer sums the intervals whose two ends are known
 * and agree.
 */
export interface RuleEntry {
  readonly subject: SubjectKey;
  readonly phase: Phase;
  /** Number of the episode while pending or firing, unique in the account; 0 while inactive. */
  readonly episode: number;
  /** Last known truth of the condition. */
  readonly holds: boolean;
  /** The data did not decide at the last evaluation. */
  readonly frozen: boolean;
  /** Pending: time towards `for`. Firing: time towards the escalation stages, up to the last of them. */
  readonly heldMs: number;
  /** Firing: time towards `keepFiringFor`; 0 while the condition holds. */
  readonly clearMs: number;
  /** Stages reached; the first is 0. */
  readonly stages: readonly StageMark[];
  /** One digit per comparison with hysteresis; empty when all are 0. */
  readonly latches: string;
}

export type RuleTiming = Pick<RuleSpec, 'forMs' | 'keepFiringForMs' | 'escalate'>;

export interface StepInput {
  readonly truth: Truth;
  /** Latches after the condition; kept only if the truth is known. */
  readonly latches: string;
  /** Time since the last evaluation that timers may be credited with, milliseconds. */
  readonly timerMs: number;
  readonly atMs: number;
  readonly nextEpisode: () => number;
  /** Words for the stages that start now. */
  readonly because: () => string;
}

export interface RuleChange {
  readonly reason: TransitionReason;
  readonly from: Phase;
  readonly to: Phase;
  readonly episode: number;
  readonly stage?: number;
}

export interface RuleStepResult {
  readonly entry: RuleEntry | undefined;
  readonly phase: Phase;
  readonly reason: DecisionReason;
  readonly changes: readonly RuleChange[];
}

const NO_CHANGES: readonly RuleChange[] = [];
const NO_STAGES: readonly StageMark[] = [];
const STAYS_INACTIVE: RuleStepResult = {
  entry: undefined,
  phase: 'inactive',
  reason: 'conditionNotMet',
  changes: NO_CHANGES,
};
const FROZEN_INACTIVE: RuleStepResult = { ...STAYS_INACTIVE, reason: 'frozenByUnknown' };

/**
 * Works like Prometheus alerts: true is pending, true for `for` fires, false ends it (while firing, after
 * `keepFiringFor`). Unknown only sets `frozen`.
 */
export function stepRule(
  subject: SubjectKey,
  entry: RuleEntry | undefined,
  rule: RuleTiming,
  input: StepInput,
): RuleStepResult {
  if (input.truth === UNKNOWN) return freezeRule(entry);
  if (entry === undefined) {
    if (input.truth === FALSE && input.latches === '') return STAYS_INACTIVE;
    return begin(idle(subject, input), rule, input);
  }
  const holds = input.truth === TRUE;
  const creditMs = !entry.frozen && entry.holds === holds ? input.timerMs : 0;
  const next = { ...entry, holds, frozen: false, latches: input.latches };
  const stepped = stepKnown(next, rule, input, creditMs);
  return isAlike(entry, stepped.entry) ? { ...stepped, entry } : stepped;
}

function stepKnown(entry: RuleEntry, rule: RuleTiming, input: StepInput, creditMs: number): RuleStepResult {
  if (entry.phase === 'inactive') return begin(entry, rule, input);
  if (entry.phase === 'pending') return stepPending(entry, rule, input, creditMs);
  return entry.holds ? stepHolding(entry, rule, input, creditMs) : stepClear(entry, rule, creditMs);
}

/** Unchanged entries need not be written again. */
function isAlike(before: RuleEntry, now: RuleEntry | undefined): boolean {
  return (
    before.phase === now?.phase &&
    before.episode === now.episode &&
    before.holds === now.holds &&
    before.frozen === now.frozen &&
    before.heldMs === now.heldMs &&
    before.clearMs === now.clearMs &&
    before.stages === now.stages &&
    before.latches === now.latches
  );
}

/** Unknown data change nothing; they are remembered as a gap that timers do not count. */
export function freezeRule(entry: RuleEntry | undefined): RuleStepResult {
  if (entry === undefined) return FROZEN_INACTIVE;
  return {
    entry: entry.frozen ? entry : { ...entry, frozen: true },
    phase: entry.phase,
    reason: 'frozenByUnknown',
    changes: NO_CHANGES,
  };
}

/** Ends a rule's episode for a subject, regardless of its timers. */
export function endRule(
  entry: RuleEntry | undefined,
  reason: TransitionReason,
  keepLatches: boolean,
): { readonly entry: RuleEntry | undefined; readonly changes: readonly RuleChange[] } {
  if (entry === undefined) return { entry, changes: NO_CHANGES };
  const changes =
    entry.phase === 'inactive'
      ? NO_CHANGES
      : [{ reason, from: entry.phase, to: 'inactive' as const, episode: entry.episode }];
  return { entry: keepLatches ? rest(entry) : undefined, changes };
}

function idle(subject: SubjectKey, input: StepInput): RuleEntry {
  return {
    subject,
    phase: 'inactive',
    episode: 0,
    holds: input.truth === TRUE,
    frozen: false,
    heldMs: 0,
    clearMs: 0,
    stages: NO_STAGES,
    latches: input.latches,
  };
}

/** The inactive entry, or undefined if there is nothing to remember. */
function rest(entry: RuleEntry): RuleEntry | undefined {
  if (entry.latches === '') return undefined;
  return { ...entry, phase: 'inactive', episode: 0, heldMs: 0, clearMs: 0, stages: NO_STAGES };
}

function begin(entry: RuleEntry, rule: RuleTiming, input: StepInput): RuleStepResult {
  if (!entry.holds) {
    return { entry: rest(entry), phase: 'inactive', reason: 'conditionNotMet', changes: NO_CHANGES };
  }
  const started = { ...entry, episode: input.nextEpisode() };
  if (rule.forMs <= 0) return fire(started, 'inactive', rule, input);
  const change = {
    reason: 'conditionMet',
    from: 'inactive',
    to: 'pending',
    episode: started.episode,
  } as const;
  return {
    entry: { ...started, phase: 'pending' },
    phase: 'pending',
    reason: change.reason,
    changes: [change],
  };
}

function stepPending(entry: RuleEntry, rule: RuleTiming, input: StepInput, creditMs: number): RuleStepResult {
  if (!entry.holds) {
    const reason = 'clearedWhilePending';
    const change = { reason, from: 'pending', to: 'inactive', episode: entry.episode } as const;
    return { entry: rest(entry), phase: 'inactive', reason, changes: [change] };
  }
  const heldMs = entry.heldMs + creditMs;
  if (heldMs >= rule.forMs) return fire(entry, 'pending', rule, input);
  return { entry: { ...entry, heldMs }, phase: 'pending', reason: 'waitingFor', changes: NO_CHANGES };
}

function fire(entry: RuleEntry, from: Phase, rule: RuleTiming, input: StepInput): RuleStepResult {
  const reason = 'heldLongEnough';
  const first: StageMark = { stage: 0, atMs: input.atMs, because: input.because() };
  const firing: RuleEntry = { ...entry, phase: 'firing', heldMs: 0, clearMs: 0, stages: [first] };
  const change: RuleChange = { reason, from, to: 'firing', episode: entry.episode, stage: 0 };
  const escalated = reachStages(firing, rule, input);
  return { entry: escalated.entry, phase: 'firing', reason, changes: [change, ...escalated.changes] };
}

function stepHolding(entry: RuleEntry, rule: RuleTiming, input: StepInput, creditMs: number): RuleStepResult {
  const lastMs = Math.max(entry.heldMs, rule.escalate.at(-1)?.afterMs ?? 0);
  const held = { ...entry, heldMs: Math.min(entry.heldMs + creditMs, lastMs), clearMs: 0 };
  const { entry: next, changes } = reachStages(held, rule, input);
  return {
    entry: next,
    phase: 'firing',
    reason: changes.length > 0 ? 'stageReached' : 'stillFiring',
    changes,
  };
}

function stepClear(entry: RuleEntry, rule: RuleTiming, creditMs: number): RuleStepResult {
  const clearMs = entry.clearMs + creditMs;
  if (clearMs < rule.keepFiringForMs) {
    return { entry: { ...entry, clearMs }, phase: 'firing', reason: 'keptFiring', changes: NO_CHANGES };
  }
  const reason = 'conditionCleared';
  const change = { reason, from: 'firing', to: 'inactive', episode: entry.episode } as const;
  return { entry: rest(entry), phase: 'inactive', reason, changes: [change] };
}

/** Adds the stages that are due; the time counts only while the condition itself holds. */
function reachStages(
  entry: RuleEntry,
  rule: RuleTiming,
  input: StepInput,
): { readonly entry: RuleEntry; readonly changes: readonly RuleChange[] } {
  const reached: StageMark[] = [];
  const changes: RuleChange[] = [];
  for (let stage = entry.stages.length; stage <= rule.escalate.length; stage++) {
    const spec = rule.escalate[stage - 1];
    if (spec === undefined || entry.heldMs < spec.afterMs) break;
    reached.push({ stage, atMs: input.atMs, because: input.because() });
    changes.push({ reason: 'stageReached', from: 'firing', to: 'firing', episode: entry.episode, stage });
  }
  if (reached.length === 0) return { entry, changes: NO_CHANGES };
  return { entry: { ...entry, stages: [...entry.stages, ...reached] }, changes };
}
