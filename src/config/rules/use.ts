import type { Mode, SubjectFilter } from '../../core/rules/rule.ts';
import type { RuleUse } from '../accounts.ts';
import { formatPath, type Path } from '../problem.ts';
import { didYouMean, problemAt, type Report } from '../shape/read.ts';
import { suggest } from '../suggest.ts';
import { nodeAt, type YamlDocument } from '../yaml/document.ts';
import { describeText } from '../yaml/value.ts';
import { type ReadRule, readRule, replaceKeys } from './read-rules.ts';
import type { RuleDraft } from './rule.ts';
import {
  isRuleSetName,
  RULE_SET_NAMES,
  type RuleSet,
  type RuleSetName,
  unknownRuleOfSet,
} from './rule-sets.ts';

/** A rule as an account uses it: under its full id, with the account's changes. */
export interface UsedRule {
  readonly id: string;
  readonly draft: RuleDraft;
  /** Where its content stands, for warnings: the rule itself, or the entry of an account that uses a set. */
  readonly document: YamlDocument;
  readonly path: Path;
}

export interface UseContext {
  readonly document: YamlDocument;
  readonly own: ReadonlyMap<string, ReadRule>;
  readonly ruleSet: (name: RuleSetName) => RuleSet;
  readonly report: Report;
  /** Own rules that some account uses. */
  readonly usedOwn: Set<string>;
}

/** The rules that one entry of an account's `rules` stands for; mistakes are reported. */
export function resolveUse(use: RuleUse, path: Path, context: UseContext): readonly UsedRule[] {
  const found = findRules(use, path, context);
  if (found === undefined) return [];
  checkNames(use, path, found, context);
  const without = new Set(use.without ?? []);
  const used: UsedRule[] = [];
  for (const [localId, rule] of found.rules) {
    if (without.has(localId)) continue;
    const draft = changed(rule, localId, path, context);
    if (draft === undefined) continue;
    const id = found.set === undefined ? localId : `${found.set.name}/${localId}`;
    const at = found.set === undefined ? rule : { document: context.document, path: [...path] };
    used.push({
      id,
      draft: { ...narrowed(draft, use.where, use.mode), id },
      document: at.document,
      path: at.path,
    });
  }
  return used;
}

interface FoundRules {
  readonly set?: RuleSet;
  readonly rules: ReadonlyMap<string, ReadRule>;
}

function findRules(use: RuleUse, path: Path, context: UseContext): FoundRules | undefined {
  const [head = '', rest] = use.use.split('/');
  const at = nodeAt(context.document.root, [...path, 'use']) === undefined ? path : [...path, 'use'];
  if (rest === undefined) {
    const own = context.own.get(head);
    if (own !== undefined) {
      context.usedOwn.add(head);
      return { rules: new Map([[head, own]]) };
    }
    if (isRuleSetName(head)) {
      const set = context.ruleSet(head);
      return { set, rules: set.rules };
    }
  } else if (isRuleSetName(head)) {
    const set = context.ruleSet(head);
    const rule = set.rules.get(rest);
    if (rule !== undefined) return { set, rules: new Map([[rest, rule]]) };
    const hint = didYouMean(suggest(rest, set.rules.keys()));
    if (set.rules.size > 0)
      context.report(unknownRuleOfSet(set, rest, { document: context.document, path: at }, hint));
    return undefined;
  }
  const known = rest === undefined ? [...context.own.keys(), ...RULE_SET_NAMES] : [...RULE_SET_NAMES];
  context.report(
    problemAt(context.document, at, {
      code: 'unknown-reference',
      message: `expected a rule of this file or a rule set (${RULE_SET_NAMES.join(', ')}), got ${describeText(use.use)}${didYouMean(suggest(head, known))}`,
    }),
  );
  return undefined;
}

function checkNames(use: RuleUse, path: Path, found: FoundRules, context: UseContext): void {
  const named: (readonly [string, Path, 'key' | 'value'])[] = [
    ...(use.without ?? []).map((name, index) => [name, withoutPath(context, path, index), 'value'] as const),
    ...Object.keys(use.with ?? {}).map((name) => [name, [...path, 'with', name], 'key'] as const),
  ];
  for (const [name, at, what] of named) {
    if (found.rules.has(name)) continue;
    context.report(
      problemAt(context.document, at, {
        code: 'unknown-reference',
        message: `expected a rule of ${use.use} (${[...found.rules.keys()].join(', ')}), got ${describeText(name)}${didYouMean(suggest(name, found.rules.keys()))}`,
        at: what as 'key',
      }),
    );
  }
}

function withoutPath(context: UseContext, path: Path, index: number): Path {
  const inList = [...path, 'without', index];
  return nodeAt(context.document.root, inList) === undefined ? [...path, 'without'] : inList;
}

/** The rule with the keys that `with` replaces; read again as a whole, so that all checks hold for the result. */
function changed(rule: ReadRule, localId: string, path: Path, context: UseContext): RuleDraft | undefined {
  const changesPath = [...path, 'with', localId];
  const changes = nodeAt(context.document.root, changesPath);
  if (changes === undefined || rule.draft === undefined) return rule.draft;
  for (const fixed of ['id', 'on']) {
    if (!changes.children.has(fixed)) continue;
    context.report(
      problemAt(context.document, [...changesPath, fixed], {
        code: 'wrong-value',
        message: `expected keys other than id and on, which cannot be changed, got ${fixed}`,
        at: 'key',
      }),
    );
    return undefined;
  }
  const base = nodeAt(rule.document.root, rule.path);
  if (base === undefined) return undefined;
  const merged: YamlDocument = { file: context.document.file, root: replaceKeys(base, changes) };
  const prefix = formatPath(changesPath);
  return readRule(merged, [], (problem) =>
    context.report({ ...problem, path: problem.path === '' ? prefix : `${prefix}.${problem.path}` }),
  );
}

/** The entry's `where` and `mode`, applied to a rule. */
function narrowed(draft: RuleDraft, where: SubjectFilter | undefined, mode: Mode | undefined): RuleDraft {
  const withMode = mode === undefined ? draft : { ...draft, mode };
  if (where === undefined) return withMode;
  if (draft.on === 'position') return { ...withMode, where };
  const positions = where.market;
  if (positions === undefined) return withMode;
  const narrowActions = (actions: RuleDraft['actions']): RuleDraft['actions'] =>
    actions.map((action) =>
      action.kind === 'reduce' || action.kind === 'protect' ? { ...action, positions } : action,
    );
  return {
    ...withMode,
    actions: narrowActions(draft.actions),
    escalate: draft.escalate.map((stage) => ({ ...stage, actions: narrowActions(stage.actions) })),
  };
}
