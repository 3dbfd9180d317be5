import type { ReadAccount } from '../read-accounts.ts';
import type { SecretContext } from '../secrets.ts';
import { complain, warningAt } from '../shape/read.ts';
import { type ReadRule, readRules } from './read-rules.ts';
import { isRuleSetName, type RuleSet, type RuleSetName, readRuleSet } from './rule-sets.ts';
import { resolveUse, type UseContext, type UsedRule } from './use.ts';

/** What accounts can refer to: the file's rules, and the rule sets, which are read when first used. */
export type References = Omit<UseContext, 'document' | 'report'>;

export function readReferences(context: SecretContext, channels: readonly string[] | undefined): References {
  const sets = new Map<RuleSetName, RuleSet>();
  const ruleSet = (name: RuleSetName): RuleSet => {
    const known = sets.get(name) ?? readRuleSet(name, context.surroundings, context.report);
    sets.set(name, known);
    return known;
  };
  const own = readRules(context.document, { report: context.report, channels });
  for (const [id, rule] of own.rules) {
    if (!isRuleSetName(id)) continue;
    const message = `expected an id that is not the name of a rule set, got ${JSON.stringify(id)}`;
    complain(context, [...rule.path, 'id'], 'duplicate-id', message);
  }
  return { own, usedOwn: new Set(), ruleSet, channels };
}

/** Warns of unused rules, provided that all rules and all uses could be read. */
export function warnOfUnusedRules(
  accounts: readonly ReadAccount[],
  { own, usedOwn }: References,
  { document, report }: SecretContext,
): void {
  if (!own.allNamed || accounts.length === 0 || !accounts.every(({ allUsesRead }) => allUsesRead)) return;
  for (const [id, rule] of own.rules) {
    if (usedOwn.has(id)) continue;
    const message = `expected an account that uses this rule, got none: ${JSON.stringify(id)} has no effect`;
    report(warningAt(document, rule.path, 'unused', message));
  }
}

export interface UsedRules {
  /** With full ids, each once; rules with mistakes are left out. */
  readonly used: readonly UsedRule[];
  /** Whether no rule was left out. */
  readonly isWhole: boolean;
}

export function useRules(
  { uses, allUsesRead, path }: ReadAccount,
  references: References,
  { document, report }: SecretContext,
): UsedRules {
  const context: UseContext = { ...references, document, report };
  const byId = new Map<string, ReadRule>();
  let isWhole = allUsesRead;
  for (const [index, use] of uses) {
    const usePath = [...path, 'rules', index];
    const named = resolveUse(use, usePath, context);
    isWhole &&= named !== undefined;
    for (const rule of named ?? []) {
      if (byId.has(rule.id)) {
        const message = `expected each rule once, got ${JSON.stringify(rule.id)} again`;
        complain({ document, report }, usePath, 'duplicate-id', message);
        continue;
      }
      byId.set(rule.id, rule);
    }
  }
  const used = [...byId.values()].flatMap(({ draft, ...rule }) =>
    draft === undefined ? [] : [{ ...rule, draft }],
  );
  return { used, isWhole: isWhole && used.length === byId.size };
}
