import { sha256Hex } from '../audit/sha256.ts';
import { canonicalJson } from '../text/canonical-json.ts';
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

/**
 * What its episodes are of: condition, and targets of its `do`. A rule in which anything else changed, or differs on
 * another host, keeps them.
 */
export function identityOf({ on, when, actions }: RuleSpec): string {
  const targets = actions.flatMap((action) => {
    if (action.kind === 'reduce') return { target: action.target, positions: action.positions };
    return action.kind === 'protect' ? { ...action, slippage: undefined } : [];
  });
  return sha256Hex(canonicalJson({ on, when, targets })).slice(0, 16);
}

/** A rule's own mode, else that of its account. */
export function modeOf({ mode }: Pick<RuleSpec, 'mode'>, settings: { readonly mode: Mode }): Mode {
  return mode ?? settings.mode;
}
