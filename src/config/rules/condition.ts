import { z } from 'zod';
import {
  type EnumField,
  type FieldSpec,
  fieldsOf,
  type NumberField,
  type ParameterSpec,
} from '../../core/fields/field-catalogue.ts';
import type {
  Comparison,
  ConditionSpec,
  FieldParameter,
  FieldValue,
  SubjectKind,
} from '../../core/rules/rule.ts';
import { duration, flag, oneOf, type ScalarIssue, text, ticker } from '../shape/scalars.ts';
import { across, exactlyOne, list } from '../shape/shape.ts';
import { durationInWords } from '../shape/units.ts';
import { withoutUndefined } from './filter.ts';
import { threshold } from './threshold.ts';

/** Schema of conditions on one kind of subject: `all`, `any`, `not` and the fields of the catalogue, recursively. */
export function conditionSchema(on: SubjectKind): z.ZodType<ConditionSpec> {
  const known = SCHEMAS.get(on);
  if (known !== undefined) return known;
  const self: z.ZodType<ConditionSpec> = z
    .lazy(() => mapping)
    .meta({
      id: `${on}Condition`,
      description: 'What must hold: fields, `all`, `any`, `not`. Several keys in one mapping must all hold.',
    });
  SCHEMAS.set(on, self);
  const shape: Record<string, z.ZodType<ConditionSpec | undefined>> = {
    all: list(self, 1)
      .transform((conditions): ConditionSpec => ({ kind: 'all', conditions }))
      .exactOptional()
      .describe('Holds when every condition of the list holds.'),
    any: list(self, 1)
      .transform((conditions): ConditionSpec => ({ kind: 'any', conditions }))
      .exactOptional()
      .describe('Holds when at least one condition of the list holds.'),
    not: self
      .transform((condition): ConditionSpec => ({ kind: 'not', condition }))
      .exactOptional()
      .describe('Holds when the condition does not; unknown stays unknown.'),
  };
  for (const field of fieldsOf(on)) {
    shape[field.name] = fieldSchema(field).exactOptional().describe(field.description);
  }
  const mapping = across(z.strictObject(shape), (parts, isComplete) =>
    isComplete && Object.keys(parts).length === 0
      ? {
          expected: 'a condition such as { liquidationDistance: { below: 5% } }',
          got: 'an empty mapping',
        }
      : undefined,
  ).transform((parts): ConditionSpec => {
    const conditions = Object.values(parts).filter((part) => part !== undefined);
    const [first] = conditions;
    return first !== undefined && conditions.length === 1 ? first : { kind: 'all', conditions };
  });
  return self;
}

const SCHEMAS = new Map<SubjectKind, z.ZodType<ConditionSpec>>();

function fieldSchema(field: FieldSpec): z.ZodType<ConditionSpec> {
  const toSpec: ToSpec = (comparison, parameter) => ({
    kind: 'field',
    field: field.name,
    ...(parameter === undefined ? {} : { parameter }),
    comparison,
  });
  if (field.type === 'number') return numberSchema(field, toSpec);
  const keys = z.strictObject({
    get equals() {
      return plainValue(field).exactOptional().describe('Holds when the field has this value.');
    },
    get in() {
      return list(plainValue(field), 1)
        .exactOptional()
        .describe('Holds when the field has one of these values.');
    },
  });
  return withShorthand(
    across(keys, (written, isComplete) => exactlyOne(['equals', 'in'], written, isComplete)).transform(
      (written): ConditionSpec =>
        toSpec(
          written.equals === undefined
            ? { op: 'in', values: written.in ?? [] }
            : { op: 'equals', value: written.equals },
        ),
    ),
  );
}

/** `disagreement: true` is short for `disagreement: { equals: true }`. */
function withShorthand(full: z.ZodType<ConditionSpec>): z.ZodType<ConditionSpec> {
  const isMapping = (written: unknown): boolean =>
    typeof written === 'object' && written !== null && Object.getPrototypeOf(written) === null;
  return z
    .preprocess(
      (written) => (written === undefined || isMapping(written) ? written : { equals: written }),
      full,
    )
    .meta({ shorthand: 'equals' });
}

/** Builds the parameter keys of a field's mapping. Each is built when it is first used. */
function parameterShape(parameters: readonly ParameterSpec[]): Record<string, z.ZodType> {
  const shape: Record<string, z.ZodType> = {};
  for (const parameter of parameters) {
    Object.defineProperty(shape, PARAMETER_KEYS[parameter.name], {
      enumerable: true,
      get() {
        const schema = parameterSchema(parameter);
        return (parameter.required ? schema : schema.exactOptional()).describe(
          `${parameter.description[0]?.toUpperCase() ?? ''}${parameter.description.slice(1)}.`,
        );
      },
    });
  }
  return shape;
}

/** Names of the parameters in the file. Times are durations in the file and milliseconds in the rule. */
export const PARAMETER_KEYS = { asset: 'asset', source: 'source', windowMs: 'within' } as const;

function parameterSchema(parameter: ParameterSpec): z.ZodType {
  if (parameter.name === 'asset') return ticker();
  if (parameter.name === 'source') return oneOf(...(parameter.values ?? []));
  const { minimum = 1, maximum = Infinity } = parameter;
  const upTo = Number.isFinite(maximum) ? ` to ${durationInWords(maximum)}` : ' upwards';
  return duration({ minMs: minimum, maxMs: maximum, bounds: `from ${durationInWords(minimum)}${upTo}` });
}

type ToSpec = (comparison: Comparison, parameter?: FieldParameter) => ConditionSpec;

function numberSchema(field: NumberField, toSpec: ToSpec): z.ZodType<ConditionSpec> {
  const keys = z.strictObject(
    Object.defineProperties(
      parameterShape(field.parameters),
      Object.getOwnPropertyDescriptors(comparisonShape(field)),
    ) as ReturnType<typeof comparisonShape>,
  );
  return across(keys, comparisonIssue).transform((written): ConditionSpec => {
    const {
      asset,
      source,
      within: windowMs,
    } = written as { asset?: string; source?: string; within?: number };
    const parameter = withoutUndefined<FieldParameter>({ asset, source, windowMs });
    return toSpec(comparisonOf(written), Object.keys(parameter).length === 0 ? undefined : parameter);
  });
}

/** Builds the comparison keys of a field. A config uses few fields, so each key is built when it is first used. */
function comparisonShape(field: NumberField) {
  let made: z.ZodType<number> | undefined;
  const limit = (): z.ZodType<number> => (made ??= threshold(field));
  const optional = (description: string) => limit().exactOptional().describe(description);
  return {
    get below() {
      return optional('Fires strictly below this.');
    },
    get clearAbove() {
      return optional('With `below`: once true, stays true until strictly above this.');
    },
    get above() {
      return optional('Fires strictly above this.');
    },
    get clearBelow() {
      return optional('With `above`: once true, stays true until strictly below this.');
    },
    get equals() {
      return optional('Holds when the field is exactly this.');
    },
    get in() {
      return list(limit(), 1).exactOptional().describe('Holds when the field is exactly one of these.');
    },
  };
}

type WrittenComparison = z.output<z.ZodObject<ReturnType<typeof comparisonShape>>>;

const COMPARATORS = ['below', 'above', 'equals', 'in'] as const;

function comparisonIssue(written: WrittenComparison, isComplete: boolean): ScalarIssue | undefined {
  const { below, clearAbove, above, clearBelow } = written;
  const issue = exactlyOne(COMPARATORS, written, isComplete);
  const given = COMPARATORS.filter((name) => name in written);
  if (issue !== undefined) {
    return given.length === 0 ? issue : { ...issue, hint: 'two conditions in an all: list' };
  }
  if (clearAbove !== undefined && below === undefined) {
    return { expected: 'clearAbove together with below', got: `clearAbove with ${given.join('')}` };
  }
  if (clearBelow !== undefined && above === undefined) {
    return { expected: 'clearBelow together with above', got: `clearBelow with ${given.join('')}` };
  }
  return undefined;
}

function comparisonOf(written: WrittenComparison): Comparison {
  const { below, clearAbove, above, clearBelow, equals } = written;
  if (below !== undefined)
    return { op: 'below', threshold: below, ...(clearAbove === undefined ? {} : { clearAbove }) };
  if (above !== undefined)
    return { op: 'above', threshold: above, ...(clearBelow === undefined ? {} : { clearBelow }) };
  return equals === undefined ? { op: 'in', values: written.in ?? [] } : { op: 'equals', value: equals };
}

function plainValue(field: Exclude<FieldSpec, NumberField>): z.ZodType<FieldValue> {
  if (field.type === 'boolean') return flag();
  if (isEnum(field)) return oneOf(...field.values);
  return text({ expected: 'a text' });
}

function isEnum(field: FieldSpec): field is EnumField {
  return field.type === 'enum';
}
