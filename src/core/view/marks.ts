import type { FieldReader } from '../fields/field-cache.ts';
import type { CompiledRule, KindRules } from '../rules/compiled-rules.ts';
import type { ConditionTree } from '../rules/condition.ts';
import type { Filterable } from '../rules/filter.ts';
import type { SubjectKind } from '../rules/rule.ts';
import type { ThresholdMark } from './account-view.ts';

/** Thresholds of the rules on a subject, for the bars of its figures. */
export function marksOf<K extends SubjectKind>(
  { rules, fieldCache }: KindRules<K>,
  filterable: Filterable,
): readonly ThresholdMark[] {
  return rules.flatMap((rule) => (rule.filter(filterable) === false ? [] : marksOfRule(rule, fieldCache)));
}

/** Cached per rule, since they are the same for all its subjects. */
const KNOWN = new WeakMap<CompiledRule, readonly ThresholdMark[]>();

function marksOfRule(rule: CompiledRule, fieldCache: FieldReader): readonly ThresholdMark[] {
  let marks = KNOWN.get(rule);
  if (marks === undefined) {
    const { id: ruleId, severity } = rule.spec;
    marks = thresholdsIn(rule.condition.tree, fieldCache, false).map(({ field, op, threshold }) => {
      return { ruleId, severity, field, op, threshold };
    });
    KNOWN.set(rule, marks);
  }
  return marks;
}

type Threshold = Pick<ThresholdMark, 'field' | 'op' | 'threshold'>;

/** Inside a `not`, the other side of a threshold is dangerous. */
function thresholdsIn(
  tree: ConditionTree,
  fieldCache: FieldReader,
  isNegated: boolean,
): readonly Threshold[] {
  if (tree.kind === 'not') return thresholdsIn(tree.child, fieldCache, !isNegated);
  if (tree.kind !== 'field') {
    return tree.children.flatMap((child) => thresholdsIn(child, fieldCache, isNegated));
  }
  const { comparison } = tree;
  const field = fieldCache.slots[tree.slot];
  if (field === undefined || (comparison.op !== 'below' && comparison.op !== 'above')) return [];
  const isBelow = (comparison.op === 'below') !== isNegated;
  return [{ field: field.spec.name, op: isBelow ? 'below' : 'above', threshold: comparison.threshold }];
}
