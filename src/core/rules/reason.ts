/** Why a rule changed its state for a subject. Closed list, also a metric label. */
export type TransitionReason =
  /** inactive -> pending: the condition became true. */
  | 'conditionMet'
  /** pending or inactive -> firing: it has held for `for`. */
  | 'heldLongEnough'
  /** pending -> inactive: it cleared before it had held long enough. */
  | 'clearedWhilePending'
  /** firing -> inactive: it has been clear for `keepFiringFor`. */
  | 'conditionCleared'
  /** firing -> firing: an escalation stage began. */
  | 'stageReached'
  /** The subject is gone from a complete list. */
  | 'subjectGone'
  /** The subject does not match `where` any more. */
  | 'notSelected'
  /** The rule's active window ended. */
  | 'outsideActiveWindow'
  /** The rule was edited: it starts fresh. */
  | 'ruleChanged'
  /** The rule is not in the config any more. */
  | 'ruleRemoved'
  /** From observe to enforce: what fires starts a new episode. */
  | 'modeChanged';

/** Why a rule is where it is after an evaluation in which it did not change. Closed list, also a metric label. */
export type StandingReason =
  /** inactive: the condition is false. */
  | 'conditionNotMet'
  /** pending: true, but not yet for as long as `for`. */
  | 'waitingFor'
  /** firing: still true. */
  | 'stillFiring'
  /** firing: false, but not yet for as long as `keepFiringFor`. */
  | 'keptFiring'
  /** Whatever it was, timers included: the data do not decide. */
  | 'frozenByUnknown'
  | 'outsideActiveWindow';

/** Reason of a decision: of its transition where there was one, else of its standing still. */
export type DecisionReason = TransitionReason | StandingReason;

const REASONS: Readonly<Record<DecisionReason, string>> = {
  conditionMet: 'the condition became true',
  heldLongEnough: 'the condition has held long enough',
  clearedWhilePending: 'the condition cleared before it had held long enough',
  conditionCleared: 'the condition has been clear long enough',
  stageReached: 'the condition has held long enough since firing began',
  subjectGone: 'the subject is gone from a complete list',
  notSelected: 'the subject does not match the rule any more',
  outsideActiveWindow: 'the rule is outside its active window',
  ruleChanged: 'the rule was changed and starts fresh',
  ruleRemoved: 'the rule was removed',
  modeChanged: 'the rule went from observe to enforce and starts a new episode',
  conditionNotMet: 'the condition is not met',
  waitingFor: 'the condition has not held long enough yet',
  stillFiring: 'the condition still holds',
  keptFiring: 'the condition is clear, but not for long enough yet',
  frozenByUnknown: 'the data do not decide',
};

export function reasonWords(reason: DecisionReason): string {
  return REASONS[reason];
}
