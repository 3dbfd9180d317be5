import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FieldCache, type FieldReader, type FieldSlot } from '../../../src/core/fields/field-cache.ts';
import { findField } from '../../../src/core/fields/field-catalogue.ts';
import type { FieldQuantity } from '../../../src/core/fields/field-values.ts';
import { known, NONE, unknown } from '../../../src/core/quantities/quantity.ts';
import { compileCondition, FALSE, TRUE, type Truth, UNKNOWN } from '../../../src/core/rules/condition.ts';
import type { Comparison, ConditionSpec } from '../../../src/core/rules/rule.ts';
import { conditionWords } from '../../../src/core/view/alert-words.ts';
import { above, below } from './fixtures.ts';

/** Values by field name, set by the test. */
class Facts implements FieldReader {
  readonly slots: FieldSlot[] = [];
  readonly values = new Map<string, FieldQuantity>();

  slot(field: string): number {
    const spec = findField('position', field);
    if (spec === undefined) throw new TypeError(field);
    return this.slots.push({ spec, parameter: {} }) - 1;
  }

  read(slot: number): FieldQuantity {
    return this.values.get(this.slots[slot]?.spec.name ?? '') ?? unknown('notRead');
  }
}

function judged(spec: ConditionSpec): (field: string, ...values: readonly FieldQuantity[]) => Truth[] {
  const facts = new Facts();
  const condition = compileCondition(spec, facts);
  const latches = new Uint8Array(condition.latchCount);
  return (field, ...values) =>
    values.map((value) => {
      facts.values.set(field, value);
      return condition.judge(latches);
    });
}

const atLeast = (value: number): FieldQuantity => ({ kind: 'atLeast', value });
const U = unknown('fieldMissing');

describe('comparisons at, below and above their thresholds', () => {
  const distance = 'liquidationDistance';
  const field = (name: string, comparison: Comparison): ConditionSpec => ({
    kind: 'field',
    field: name,
    comparison,
  });

  test.each([
    ['below', below(distance, 0.05), [0.049, 0.05, 0.051], [1, 0, 0]],
    ['above', above('marginUsage', 0.8), [0.79, 0.8, 0.81], [0, 0, 1]],
    // With hysteresis: true strictly below the threshold, false again only strictly above the clearing one.
    [
      'below with clearAbove',
      below(distance, 0.05, 0.07),
      [0.05, 0.06, 0.049, 0.05, 0.06, 0.07, 0.0701, 0.07, 0.05],
      [0, 0, 1, 1, 1, 1, 0, 0, 0],
    ],
    [
      'above with clearBelow',
      above('marginUsage', 0.9, 0.85),
      [0.9, 0.86, 0.901, 0.9, 0.86, 0.85, 0.849, 0.85, 0.9],
      [0, 0, 1, 1, 1, 1, 0, 0, 0],
    ],
    ['clearAbove at the threshold', below(distance, 0.05, 0.05), [0.049, 0.05, 0.051, 0.05], [1, 1, 0, 0]],
    [
      'clearAbove on the wrong side counts as the threshold',
      below(distance, 0.05, 0.01),
      [0.04, 0.02, 0.05, 0.06],
      [1, 1, 1, 0],
    ],
    [
      'clearBelow on the wrong side counts as the threshold',
      above('marginUsage', 0.8, 0.9),
      [0.85, 0.8, 0.79],
      [1, 1, 0],
    ],
    ['equals', field('size', { op: 'equals', value: 2 }), [1.999, 2, 2.001], [0, 1, 0]],
    ['in', field('size', { op: 'in', values: [1, 2] }), [1, 2, 3], [1, 1, 0]],
  ] as const)('%s', (_, spec, values, truths) => {
    const name = spec.kind === 'field' ? spec.field : '';
    expect(judged(spec)(name, ...values.map((value) => known(value)))).toEqual(truths);
  });

  test('texts and booleans', () => {
    const state = field('liquidationState', { op: 'in', values: ['margin_call', 'unrecognised'] });
    expect(judged(state)('liquidationState', known('none'), known('margin_call'), U)).toEqual([0, 1, 2]);
    const conflict = field('disagreement', { op: 'equals', value: true });
    expect(judged(conflict)('disagreement', known(true), known(false), U)).toEqual([1, 0, 2]);
  });

  test('unknown keeps the latch; none clears it only if it means infinitely far', () => {
    const near = judged(below(distance, 0.05, 0.07));
    expect(near(distance, known(0.04), U, known(0.06), NONE, known(0.06))).toEqual([1, 2, 1, 0, 0]);
    const far = judged(above(distance, 0.05));
    expect(far(distance, NONE)).toEqual([1]);
  });

  test('none is zero for chances, and no value for prices', () => {
    expect(judged(above('liquidationProbability', 0.1))('liquidationProbability', NONE)).toEqual([0]);
    expect(judged(below('liquidationProbability', 0.1))('liquidationProbability', NONE)).toEqual([1]);
    expect(judged(below('liquidationPrice', 1e9))('liquidationPrice', NONE)).toEqual([0]);
    expect(judged(above('liquidationPrice', 0))('liquidationPrice', NONE)).toEqual([0]);
    expect(judged(above('liquidationPrice', 50, 40))('liquidationPrice', known(60), NONE, known(45))).toEqual(
      [1, 0, 0],
    );
    expect(judged(field('liquidationPrice', { op: 'equals', value: 0 }))('liquidationPrice', NONE)).toEqual([
      0,
    ]);
  });

  test('a lower bound decides only what no further record could change', () => {
    expect(judged(above('size', 5))('size', atLeast(5), atLeast(6))).toEqual([2, 1]);
    expect(judged(below('size', 5))('size', atLeast(4), atLeast(5))).toEqual([2, 0]);
    expect(judged(above('size', 5, 3))('size', atLeast(6), atLeast(4), atLeast(2))).toEqual([1, 1, 2]);
    expect(judged(below('size', 3, 5))('size', known(2), atLeast(5), atLeast(6), known(4))).toEqual([
      1, 2, 0, 0,
    ]);
    expect(judged(field('size', { op: 'equals', value: 5 }))('size', atLeast(5), atLeast(6))).toEqual([2, 0]);
    expect(judged(field('size', { op: 'in', values: [5, 7] }))('size', atLeast(6), atLeast(8))).toEqual([
      2, 0,
    ]);
  });
});

describe('groups', () => {
  // Three fields, each made true, false or unknown by its value against a threshold of 1.
  const FIELDS = ['size', 'notional', 'margin'] as const;
  const valueFor: Record<Truth, FieldQuantity> = { [TRUE]: known(2), [FALSE]: known(0), [UNKNOWN]: U };
  const leafArbitrary = fc
    .tuple(fc.constantFrom(...FIELDS), fc.boolean())
    .map(([field, hysteresis]) => above(field, 1, hysteresis ? 1 : undefined));
  const { tree } = fc.letrec<{ tree: ConditionSpec }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leafArbitrary,
      fc.record({ kind: fc.constant('not' as const), condition: tie('tree') }),
      fc.record({
        kind: fc.constantFrom('all' as const, 'any' as const),
        conditions: fc.array(tie('tree'), { maxLength: 4 }),
      }),
    ),
  }));

  /** Kleene's logic by definition: false < unknown < true, `all` is the minimum, `any` the maximum. */
  const RANK: Record<Truth, number> = { [FALSE]: 0, [UNKNOWN]: 1, [TRUE]: 2 };
  const BY_RANK: readonly Truth[] = [FALSE, UNKNOWN, TRUE];
  const kleene = (node: ConditionSpec, truths: Readonly<Record<string, Truth>>): number => {
    if (node.kind === 'field') return RANK[truths[node.field] ?? UNKNOWN];
    if (node.kind === 'not') return 2 - kleene(node.condition, truths);
    const ranks = node.conditions.map((child) => kleene(child, truths));
    return node.kind === 'all' ? Math.min(2, ...ranks) : Math.max(0, ...ranks);
  };

  test('follow Kleene logic', () => {
    const truth = fc.constantFrom<Truth>(TRUE, FALSE, UNKNOWN);
    fc.assert(
      fc.property(tree, fc.tuple(truth, truth, truth), (spec, [a, b, c]) => {
        const facts = new Facts();
        const condition = compileCondition(spec, facts);
        const truths = { size: a, notional: b, margin: c };
        for (const field of FIELDS) facts.values.set(field, valueFor[truths[field]]);
        const judgedTruth = condition.judge(new Uint8Array(condition.latchCount));
        expect(judgedTruth).toBe(BY_RANK[kleene(spec, truths)]);
      }),
      { numRuns: 2_000 },
    );
  });

  test('learning an unknown value never reverses a decided condition', () => {
    const truth = fc.constantFrom<Truth>(TRUE, FALSE, UNKNOWN);
    fc.assert(
      fc.property(
        tree,
        fc.tuple(truth, truth, truth),
        fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
        (spec, some, rest) => {
          const judge = (truths: readonly Truth[]): Truth => {
            const facts = new Facts();
            const condition = compileCondition(spec, facts);
            FIELDS.forEach((field, i) => facts.values.set(field, valueFor[truths[i] ?? UNKNOWN]));
            return condition.judge(new Uint8Array(condition.latchCount));
          };
          const before = judge(some);
          const after = judge(
            some.map((one, i) => (one === UNKNOWN ? (rest[i] === true ? TRUE : FALSE) : one)),
          );
          if (before !== UNKNOWN) expect(after).toBe(before);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('hysteresis is updated even behind a comparison that already decides', () => {
    const facts = new Facts();
    const condition = compileCondition(
      { kind: 'all', conditions: [above('size', 1), below('liquidationDistance', 0.05, 0.07)] },
      facts,
    );
    const latches = new Uint8Array(condition.latchCount);
    const step = (size: number, distance: number): Truth => {
      facts.values.set('size', known(size)).set('liquidationDistance', known(distance));
      return condition.judge(latches);
    };
    expect([step(0, 0.04), step(2, 0.06)]).toEqual([FALSE, TRUE]);
  });
});

describe('compiling', () => {
  test('refuses unknown fields and missing parameters', () => {
    expect(() => compileCondition(above('size', 1), new FieldCache('account'))).toThrow('no field "size"');
    expect(() => compileCondition(above('mainBalance', 1), new FieldCache('account'))).toThrow(
      'parameter asset',
    );
  });

  test('conditions on the same field and parameter share one computation', () => {
    const fieldCache = new FieldCache('position');
    compileCondition({ kind: 'any', conditions: [below('size', 1), above('size', 2)] }, fieldCache);
    expect(fieldCache.slots.length).toBe(1);
    fieldCache.slot('liquidationProbability', { windowMs: 1_000 });
    fieldCache.slot('liquidationProbability', { windowMs: 2_000 });
    fieldCache.slot('liquidationProbability', { windowMs: 1_000 });
    expect(fieldCache.slots.length).toBe(3);
  });
});

describe('words', () => {
  const words = (spec: ConditionSpec, ...facts: readonly (readonly [string, FieldQuantity])[]): string => {
    const reader = new Facts();
    const condition = compileCondition(spec, reader);
    const latches = new Uint8Array(condition.latchCount);
    for (const [field, value] of facts) {
      reader.values.set(field, value);
      condition.judge(latches);
    }
    return conditionWords(condition.tree, reader, latches);
  };
  const near = below('liquidationDistance', 0.05, 0.07);

  test.each([
    [near, [['liquidationDistance', known(0.041)]], 'distance to liquidation is 4.1 %, below 5 %'],
    [near, [['liquidationDistance', known(0.06)]], 'distance to liquidation is 6 %, not below 5 %'],
    [
      near,
      [
        ['liquidationDistance', known(0.04)],
        ['liquidationDistance', known(0.06)],
      ],
      'distance to liquidation is 6 %, after it was below 5 %, and not yet above 7 %',
    ],
    [near, [['liquidationDistance', U]], 'distance to liquidation is unknown: the exchange did not say it'],
    [near, [['liquidationDistance', NONE]], 'distance to liquidation is unlimited, not below 5 %'],
    [
      { kind: 'any', conditions: [above('marginUsage', 0.8), above('size', 1)] },
      [
        ['marginUsage', known(0.7)],
        ['size', known(12_345.678)],
      ],
      'size is 12345.68, above 1',
    ],
    [
      {
        kind: 'not',
        condition: { kind: 'all', conditions: [above('marginUsage', 0.8), above('ageSeconds', 60)] },
      },
      [
        ['marginUsage', known(0.7)],
        ['ageSeconds', known(61)],
      ],
      'margin usage is 70 %, not above 80 %',
    ],
    [above('size', 10), [['size', atLeast(4)]], 'size is at least 4, which may or may not be above 10'],
  ] as const)('%#: %3$s', (spec, facts, expected) => {
    expect(words(spec, ...facts)).toBe(expected);
  });
});
