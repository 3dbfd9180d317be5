/** Why a rule changed its state for a subject, in words. Closed list, also a metric label. */
const TRANSITIONS = {
  conditionMet: 'the condition became true',
  heldLongEnough: 'the condition has held long enough',
  clearedWhilePending: 'the condition cleared before it had held long enough',
  conditionCleared: 'the condition has been clear long enough',
  /** firing -> firing: an escalation stage started. */
  stageReached: 'the condition has held long enough since firing began',
  subjectGone: 'the subject is gone from a complete list',
  notSelected: 'the subject does not match the rule any more',
  outsideActiveWindow: 'the rule is outside its active window',
  ruleChanged: 'the rule was changed and starts fresh',
  ruleRemoved: 'the rule was removed',
  modeChanged: 'the rule went from observe to enforce and starts a new episode',
};

/** Why a rule is in its state after an evaluation that did not change it. */
const STANDING = {
  conditionNotMet: 'the condition is not met',
  waitingFor: 'the condition has not held long enough yet',
  stillFiring: 'the condition still holds',
  keptFiring: 'the condition is clear, but not for long enough yet',
  /** Its timers stop too. */
  frozenByUnknown: 'the data do not decide',
};

const REASONS = { ...TRANSITIONS, ...STANDING };

export type TransitionReason = keyof typeof TRANSITIONS;

/** Reason of a decision: that of its transition if any, else of its unchanged state. */
export type DecisionReason = keyof typeof REASONS;

export function reasonWords(reason: DecisionReason): string {
  return REASONS[reason];
}
