import { createHash } from 'node:crypto';
import type { ActionSpec, RuleSpec } from '../../core/rules/rule.ts';

/**
 * Of everything that decides when a rule fires and what it then does. Its severity and labels, and whom it tells,
 * may change without its state starting fresh. So may its mode: what a change of mode means is decided with the modes of
 * the account and of the file, which a rule does not know.
 */
export function checksumOf(rule: Omit<RuleSpec, 'checksum'>): string {
  const { severity: _severity, labels: _labels, mode: _mode, ...deciding } = rule;
  const untold = {
    ...deciding,
    actions: deciding.actions.map(withoutChannels),
    escalate: deciding.escalate.map(({ afterMs, actions }) => ({
      afterMs,
      actions: actions.map(withoutChannels),
    })),
  };
  return createHash('sha256').update(canonicalJson(untold)).digest('hex').slice(0, 16);
}

function withoutChannels(action: ActionSpec): unknown {
  return action.kind === 'notify' ? { kind: action.kind } : action;
}

/** The same text for the same data: keys sorted, `undefined` left out. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
