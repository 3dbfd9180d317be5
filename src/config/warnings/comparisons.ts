import { findField, type NumberField } from '../../core/fields/field-catalogue.ts';
import type { ConditionSpec, RuleSpec, SubjectKind } from '../../core/rules/rule.ts';
import { durationInWords } from '../shape/units.ts';
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

/**
 * An age of data that is only reached when they are too old to decide, in an `all` with what is unknown by then:
 * the rule for blindness is blind itself.
 */
export function blindAlleys(
  { on, when }: Pick<RuleSpec, 'on' | 'when'>,
  maxSnapshotAgeMs: number,
): readonly Oddity[] {
  if (when.kind === 'field') return [];
  if (when.kind === 'not') return blindAlleys({ on, when: when.condition }, maxSnapshotAgeMs);
  const inner = when.conditions.flatMap((part) => blindAlleys({ on, when: part }, maxSnapshotAgeMs));
  if (when.kind === 'any') return inner;
  const own = when.conditions.flatMap((part): readonly Oddity[] => {
    if (part.kind !== 'field' || part.field !== 'dataAge' || part.comparison.op !== 'above') return [];
    if (part.comparison.threshold * 1000 < maxSnapshotAgeMs) return [];
    const stale = part.parameter?.source;
    const lost = when.conditions
      .map((other) => unknownWithout(on, other, stale))
      .find((name) => name !== undefined);
    if (lost === undefined) return [];
    const message = `expected dataAge in a rule of its own, got it in an "all" with ${lost}, which is unknown once the data are older than acting.maxSnapshotAge (${durationInWords(maxSnapshotAgeMs)}): this can never hold when it should`;
    return [{ code: 'never-fires', message }];
  });
  return [...own, ...inner];
}

/** The field that makes a condition unknown while a source (any, without a name) is too old; `undefined` if none does. */
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
