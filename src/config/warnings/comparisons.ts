import { findField, type NumberField } from '../../core/fields.ts';
import type { ConditionSpec, RuleSpec, SubjectKind } from '../../core/rule.ts';
import { valueInWords } from '../words/values.ts';

/** What is odd about one comparison: it can never hold, always holds, or never clears. */
export interface Oddity {
  readonly code: 'never-fires' | 'always-fires' | 'clear-on-wrong-side';
  readonly message: string;
}

type FieldCondition = Extract<ConditionSpec, { kind: 'field' }>;

export function oddities(on: SubjectKind, condition: FieldCondition): readonly Oddity[] {
  const field = findField(on, condition.field);
  if (field?.type !== 'number') return [];
  const { comparison } = condition;
  switch (comparison.op) {
    case 'below':
      return [...belowOddities(field, comparison.threshold), ...clearAboveOddities(field, comparison)];
    case 'above':
      return [...aboveOddities(field, comparison.threshold), ...clearBelowOddities(field, comparison)];
    case 'equals':
      return equalsOddities(field, [comparison.value]);
    case 'in':
      return equalsOddities(field, comparison.values);
  }
}

function never(field: NumberField, expected: string, got: string): Oddity {
  return {
    code: 'never-fires',
    message: `expected ${expected}, got ${got}: ${field.name} never is, so this can never hold`,
  };
}

function always(field: NumberField, expected: string, got: string): Oddity {
  return {
    code: 'always-fires',
    message: `expected ${expected}, got ${got}: ${field.name} always is, so this always holds`,
  };
}

function belowOddities(field: NumberField, threshold: number): readonly Oddity[] {
  const shown = (value: number): string => valueInWords(field, value);
  const { minimum, maximum } = field;
  if (minimum !== undefined && threshold <= minimum) {
    return [never(field, `below to be above ${shown(minimum)}`, shown(threshold))];
  }
  if (maximum !== undefined && threshold > maximum) {
    return [always(field, `below to be at most ${shown(maximum)}`, shown(threshold))];
  }
  // A long position's price cannot fall by more than all of it.
  if (field.name === 'liquidationDistance' && threshold > 1) {
    return [always(field, 'below to be at most 100 %', shown(threshold))];
  }
  return [];
}

function aboveOddities(field: NumberField, threshold: number): readonly Oddity[] {
  const shown = (value: number): string => valueInWords(field, value);
  const { minimum, maximum } = field;
  if (maximum !== undefined && threshold >= maximum) {
    return [never(field, `above to be below ${shown(maximum)}`, shown(threshold))];
  }
  if (minimum !== undefined && threshold < minimum) {
    return [always(field, `above to be at least ${shown(minimum)}`, shown(threshold))];
  }
  return [];
}

function clearAboveOddities(
  field: NumberField,
  { threshold, clearAbove }: { threshold: number; clearAbove?: number },
): readonly Oddity[] {
  if (clearAbove === undefined) return [];
  const shown = (value: number): string => valueInWords(field, value);
  if (clearAbove < threshold) {
    return [
      wrongSide(
        `clearAbove to be at least ${shown(threshold)} (below)`,
        `${shown(clearAbove)}: it clears while it still fires`,
      ),
    ];
  }
  const { maximum } = field;
  if (maximum === undefined || clearAbove < maximum) return [];
  return [
    wrongSide(`clearAbove to be below ${shown(maximum)}`, `${shown(clearAbove)}: it would never clear`),
  ];
}

function clearBelowOddities(
  field: NumberField,
  { threshold, clearBelow }: { threshold: number; clearBelow?: number },
): readonly Oddity[] {
  if (clearBelow === undefined) return [];
  const shown = (value: number): string => valueInWords(field, value);
  if (clearBelow > threshold) {
    return [
      wrongSide(
        `clearBelow to be at most ${shown(threshold)} (above)`,
        `${shown(clearBelow)}: it clears while it still fires`,
      ),
    ];
  }
  const { minimum } = field;
  if (minimum === undefined || clearBelow > minimum) return [];
  return [
    wrongSide(`clearBelow to be above ${shown(minimum)}`, `${shown(clearBelow)}: it would never clear`),
  ];
}

function wrongSide(expected: string, got: string): Oddity {
  return { code: 'clear-on-wrong-side', message: `expected ${expected}, got ${got}` };
}

function equalsOddities(field: NumberField, values: readonly unknown[]): readonly Oddity[] {
  if (field.unit !== 'count' && !values.every((value) => value === 0)) {
    return [never(field, 'below or above for a measured number', 'an exact value')];
  }
  const outside = values.find(
    (value) =>
      typeof value === 'number' &&
      (value < (field.minimum ?? -Infinity) ||
        value > (field.maximum ?? Infinity) ||
        !Number.isInteger(value)),
  );
  return typeof outside === 'number' ? [never(field, 'a possible value', valueInWords(field, outside))] : [];
}

/** Pairs in an `all` that exclude each other: below 5 % and above 10 %. */
export function contradictions(condition: RuleSpec['when']): readonly Oddity[] {
  if (condition.kind === 'field') return [];
  if (condition.kind === 'not') return contradictions(condition.condition);
  const inner = condition.conditions.flatMap(contradictions);
  if (condition.kind === 'any') return inner;
  const fields = condition.conditions.filter((part) => part.kind === 'field');
  const own = fields.flatMap((low) =>
    fields.flatMap((high): readonly Oddity[] => {
      if (low.comparison.op !== 'above' || high.comparison.op !== 'below' || low.field !== high.field)
        return [];
      if (JSON.stringify(low.parameter) !== JSON.stringify(high.parameter)) return [];
      if (low.comparison.threshold < high.comparison.threshold) return [];
      const message = `expected conditions on ${low.field} that can hold at once, got one above a value that the other is below of: this can never hold`;
      return [{ code: 'never-fires', message }];
    }),
  );
  return [...own, ...inner];
}
