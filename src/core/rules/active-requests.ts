import type { AccountQuantities } from '../quantities/account.ts';
import type { PositionQuantities } from '../quantities/position.ts';
import type { RuleSlot } from './account-state.ts';
import type { CompiledRule, CompiledRules } from './compiled-rules.ts';
import type { GlobJudge } from './filter.ts';
import type { RuleEntry } from './rule-state.ts';
import type { ActionRequest } from './subject.ts';
import { positionKey } from './subjects.ts';

/** All actions of all reached stages of all firing episodes, in rule order. */
export function activeRequests(
  rules: CompiledRules,
  slots: readonly RuleSlot[],
  account: AccountQuantities,
): readonly ActionRequest[] {
  const requests: ActionRequest[] = [];
  for (const slot of slots) {
    if (slot.entries.length === 0) continue;
    const rule = rules.byId.get(slot.ruleId);
    if (rule === undefined) continue;
    for (const entry of slot.entries) {
      if (entry.phase === 'firing') requests.push(...requestsOf(rule, slot, entry, account));
    }
  }
  return requests;
}

function requestsOf(
  rule: CompiledRule,
  { checksum: ruleChecksum }: RuleSlot,
  entry: RuleEntry,
  account: AccountQuantities,
): readonly ActionRequest[] {
  const { spec } = rule;
  return entry.stages.flatMap(({ stage, atMs, because }) =>
    (rule.stages[stage] ?? []).map((action, actionIndex) => ({
      accountId: account.settings.accountId,
      ruleId: spec.id,
      ruleChecksum,
      subjectKind: spec.on,
      subject: entry.subject,
      episode: entry.episode,
      stage,
      actionIndex,
      action: action.spec,
      mode: rule.mode,
      severity: spec.severity,
      atMs,
      because,
      exemptFromLimits: isExempt(rule, entry, account, action.positions),
      hasCleared: entry.holds ? undefined : true,
    })),
  );
}

/** Whether limits must not delay an action: one of its positions is in a margin call, liquidation or unknown state. */
function isExempt(
  rule: CompiledRule,
  entry: RuleEntry,
  account: AccountQuantities,
  selects: GlobJudge | undefined,
): boolean {
  if (account.positionList.kind !== 'value') return false;
  return account.positions.some((position) => {
    const { positionId, market } = position.record;
    const isConcerned =
      rule.spec.on === 'position' ? entry.subject === positionKey(positionId) : (selects?.(market) ?? true);
    return isConcerned && isInDanger(position);
  });
}

/** True for margin_call, liquidation, and undocumented states, which are treated as margin_call. */
export function isInDanger({ liquidationState }: PositionQuantities): boolean {
  return liquidationState.kind === 'value' && liquidationState.value !== 'none';
}
