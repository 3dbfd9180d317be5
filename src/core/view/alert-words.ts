import type { FieldReader } from '../fields/field-cache.ts';
import type { FieldSpec } from '../fields/field-catalogue.ts';
import type { FieldQuantity } from '../fields/field-values.ts';
import {
  caseWords,
  fieldWords,
  isForecast,
  oneOfWords,
  quantityWords,
  valueWords,
} from '../fields/field-words.ts';
import {
  type ConditionTree,
  type Latches,
  type Leaf,
  negate,
  TRUE,
  type Truth,
  UNKNOWN,
} from '../rules/condition.ts';
import type { Comparison, FieldValue } from '../rules/rule.ts';

export { figure } from '../fields/field-words.ts';

/** The comparisons that decided, each with its figure: `distance to liquidation is 4.1 %, below 5 %`. */
export function conditionWords(tree: ConditionTree, fieldCache: FieldReader, latches: Latches): string {
  return deciding(tree, tree.judge(latches.slice()), fieldCache, latches).join(' and ');
}

/** The text of a condition: `distance to liquidation below 5 %, clears above 7 %`. */
export function conditionText(tree: ConditionTree, fieldCache: FieldReader): string {
  if (tree.kind === 'not') return `not (${conditionText(tree.child, fieldCache)})`;
  if (tree.kind !== 'field') {
    const parts = tree.children.map((child) => {
      const text = conditionText(child, fieldCache);
      const isGroup = child.kind !== 'field' && child.kind !== 'not' && child.children.length > 1;
      return isGroup && tree.children.length > 1 ? `(${text})` : text;
    });
    return parts.join(tree.kind === 'all' ? ' and ' : ' or ');
  }
  const field = fieldCache.slots[tree.slot];
  if (field === undefined) return '';
  const { comparison } = tree;
  const stated = comparison.op === 'equals' ? caseWords(field.spec, comparison.value) : undefined;
  return stated ?? `${fieldWords(field.spec, field.parameter)} ${comparisonText(tree, field.spec)}`;
}

function comparisonText({ comparison }: Leaf, spec: FieldSpec): string {
  switch (comparison.op) {
    case 'below':
    case 'above': {
      const [fires, clears] = thresholdWords(comparison, spec);
      return clears === undefined ? fires : `${fires}, clears ${clears}`;
    }
    case 'equals':
      return `is ${valueWords(comparison.value, spec)}`;
    case 'in':
      return `is one of ${comparison.values.map((value) => valueWords(value, spec)).join(', ')}`;
  }
}

/** Bound at which it becomes true and, with hysteresis, bound at which it becomes false: `below 5 %`, `above 7 %`. */
function thresholdWords(
  comparison: Extract<Comparison, { readonly threshold: number }>,
  spec: FieldSpec,
): readonly [fires: string, clears: string | undefined] {
  const [clear, back] =
    comparison.op === 'below' ? [comparison.clearAbove, 'above'] : [comparison.clearBelow, 'below'];
  return [
    `${comparison.op} ${valueWords(comparison.threshold, spec)}`,
    clear === undefined ? undefined : `${back} ${valueWords(clear, spec)}`,
  ];
}

function deciding(
  node: ConditionTree,
  truth: Truth,
  fieldCache: FieldReader,
  latches: Latches,
): readonly string[] {
  if (node.kind === 'field') return [leafWords(node, truth, fieldCache, latches)];
  if (node.kind === 'not') return deciding(node.child, negate(truth), fieldCache, latches);
  const words: string[] = [];
  for (const child of node.children) {
    const own = child.judge(latches.slice());
    if (own === truth) words.push(...deciding(child, own, fieldCache, latches));
  }
  return words.length > 0 ? words : [`"${node.kind}" is empty`];
}

function leafWords(leaf: Leaf, truth: Truth, fieldCache: FieldReader, latches: Latches): string {
  const field = fieldCache.slots[leaf.slot];
  if (field === undefined) return '';
  const { spec, parameter } = field;
  const quantity = fieldCache.read(leaf.slot);
  const stated = quantity.kind === 'value' ? caseWords(spec, quantity.value) : undefined;
  if (stated !== undefined) return stated;
  const what = `${fieldWords(spec, parameter)} ${quantityWords(quantity, spec)}`;
  if (quantity.kind === 'unknown') return what;
  const isHeld = leaf.latch >= 0 && latches[leaf.latch] === 1 && !isBeyondThreshold(leaf, quantity);
  const basis = isForecast(spec) && quantity.kind !== 'none' ? BASIS : '';
  return `${what}${comparisonWords(leaf.comparison, truth, isHeld, spec)}${basis}`;
}

/** A jump away from the danger also raises the forecast, since it shows how far prices jump. */
const BASIS = ', judged by how far prices have lately moved, up or down';

/** True if a comparison with hysteresis holds by its threshold, not only because it held before. */
function isBeyondThreshold({ comparison }: Leaf, quantity: FieldQuantity): boolean {
  if (quantity.kind === 'none' || quantity.kind === 'unknown' || typeof quantity.value !== 'number')
    return false;
  if (comparison.op === 'below') return quantity.value < comparison.threshold;
  return comparison.op === 'above' && quantity.value > comparison.threshold;
}

function comparisonWords(comparison: Comparison, truth: Truth, isHeld: boolean, spec: FieldSpec): string {
  const link = truth === TRUE ? ', ' : truth === UNKNOWN ? ', which may or may not be ' : ', not ';
  switch (comparison.op) {
    case 'below':
    case 'above': {
      const [fires, clears] = thresholdWords(comparison, spec);
      return isHeld && clears !== undefined
        ? `, after it was ${fires}, and not yet ${clears}`
        : `${link}${fires}`;
    }
    case 'equals':
      return exactWords([comparison.value], truth, spec);
    case 'in':
      return exactWords(comparison.values, truth, spec);
  }
}

/** The value itself is already stated; the values it is not matter only where that decides. */
function exactWords(values: readonly FieldValue[], truth: Truth, spec: FieldSpec): string {
  if (truth === TRUE) return '';
  const items = oneOfWords(values.map((value) => valueWords(value, spec)));
  return truth === UNKNOWN ? `, which may or may not be ${items}` : `, not ${items}`;
}
