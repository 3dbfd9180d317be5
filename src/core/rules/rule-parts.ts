import type { ActionSpec, ConditionSpec, Mode, RuleSpec } from './rule.ts';

export function* comparisonsOf(
  condition: ConditionSpec,
): Generator<Extract<ConditionSpec, { kind: 'field' }>> {
  switch (condition.kind) {
    case 'field':
      yield condition;
      return;
    case 'not':
      yield* comparisonsOf(condition.condition);
      return;
    case 'all':
    case 'any':
      for (const inner of condition.conditions) yield* comparisonsOf(inner);
  }
}

/** All actions of a rule, those of its escalation stages included. */
export function actionsOf(rule: RuleSpec): readonly ActionSpec[] {
  return [...rule.actions, ...rule.escalate.flatMap((stage) => stage.actions)];
}

/** A rule's own mode, else that of its account. */
export function modeOf({ mode }: Pick<RuleSpec, 'mode'>, settings: { readonly mode: Mode }): Mode {
  return mode ?? settings.mode;
}
