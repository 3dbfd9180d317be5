import type { FieldReader } from '../fields/field-cache.ts';
import type { NoneMeaning } from '../fields/field-catalogue.ts';
import type { FieldQuantity } from '../fields/field-values.ts';
import type { Comparison, ConditionSpec, FieldParameter, FieldValue } from './rule.ts';

/** Kleene's three truth values, as small integers: an unknown operand decides only what it cannot change. */
export type Truth = 0 | 1 | 2;
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;

/** One 0 or 1 per comparison with hysteresis: whether it was true when last known. */
export type Latches = Uint8Array;

type Judge = (latches: Latches) => Truth;

/** A comparison of a compiled condition; for words and for finding thresholds. */
export interface Leaf {
  readonly kind: 'field';
  readonly slot: number;
  readonly comparison: Comparison;
  /** Index of its latch, or -1 without hysteresis. */
  readonly latch: number;
  readonly judge: Judge;
}

export type ConditionTree =
  | Leaf
  | { readonly kind: 'all' | 'any'; readonly children: readonly ConditionTree[]; readonly judge: Judge }
  | { readonly kind: 'not'; readonly child: ConditionTree; readonly judge: Judge };

/** A condition compiled to closures over the field cache of its kind of subject. */
export interface CompiledCondition {
  readonly tree: ConditionTree;
  readonly leaves: readonly Leaf[];
  readonly latchCount: number;
  /**
   * Truth for the subject loaded in the field cache. Updates the latches of the comparisons it reaches, and it
   * reaches all that have one; the caller keeps the update only when the result is known.
   */
  readonly judge: Judge;
}

/** Compiles a condition once; throws a TypeError for a field that the catalogue does not have. */
export function compileCondition(spec: ConditionSpec, fieldCache: FieldReader): CompiledCondition {
  const leaves: Leaf[] = [];
  let latchCount = 0;

  const compileField = (
    field: string,
    parameter: FieldParameter | undefined,
    comparison: Comparison,
  ): Leaf => {
    const slot = fieldCache.slot(field, parameter);
    const none = fieldCache.slots[slot]?.spec.none ?? 'never';
    const latch = hysteresisBound(comparison) === undefined ? -1 : latchCount++;
    const judge = compileComparison(fieldCache, slot, comparison, noneValue(none), latch);
    const leaf: Leaf = { kind: 'field', slot, comparison, latch, judge };
    leaves.push(leaf);
    return leaf;
  };

  const compile = (node: ConditionSpec): ConditionTree => {
    if (node.kind === 'field') return compileField(node.field, node.parameter, node.comparison);
    if (node.kind === 'not') {
      const child = compile(node.condition);
      return { kind: 'not', child, judge: (latches) => negate(child.judge(latches)) };
    }
    const latchesBefore = latchCount;
    const children = node.conditions.map(compile);
    const eager = latchCount > latchesBefore;
    const judge = compileGroup(
      children.map((child) => child.judge),
      node.kind === 'all' ? FALSE : TRUE,
      eager,
    );
    return { kind: node.kind, children, judge };
  };

  const tree = compile(spec);
  return { tree, leaves, latchCount, judge: tree.judge };
}

function negate(truth: Truth): Truth {
  return truth === UNKNOWN ? UNKNOWN : truth === TRUE ? FALSE : TRUE;
}

/**
 * `all` is decided by one FALSE and `any` by one TRUE; else by an UNKNOWN. Without hysteresis inside, the rest
 * of a decided group is not looked at. Folded into pairs, which costs less than a loop.
 */
function compileGroup(judges: readonly Judge[], decisive: typeof FALSE | typeof TRUE, eager: boolean): Judge {
  const otherwise: Truth = decisive === FALSE ? TRUE : FALSE;
  const both = eager ? compileEagerPair : compileLazyPair;
  const last = judges.at(-1) ?? (() => otherwise);
  return judges.slice(0, -1).reduceRight((rest, judge) => both(judge, rest, decisive), last);
}

function compileLazyPair(first: Judge, second: Judge, decisive: Truth): Judge {
  return (latches) => {
    const a = first(latches);
    if (a === decisive) return a;
    const b = second(latches);
    return a === UNKNOWN && b !== decisive ? UNKNOWN : b;
  };
}

function compileEagerPair(first: Judge, second: Judge, decisive: Truth): Judge {
  return (latches) => {
    const a = first(latches);
    const b = second(latches);
    if (a === decisive || b === decisive) return decisive;
    return a === UNKNOWN ? UNKNOWN : b;
  };
}

/** The bound beyond which a comparison clears, if it differs from the one at which it fires. */
function hysteresisBound(comparison: Comparison): number | undefined {
  if (comparison.op === 'below') return comparison.clearAbove;
  return comparison.op === 'above' ? comparison.clearBelow : undefined;
}

/** `none` as a value to compare with; `undefined` where every comparison with it is false. */
function noneValue(meaning: NoneMeaning): number | undefined {
  if (meaning === 'infinite') return Number.POSITIVE_INFINITY;
  return meaning === 'zero' ? 0 : undefined;
}

function compileComparison(
  fieldCache: FieldReader,
  slot: number,
  comparison: Comparison,
  none: number | undefined,
  latch: number,
): Judge {
  switch (comparison.op) {
    case 'below': {
      const { threshold, clearAbove } = comparison;
      const clear = clearAbove === undefined ? undefined : Math.max(threshold, clearAbove);
      return compileBelow(fieldCache, slot, { threshold, clear, latch, none });
    }
    case 'above': {
      const { threshold, clearBelow } = comparison;
      const clear = clearBelow === undefined ? undefined : Math.min(threshold, clearBelow);
      return compileAbove(fieldCache, slot, { threshold, clear, latch, none });
    }
    case 'equals':
      return compileIn(fieldCache, slot, [comparison.value], none);
    case 'in':
      return compileIn(fieldCache, slot, comparison.values, none);
  }
}

interface Threshold {
  readonly threshold: number;
  readonly clear: number | undefined;
  readonly latch: number;
  readonly none: number | undefined;
}

function compileBelow(
  fieldCache: FieldReader,
  slot: number,
  { threshold, clear, latch, none }: Threshold,
): Judge {
  const isBelow = (value: number, latches: Latches): Truth => {
    const held = latches[latch] === 1 && clear !== undefined ? value <= clear : value < threshold;
    if (latch >= 0) latches[latch] = held ? 1 : 0;
    return held ? TRUE : FALSE;
  };
  const isBelowAtMost = (bound: number, latches: Latches): Truth => {
    const held = latches[latch] === 1 && clear !== undefined;
    const enough = held ? bound <= clear : bound < threshold;
    return enough ? isBelow(bound, latches) : UNKNOWN;
  };
  const otherwise = (quantity: FieldQuantity, latches: Latches): Truth => {
    if (quantity.kind === 'unknown') return UNKNOWN;
    // An upper bound that is small enough suffices.
    if (quantity.kind === 'atMost') return isBelowAtMost(quantity.value, latches);
    if (quantity.kind !== 'atLeast')
      return none === undefined ? released(latch, latches) : isBelow(none, latches);
    // A lower bound can only show that the number is too large.
    const held = latches[latch] === 1 && clear !== undefined;
    const tooLarge = held ? quantity.value > clear : quantity.value >= threshold;
    return tooLarge ? released(latch, latches) : UNKNOWN;
  };
  if (clear === undefined) {
    return (latches) => {
      const quantity = fieldCache.read(slot);
      if (quantity.kind === 'value') return (quantity.value as number) < threshold ? TRUE : FALSE;
      return otherwise(quantity, latches);
    };
  }
  return (latches) => {
    const quantity = fieldCache.read(slot);
    return quantity.kind === 'value'
      ? isBelow(quantity.value as number, latches)
      : otherwise(quantity, latches);
  };
}

function compileAbove(
  fieldCache: FieldReader,
  slot: number,
  { threshold, clear, latch, none }: Threshold,
): Judge {
  const isAbove = (value: number, latches: Latches): Truth => {
    const held = latches[latch] === 1 && clear !== undefined ? value >= clear : value > threshold;
    if (latch >= 0) latches[latch] = held ? 1 : 0;
    return held ? TRUE : FALSE;
  };
  const otherwise = (quantity: FieldQuantity, latches: Latches): Truth => {
    if (quantity.kind === 'unknown') return UNKNOWN;
    if (quantity.kind === 'atMost') {
      // An upper bound can only show that the number is too small.
      const held = latches[latch] === 1 && clear !== undefined;
      const tooSmall = held ? quantity.value < clear : quantity.value <= threshold;
      return tooSmall ? released(latch, latches) : UNKNOWN;
    }
    if (quantity.kind !== 'atLeast')
      return none === undefined ? released(latch, latches) : isAbove(none, latches);
    // A lower bound that is large enough suffices.
    const held = latches[latch] === 1 && clear !== undefined;
    const enough = held ? quantity.value >= clear : quantity.value > threshold;
    return enough ? isAbove(quantity.value, latches) : UNKNOWN;
  };
  if (clear === undefined) {
    return (latches) => {
      const quantity = fieldCache.read(slot);
      if (quantity.kind === 'value') return (quantity.value as number) > threshold ? TRUE : FALSE;
      return otherwise(quantity, latches);
    };
  }
  return (latches) => {
    const quantity = fieldCache.read(slot);
    return quantity.kind === 'value'
      ? isAbove(quantity.value as number, latches)
      : otherwise(quantity, latches);
  };
}

function released(latch: number, latches: Latches): Truth {
  if (latch >= 0) latches[latch] = 0;
  return FALSE;
}

function compileIn(
  fieldCache: FieldReader,
  slot: number,
  values: readonly FieldValue[],
  none: number | undefined,
): Judge {
  const isOne = (value: FieldValue): Truth => (values.includes(value) ? TRUE : FALSE);
  const numbers = values.map((value) => (typeof value === 'number' ? value : Number.NaN));
  const largest = Math.max(...numbers);
  const smallest = Math.min(...numbers);
  return () => {
    const quantity = fieldCache.read(slot);
    if (quantity.kind === 'value') return values.includes(quantity.value) ? TRUE : FALSE;
    if (quantity.kind === 'unknown') return UNKNOWN;
    if (quantity.kind === 'none') return none === undefined ? FALSE : isOne(none);
    if (quantity.kind === 'atMost') return quantity.value < smallest ? FALSE : UNKNOWN;
    return quantity.value > largest ? FALSE : UNKNOWN;
  };
}
