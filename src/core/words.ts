import {
  type ConditionTree,
  FALSE,
  type Latches,
  type Leaf,
  TRUE,
  type Truth,
  UNKNOWN,
} from './condition.ts';
import type { FieldQuantity } from './field-values.ts';
import type { FieldSpec, FieldUnit } from './fields.ts';
import type { FieldReader } from './registers.ts';
import type { FieldParameter, FieldValue } from './rule.ts';

const SIGNIFICANT_DIGITS = 4;

/** A number of a unit for people: `4.1 %`, `35 s`, `120 min`; others as they are. */
export function figure(value: number, unit: FieldUnit | undefined): string {
  if (unit === 'ratio') return `${digits(value * 100)} %`;
  if (unit === 'ratioPerHour') return `${digits(value * 100)} % per hour`;
  if (unit === 'seconds') return `${digits(value)} s`;
  return unit === 'minutes' ? `${digits(value)} min` : digits(value);
}

function digits(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'infinite' : String(value);
  const isLarge = Math.abs(value) >= 10 ** SIGNIFICANT_DIGITS;
  return String(Number(isLarge ? value.toFixed(2) : value.toPrecision(SIGNIFICANT_DIGITS)));
}

/**
 * Why a condition has the truth it has, for the subject in the registers: the comparisons that decided it, each
 * with its figure, as in `liquidationDistance 4.1 % is below 5 %`. `latches` are those after judging.
 */
export function conditionWords(tree: ConditionTree, registers: FieldReader, latches: Latches): string {
  return deciding(tree, tree.judge(latches.slice()), registers, latches).join(' and ');
}

/** A condition as such: `liquidationDistance below 5 %, clears above 7 %`. */
export function conditionText(tree: ConditionTree, registers: FieldReader): string {
  if (tree.kind === 'not') return `not (${conditionText(tree.child, registers)})`;
  if (tree.kind !== 'field') {
    const parts = tree.children.map((child) => {
      const text = conditionText(child, registers);
      const isGroup = child.kind !== 'field' && child.kind !== 'not' && child.children.length > 1;
      return isGroup && tree.children.length > 1 ? `(${text})` : text;
    });
    return parts.join(tree.kind === 'all' ? ' and ' : ' or ');
  }
  const field = registers.slots[tree.slot];
  if (field === undefined) return '';
  return `${field.spec.name}${parameterWords(field.parameter)} ${comparisonText(tree, field.spec)}`;
}

function comparisonText({ comparison }: Leaf, spec: FieldSpec): string {
  switch (comparison.op) {
    case 'below': {
      const { threshold, clearAbove } = comparison;
      const clears = clearAbove === undefined ? '' : `, clears above ${valueWords(clearAbove, spec)}`;
      return `below ${valueWords(threshold, spec)}${clears}`;
    }
    case 'above': {
      const { threshold, clearBelow } = comparison;
      const clears = clearBelow === undefined ? '' : `, clears below ${valueWords(clearBelow, spec)}`;
      return `above ${valueWords(threshold, spec)}${clears}`;
    }
    case 'equals':
      return `is ${valueWords(comparison.value, spec)}`;
    case 'in':
      return `is one of ${comparison.values.map((value) => valueWords(value, spec)).join(', ')}`;
  }
}

function deciding(
  node: ConditionTree,
  truth: Truth,
  registers: FieldReader,
  latches: Latches,
): readonly string[] {
  if (node.kind === 'field') return [leafWords(node, truth, registers, latches)];
  if (node.kind === 'not') return deciding(node.child, negated(truth), registers, latches);
  const words: string[] = [];
  for (const child of node.children) {
    const own = child.judge(latches.slice());
    if (own === truth) words.push(...deciding(child, own, registers, latches));
  }
  return words.length > 0 ? words : [`"${node.kind}" is empty`];
}

function negated(truth: Truth): Truth {
  if (truth === UNKNOWN) return UNKNOWN;
  return truth === TRUE ? FALSE : TRUE;
}

function leafWords(leaf: Leaf, truth: Truth, registers: FieldReader, latches: Latches): string {
  const field = registers.slots[leaf.slot];
  if (field === undefined) return '';
  const name = `${field.spec.name}${parameterWords(field.parameter)}`;
  const quantity = registers.read(leaf.slot);
  if (quantity.kind === 'unknown') return `${name} is unknown (${quantity.why})`;
  const isHeld = leaf.latch >= 0 && latches[leaf.latch] === 1 && !isBeyondThreshold(leaf, quantity);
  return `${name} ${quantityWords(quantity, field.spec)} ${comparisonWords(leaf, truth, isHeld, field.spec)}`;
}

/** Whether a comparison with hysteresis is true by its threshold itself, not only because it was before. */
function isBeyondThreshold({ comparison }: Leaf, quantity: FieldQuantity): boolean {
  if (quantity.kind === 'none' || quantity.kind === 'unknown' || typeof quantity.value !== 'number')
    return false;
  if (comparison.op === 'below') return quantity.value < comparison.threshold;
  return comparison.op === 'above' && quantity.value > comparison.threshold;
}

function parameterWords({ asset, source, windowMs }: FieldParameter): string {
  const parts = [asset, source, windowMs === undefined ? undefined : `${windowMs / 1_000} s`];
  const written = parts.filter((part) => part !== undefined);
  return written.length === 0 ? '' : `(${written.join(', ')})`;
}

function quantityWords(quantity: FieldQuantity, spec: FieldSpec): string {
  if (quantity.kind === 'none') return '(none)';
  if (quantity.kind === 'unknown') return '(unknown)';
  const text = valueWords(quantity.value, spec);
  return quantity.kind === 'atLeast' ? `at least ${text}` : text;
}

function valueWords(value: FieldValue, spec: FieldSpec): string {
  if (typeof value !== 'number') return String(value);
  return figure(value, spec.type === 'number' ? spec.unit : undefined);
}

function comparisonWords({ comparison }: Leaf, truth: Truth, isHeld: boolean, spec: FieldSpec): string {
  const verb = truth === TRUE ? 'is' : truth === UNKNOWN ? 'may or may not be' : 'is not';
  switch (comparison.op) {
    case 'below':
      return isHeld && comparison.clearAbove !== undefined
        ? `was below ${valueWords(comparison.threshold, spec)} and is not above ${valueWords(comparison.clearAbove, spec)}`
        : `${verb} below ${valueWords(comparison.threshold, spec)}`;
    case 'above':
      return isHeld && comparison.clearBelow !== undefined
        ? `was above ${valueWords(comparison.threshold, spec)} and is not below ${valueWords(comparison.clearBelow, spec)}`
        : `${verb} above ${valueWords(comparison.threshold, spec)}`;
    case 'equals':
      return `${verb} ${valueWords(comparison.value, spec)}`;
    case 'in':
      return `${verb} one of ${comparison.values.map((value) => valueWords(value, spec)).join(', ')}`;
  }
}
