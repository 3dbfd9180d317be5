import type { RuleUse } from '../accounts.ts';
import type { Path } from '../problem.ts';
import type { SecretContext } from '../secrets.ts';
import { didYouMean, problemAt } from '../shape/read.ts';
import { suggest } from '../suggest.ts';
import { describeText } from '../yaml/value.ts';
import { type ReadRule, readRules } from './read-rules.ts';
import { isRuleSetName, type RuleSet, type RuleSetName, readRuleSet } from './rule-sets.ts';
import { resolveUse, type UseContext, type UsedRule } from './use.ts';

/** What accounts can name: the file's own rules and the rule sets, which are read when first named. */
export interface References {
  readonly own: ReadonlyMap<string, ReadRule>;
  readonly usedOwn: Set<string>;
  readonly sets: Map<RuleSetName, RuleSet>;
  readonly ruleSet: (name: RuleSetName) => RuleSet;
  /** Names of channels; `undefined` when they could not be read. */
  readonly channels: readonly string[] | undefined;
}

export function readReferences(context: SecretContext, channels: readonly string[] | undefined): References {
  const sets = new Map<RuleSetName, RuleSet>();
  const ruleSet = (name: RuleSetName): RuleSet => {
    const known = sets.get(name) ?? readRuleSet(name, context.surroundings, context.report);
    sets.set(name, known);
    return known;
  };
  const own = readRules(context.document, context.report);
  for (const [id, rule] of own) {
    if (!isRuleSetName(id)) continue;
    const message = `expected an id that is not the name of a rule set, got ${JSON.stringify(id)}`;
    context.report(problemAt(context.document, [...rule.path, 'id'], { code: 'duplicate-id', message }));
  }
  return { own, usedOwn: new Set(), sets, ruleSet, channels };
}

export function warnOfUnusedRules({ own, usedOwn }: References, { document, report }: SecretContext): void {
  for (const [id, rule] of own) {
    if (usedOwn.has(id)) continue;
    const message = `expected an account that uses this rule, got none: ${JSON.stringify(id)} has no effect`;
    report(problemAt(document, rule.path, { severity: 'warning', code: 'unused', message }));
  }
}

/** The rules of one account under their full ids, each once. */
export function useRules(
  uses: ReadonlyMap<number, RuleUse>,
  path: Path,
  references: References,
  context: SecretContext,
): readonly UsedRule[] {
  const { document, report } = context;
  const useContext: UseContext = { ...references, document, report };
  const byId = new Map<string, UsedRule>();
  for (const [index, use] of uses) {
    const usePath = [...path, 'rules', index];
    for (const rule of resolveUse(use, usePath, useContext)) {
      if (byId.has(rule.id)) {
        const message = `expected each rule once, got ${JSON.stringify(rule.id)} again`;
        report(problemAt(document, usePath, { code: 'duplicate-id', message }));
        continue;
      }
      checkChannels(rule, references.channels, context);
      byId.set(rule.id, rule);
    }
  }
  return [...byId.values()];
}

function checkChannels(
  rule: UsedRule,
  known: readonly string[] | undefined,
  { report }: SecretContext,
): void {
  if (known === undefined) return;
  const stages = [
    { actions: rule.draft.actions, at: ['do'] as Path },
    ...rule.draft.escalate.map(({ actions }, index) => ({ actions, at: ['escalate', index, 'do'] })),
  ];
  for (const { actions, at } of stages) {
    for (const [index, action] of actions.entries()) {
      if (action.kind !== 'notify') continue;
      for (const channel of action.channels ?? []) {
        if (known.includes(channel)) continue;
        const message = `expected a channel (${known.join(', ')}), got ${describeText(channel)}${didYouMean(suggest(channel, known))}`;
        const path = [...rule.path, ...at, index, 'notify', 'channels'];
        report(problemAt(rule.document, path, { code: 'unknown-reference', message }));
      }
    }
  }
}
