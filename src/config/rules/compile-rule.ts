import type { ActionSpec, RuleSpec } from '../../core/rules/rule.ts';
import type { ActionDraft } from './actions.ts';
import { checksumOf } from './checksum.ts';
import type { RuleDraft } from './rule.ts';

/** What an account adds to actions that leave it out. */
export interface ActionDefaults {
  readonly slippageSteps: readonly number[];
  readonly protectAt: number;
  readonly protectSlippage: number;
  readonly channels: readonly string[];
}

export function compileRule(draft: RuleDraft, defaults: ActionDefaults): RuleSpec {
  const complete = (actions: readonly ActionDraft[]): readonly ActionSpec[] =>
    actions.map((action) => completeAction(action, defaults));
  const { actions, escalate, ...same } = draft;
  const rule = {
    ...same,
    actions: complete(actions),
    escalate: escalate.map(({ afterMs, actions: later }) => ({ afterMs, actions: complete(later) })),
  };
  return { ...rule, checksum: checksumOf(rule) };
}

function completeAction(action: ActionDraft, defaults: ActionDefaults): ActionSpec {
  switch (action.kind) {
    case 'reduce':
      return { ...action, slippageSteps: action.slippageSteps ?? defaults.slippageSteps };
    case 'protect':
      return {
        ...action,
        at: action.at ?? defaults.protectAt,
        slippage: action.slippage ?? defaults.protectSlippage,
      };
    case 'notify':
      return { ...action, channels: action.channels ?? defaults.channels };
    case 'cancelAll':
      return action;
  }
}
