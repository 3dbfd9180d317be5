import { findField, type NumberField } from '../../core/fields/field-catalogue.ts';
import type { ConditionSpec, RuleSpec, SubjectKind } from '../../core/rules/rule.ts';
import { durationInWords, valueInWords } from '../shape/units.ts';

/** An oddity of a comparison: it can never hold, always holds, or clears on the wrong side. */
export interface Oddity {
  readonly code: 'never-fires' | 'always-fires' | 'clear-on-wrong-side';
  readonly message: string;
}

type FieldCondition = Extract<ConditionSpec, { kind: 'field' }>;

export function oddities(on: SubjectKind, condition: FieldCondition): readonly Oddity[] {
  const field = findField(on, condition.field);
  if (field?.type !== 'number') return [];
  const { comparison } = condition;
  if (comparison.op === 'equals') return equalsOddities(field, [comparison.value]);
  if (comparison.op === 'in') return equalsOddities(field, comparison.values);
  const isBelow = comparison.op === 'below';
  const [clearName, clear] = isBelow
    ? (['clearAbove', comparison.clearAbove] as const)
    : (['clearBelow', comparison.clearBelow] as const);
  return [
    ...thresholdOddities(field, comparison.op, comparison.threshold),
    ...(clear === undefined ? [] : clearOddities(field, clearName, clear, comparison.threshold)),
  ];
}

function thresholdOddities(field: NumberField, op: 'below' | 'above', threshold: number): readonly Oddity[] {
  const odd = (is: 'never' | 'always', bound: string): readonly Oddity[] => [
    {
      code: `${is}-fires`,
      message: `expected ${op} to be ${bound}, got ${valueInWords(field, threshold)}: ${field.name} ${is} is, so this ${is === 'never' ? 'can never hold' : 'always holds'}`,
    },
  ];
  const { minimum = -Infinity, maximum = Infinity } = field;
  if (op === 'above') {
    if (threshold >= maximum) return odd('never', `below ${valueInWords(field, maximum)}`);
    return threshold < minimum ? odd('always', `at least ${valueInWords(field, minimum)}`) : [];
  }
  if (threshold <= minimum) return odd('never', `above ${valueInWords(field, minimum)}`);
  // The price of a long position cannot fall by more than 100 %.
  const largest = field.name === 'liquidationDistance' ? Math.min(maximum, 1) : maximum;
  if (threshold <= largest) return [];
  return odd('always', `at most ${largest === maximum ? valueInWords(field, maximum) : '100 %'}`);
}

function clearOddities(
  field: NumberField,
  name: 'clearAbove' | 'clearBelow',
  clear: number,
  threshold: number,
): readonly Oddity[] {
  const [op, isWrong, least, bound, side] =
    name === 'clearAbove'
      ? (['below', clear < threshold, 'at least', field.maximum, 'below'] as const)
      : (['above', clear > threshold, 'at most', field.minimum, 'above'] as const);
  const wrongSide = (expected: string, why: string): readonly Oddity[] => [
    {
      code: 'clear-on-wrong-side',
      message: `expected ${name} to be ${expected}, got ${valueInWords(field, clear)}: ${why}`,
    },
  ];
  if (isWrong)
    return wrongSide(`${least} ${valueInWords(field, threshold)} (${op})`, 'it clears while it still fires');
  const clears = bound === undefined || (op === 'below' ? clear < bound : clear > bound);
  return clears ? [] : wrongSide(`${side} ${valueInWords(field, bound)}`, 'it would never clear');
}

function equalsOddities(field: NumberField, values: readonly unknown[]): readonly Oddity[] {
  if (field.unit !== 'count' && !values.every((value) => value === 0)) {
    return neverEquals(field, 'below or above for a measured number', 'an exact value');
  }
  const outside = values.find(
    (value) =>
      typeof value === 'number' &&
      (value < (field.minimum ?? -Infinity) ||
        value > (field.maximum ?? Infinity) ||
        !Number.isInteger(value)),
  );
  return typeof outside === 'number'
    ? neverEquals(field, 'a possible value', valueInWords(field, outside))
    : [];
}

function neverEquals(field: NumberField, expected: string, got: string): readonly Oddity[] {
  const message = `expected ${expected}, got ${got}: ${field.name} never is, so this can never hold`;
  return [{ code: 'never-fires', message }];
}

/** Finds pairs in an `all` that exclude each other: below 5 % and above 10 %. */
export function contradictions(condition: RuleSpec['when']): readonly Oddity[] {
  return inEachAll(condition, (parts) => {
    const fields = parts.filter((part) => part.kind === 'field');
    return fields.flatMap((low) =>
      fields.flatMap((high): readonly Oddity[] => {
        if (low.comparison.op !== 'above' || high.comparison.op !== 'below' || low.field !== high.field)
          return [];
        if (JSON.stringify(low.parameter) !== JSON.stringify(high.parameter)) return [];
        if (low.comparison.threshold < high.comparison.threshold) return [];
        const message = `expected conditions on ${low.field} that can hold at once, got one above a value that the other is below of: this can never hold`;
        return [{ code: 'never-fires', message }];
      }),
    );
  });
}

/** Applies `judge` to the parts of each `all`, outer ones first. */
function inEachAll(
  condition: ConditionSpec,
  judge: (parts: readonly ConditionSpec[]) => readonly Oddity[],
): readonly Oddity[] {
  if (condition.kind === 'field') return [];
  if (condition.kind === 'not') return inEachAll(condition.condition, judge);
  const inner = condition.conditions.flatMap((part) => inEachAll(part, judge));
  return condition.kind === 'any' ? inner : [...judge(condition.conditions), ...inner];
}

/**
 * Finds a `dataAge` threshold of at least `maxSnapshotAge` in an `all` with another field: by then that field is
 * unknown, so the rule that should detect stale data cannot fire.
 */
export function blindAlleys(
  { on, when }: Pick<RuleSpec, 'on' | 'when'>,
  maxSnapshotAgeMs: number,
): readonly Oddity[] {
  return inEachAll(when, (parts) =>
    parts.flatMap((part): readonly Oddity[] => {
      if (part.kind !== 'field' || part.field !== 'dataAge' || part.comparison.op !== 'above') return [];
      if (part.comparison.threshold * 1000 < maxSnapshotAgeMs) return [];
      const stale = part.parameter?.source;
      const lost = parts.map((other) => unknownWithout(on, other, stale)).find((name) => name !== undefined);
      if (lost === undefined) return [];
      const message = `expected dataAge in a rule of its own, got it in an "all" with ${lost}, which is unknown once the data are older than acting.maxSnapshotAge (${durationInWords(maxSnapshotAgeMs)}): this can never hold when it should`;
      return [{ code: 'never-fires', message }];
    }),
  );
}

/** Returns a field that makes a condition unknown while a source (without `stale`: any) is too old; undefined: none. */
function unknownWithout(
  on: SubjectKind,
  condition: ConditionSpec,
  stale: string | undefined,
): string | undefined {
  if (condition.kind === 'not') return unknownWithout(on, condition.condition, stale);
  if (condition.kind === 'field') {
    const source = condition.parameter?.source ?? findField(on, condition.field)?.source ?? 'state';
    const isRead = condition.field !== 'dataAge' && source !== 'state';
    return isRead && (stale === undefined || stale === source) ? condition.field : undefined;
  }
  const lost = condition.conditions.map((part) => unknownWithout(on, part, stale));
  const decided = condition.kind === 'any' && lost.includes(undefined);
  return decided ? undefined : lost.find((name) => name !== undefined);
}
