import { sha256Hex } from '../../core/audit/sha256.ts';
import type { ActionSpec, RuleSpec } from '../../core/rules/rule.ts';
import { canonicalJson } from '../../core/text/canonical-json.ts';
import type { ActionDraft } from './actions.ts';
import type { RuleDraft } from './rule.ts';

/** An account's values for actions that leave them out. */
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

/**
 * Covers everything that decides when a rule fires and what it then does. A rule keeps its state when its severity,
 * labels, channels or mode change: a change of mode is judged together with the modes of account and file.
 */
function checksumOf(rule: Omit<RuleSpec, 'checksum'>): string {
  const { severity: _severity, labels: _labels, mode: _mode, ...deciding } = rule;
  const untold = {
    ...deciding,
    actions: deciding.actions.map(withoutChannels),
    escalate: deciding.escalate.map(({ afterMs, actions }) => ({
      afterMs,
      actions: actions.map(withoutChannels),
    })),
  };
  return sha256Hex(canonicalJson(untold)).slice(0, 16);
}

function withoutChannels(action: ActionSpec): unknown {
  return action.kind === 'notify' ? { kind: action.kind } : action;
}
