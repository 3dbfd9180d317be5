import type { Mode, SubjectFilter } from '../../core/rules/rule.ts';
import { suggest } from '../../core/text/suggest.ts';
import type { RuleUse } from '../accounts.ts';
import { formatPath, type Path, type Problem } from '../problem.ts';
import { complain, didYouMean, problemAt, withMeantKeys } from '../shape/read.ts';
import { nodeAt, withChildren, type YamlDocument } from '../yaml/document.ts';
import { describeText } from '../yaml/value.ts';
import { type ReadRule, type ReadRules, type RuleContext, readRule } from './read-rules.ts';
import { type RuleDraft, ruleSchema, SUBJECT_KINDS } from './rule.ts';
import { isRuleSetName, RULE_SET_NAMES, type RuleSet, type RuleSetName } from './rule-sets.ts';

/**
 * A rule as an account uses it: under its full id, with the account's changes. Warnings point at the rule itself, or at
 * the account's entry that uses a set.
 */
export type UsedRule = ReadRule & { readonly draft: RuleDraft };

export interface UseContext extends RuleContext {
  readonly document: YamlDocument;
  readonly own: ReadRules;
  readonly ruleSet: (name: RuleSetName) => RuleSet;
  /** Ids of the file's rules that some account uses. */
  readonly usedOwn: Set<string>;
}

/** Returns the rules of an entry of an account's `rules`; reports an unknown name and returns undefined. */
export function resolveUse(use: RuleUse, path: Path, context: UseContext): readonly ReadRule[] | undefined {
  const found = findRules(use.use, path, context);
  if (found === undefined) return undefined;
  checkNames(use, path, found, context);
  const without = new Set(use.without ?? []);
  const used: ReadRule[] = [];
  for (const [localId, rule] of found.rules) {
    if (without.has(localId)) continue;
    const draft = changed(rule, changesPath(localId, path, found, context), context);
    const id = found.set === undefined ? localId : `${found.set.name}/${localId}`;
    const at = found.set === undefined ? rule : { document: context.document, path: [...path] };
    used.push({
      id,
      draft: draft && { ...narrowed(draft, use.where, use.mode), id },
      document: at.document,
      path: at.path,
    });
  }
  // The rules were only checked: the account may also use them under their right name.
  return found.isMisspelt === true ? undefined : used;
}

interface FoundRules {
  readonly name: string;
  readonly set?: RuleSet;
  readonly rules: ReadonlyMap<string, ReadRule>;
  /** The name was misspelt, which was reported; these are the rules that were probably meant. */
  readonly isMisspelt?: true;
}

function findRules(name: string, path: Path, context: UseContext): FoundRules | undefined {
  const [head = '', rest] = name.split('/');
  const at = nodeAt(context.document.root, [...path, 'use']) === undefined ? path : [...path, 'use'];
  if (rest === undefined) {
    const own = context.own.rules.get(head);
    if (own !== undefined) {
      context.usedOwn.add(head);
      return { name, rules: new Map([[head, own]]) };
    }
    if (isRuleSetName(head)) {
      const set = context.ruleSet(head);
      return { name, set, rules: set.rules };
    }
  } else if (isRuleSetName(head)) {
    const set = context.ruleSet(head);
    const rule = set.rules.get(rest);
    if (rule !== undefined) return { name, set, rules: new Map([[rest, rule]]) };
    const meant = suggest(rest, set.rules.keys());
    if (set.rules.size > 0) {
      const message = `expected a rule of the set ${set.name} (${[...set.rules.keys()].join(', ')}), got ${JSON.stringify(rest)}${didYouMean(meant)}`;
      complain(context, at, 'unknown-reference', message);
    }
    return meantRules(meant && `${head}/${meant}`, path, context);
  }
  const known = rest === undefined ? [...context.own.rules.keys(), ...RULE_SET_NAMES] : [...RULE_SET_NAMES];
  const meant = suggest(head, known);
  // The name may be that of a rule whose id could not be read.
  if (rest === undefined && !context.own.allNamed && !isRuleSetName(meant ?? '')) return undefined;
  const message = `expected a rule of this file or a rule set (${RULE_SET_NAMES.join(', ')}), got ${describeText(name)}${didYouMean(meant)}`;
  complain(context, at, 'unknown-reference', message);
  return meantRules(meant && [meant, ...(rest === undefined ? [] : [rest])].join('/'), path, context);
}

/** Finds the rules that a misspelt name probably means, without reporting: the name was already reported. */
function meantRules(name: string | undefined, path: Path, context: UseContext): FoundRules | undefined {
  const found =
    name === undefined ? undefined : findRules(name, path, { ...context, report: () => undefined });
  return found && { ...found, isMisspelt: true };
}

function checkNames(use: RuleUse, path: Path, found: FoundRules, context: UseContext): void {
  const check = (name: string, inUse: Path, at: 'key' | 'value'): void => {
    if (found.rules.has(name)) return;
    const message = `expected a rule of ${found.name} (${[...found.rules.keys()].join(', ')}), got ${describeText(name)}${didYouMean(suggest(name, found.rules.keys()))}`;
    context.report(problemAt(context.document, inUse, { code: 'unknown-reference', message, at }));
  };
  for (const [index, name] of (use.without ?? []).entries()) {
    check(name, withoutPath(context, path, index), 'value');
  }
  for (const name of Object.keys(use.with ?? {})) check(name, [...path, 'with', name], 'key');
}

function withoutPath(context: UseContext, path: Path, index: number): Path {
  const inList = [...path, 'without', index];
  return nodeAt(context.document.root, inList) === undefined ? [...path, 'without'] : inList;
}

/** Returns the path of a use's changes to a rule: under its id, or under a misspelt id, which is reported. */
function changesPath(localId: string, path: Path, { rules }: FoundRules, { document }: UseContext): Path {
  const ids = [...(nodeAt(document.root, [...path, 'with'])?.children.keys() ?? [])].map(String);
  const misspelt = ids.find((id) => !rules.has(id) && suggest(id, rules.keys()) === localId);
  return [...path, 'with', ids.includes(localId) ? localId : (misspelt ?? localId)];
}

/** Returns the rule with the keys that `with` replaces. It is read again as a whole, so that all checks apply. */
function changed(rule: ReadRule, path: Path, context: UseContext): RuleDraft | undefined {
  const changes = nodeAt(context.document.root, path);
  const base = nodeAt(rule.document.root, rule.path);
  if (changes === undefined || base === undefined) return rule.draft;
  const prefix = formatPath(path);
  const reportHere = (problem: Problem): void =>
    context.report({ ...problem, path: problem.path === '' ? prefix : `${prefix}.${problem.path}` });
  const kind = SUBJECT_KINDS.find((known) => known === base.children.get('on')?.value);
  const written: YamlDocument = { file: context.document.file, root: changes };
  const meant = kind === undefined ? written : withMeantKeys(ruleSchema(kind), written, reportHere);
  const replaced = new Map(meant.root.children);
  for (const fixed of ['id', 'on']) {
    if (!replaced.delete(fixed)) continue;
    const message = `expected keys other than id and on, which cannot be changed, got ${fixed}`;
    const at = [...path, fixed];
    context.report(problemAt(context.document, at, { code: 'wrong-value', message, at: 'key' }));
  }
  const root = withChildren(base, new Map([...base.children, ...replaced]));
  const ofBase = new Set<string>();
  const identity = ({ place, message }: Problem): string => JSON.stringify([place, message]);
  readRule(rule.document, rule.path, { ...context, report: (problem) => ofBase.add(identity(problem)) });
  const report = (problem: Problem): void => {
    // Problems of the rule itself were reported at the rule.
    if (!ofBase.has(identity(problem))) reportHere(problem);
  };
  return readRule({ ...written, root }, [], { ...context, report }).draft;
}

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
