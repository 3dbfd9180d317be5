import type { FieldReader } from '../fields/field-cache.ts';
import type { NoneMeaning } from '../fields/field-catalogue.ts';
import type { Comparison, ConditionSpec, FieldParameter, FieldValue } from './rule.ts';

/** Kleene's three truth values as small integers: an unknown operand leaves the result open only where it matters. */
export type Truth = 0 | 1 | 2;
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;

/** One 0 or 1 per comparison with hysteresis: whether it was true when last known. */
export type Latches = Uint8Array;

type Judge = (latches: Latches) => Truth;

/** A comparison of a compiled condition; also used for words and thresholds. */
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

/** A condition compiled to closures over the field cache of its subject kind. */
export interface CompiledCondition {
  readonly tree: ConditionTree;
  readonly leaves: readonly Leaf[];
  readonly latchCount: number;
  /** Updates all latches; the caller keeps them only if the result is known. */
  readonly judge: Judge;
}

/**
 * Compiles a condition.
 * @throws TypeError for a field that is not in the catalogue
 */
export function compileCondition(spec: ConditionSpec, fieldCache: FieldReader): CompiledCondition {
  const leaves: Leaf[] = [];
  let latchCount = 0;

  const compileField = (
    field: string,
    parameter: FieldParameter | undefined,
    comparison: Comparison,
  ): Leaf => {
    const slot = fieldCache.slot(field, parameter);
    const none = fieldCache.slots[slot]?.spec.none;
    const latch = hysteresisBound(comparison) === undefined ? -1 : latchCount++;
    const judge = compileComparison(fieldCache, slot, comparison, { none: noneValue(none), latch });
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

export function negate(truth: Truth): Truth {
  return truth === UNKNOWN ? UNKNOWN : truth === TRUE ? FALSE : TRUE;
}

/** One FALSE decides `all`, one TRUE decides `any`; otherwise an UNKNOWN does. Pairs cost less than a loop. */
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

/** The bound at which a comparison clears, if it has hysteresis. */
function hysteresisBound(comparison: Comparison): number | undefined {
  if (comparison.op === 'below') return comparison.clearAbove;
  return comparison.op === 'above' ? comparison.clearBelow : undefined;
}

/** The value that `none` compares as; `undefined` if every comparison with it is false. */
function noneValue(meaning: NoneMeaning | undefined): number | undefined {
  if (meaning === 'infinite') return Number.POSITIVE_INFINITY;
  return meaning === 'zero' ? 0 : undefined;
}

function compileComparison(
  fieldCache: FieldReader,
  slot: number,
  comparison: Comparison,
  { none, latch }: Pick<Bound, 'none' | 'latch'>,
): Judge {
  switch (comparison.op) {
    case 'below':
      return compileBound(fieldCache, slot, {
        sign: 1,
        threshold: comparison.threshold,
        clear: comparison.clearAbove,
        latch,
        none,
      });
    case 'above':
      return compileBound(fieldCache, slot, {
        sign: -1,
        threshold: comparison.threshold,
        clear: comparison.clearBelow,
        latch,
        none,
      });
    case 'equals':
      return compileIn(fieldCache, slot, [comparison.value], none);
    case 'in':
      return compileIn(fieldCache, slot, comparison.values, none);
  }
}

interface Bound {
  /** 1: dangerous below. -1: dangerous above, which is handled as below with all numbers negated. */
  readonly sign: 1 | -1;
  readonly threshold: number;
  readonly clear: number | undefined;
  readonly latch: number;
  readonly none: number | undefined;
}

function compileBound(fieldCache: FieldReader, slot: number, bound: Bound): Judge {
  const { sign, latch, none } = bound;
  const threshold = sign * bound.threshold;
  const clear = bound.clear === undefined ? undefined : Math.max(threshold, sign * bound.clear);
  /** True if the value is on the dangerous side, or latched and not yet past the clearing bound. */
  const isHeld = (value: number, latches: Latches): boolean =>
    clear !== undefined && latches[latch] === 1 ? value <= clear : value < threshold;
  const judge = (value: number, latches: Latches): Truth => {
    const held = isHeld(value, latches);
    if (latch >= 0) latches[latch] = held ? 1 : 0;
    return held ? TRUE : FALSE;
  };
  /** The kind of bound that can prove danger; the other kind can only rule it out. */
  const alarming = sign === 1 ? 'atMost' : 'atLeast';
  return (latches) => {
    const quantity = fieldCache.read(slot);
    if (quantity.kind === 'value') return judge(sign * (quantity.value as number), latches);
    if (quantity.kind === 'unknown') return UNKNOWN;
    if (quantity.kind === 'none') {
      return none === undefined ? released(latch, latches) : judge(sign * none, latches);
    }
    // A bound decides only if every number it allows gives the same result.
    const decides = isHeld(sign * quantity.value, latches) === (quantity.kind === alarming);
    return decides ? judge(sign * quantity.value, latches) : UNKNOWN;
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
