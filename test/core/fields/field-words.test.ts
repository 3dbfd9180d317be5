import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  FIELD_CATALOGUE,
  type FieldSpec,
  fieldsOf,
  findField,
} from '../../../src/core/fields/field-catalogue.ts';
import type { FieldQuantity } from '../../../src/core/fields/field-values.ts';
import {
  caseWords,
  fieldWords,
  figure,
  isForecast,
  oneOfWords,
  quantityWords,
  valueWords,
} from '../../../src/core/fields/field-words.ts';
import type { FieldParameter, FieldValue } from '../../../src/core/rules/rule.ts';

function parameterOf({ parameters }: FieldSpec): FieldParameter {
  const names = new Set(parameters.map(({ name }) => name));
  return {
    ...(names.has('asset') ? { asset: 'USDT' } : {}),
    ...(names.has('source') ? { source: 'creditLine' } : {}),
    ...(names.has('windowMs') ? { windowMs: 5_400_000 } : {}),
  };
}

function valuesOf(spec: FieldSpec): readonly FieldValue[] {
  if (spec.type === 'boolean') return [true, false];
  if (spec.type === 'enum') return spec.values;
  return spec.type === 'number' ? [0, 0.012_345_6, -1.5, 123_456.789, Number.POSITIVE_INFINITY] : ['x_y'];
}

function wordsOf(spec: FieldSpec): readonly string[] {
  const all: FieldQuantity[] = [];
  for (const value of valuesOf(spec)) {
    all.push({ kind: 'value', value });
    if (typeof value === 'number') all.push({ kind: 'atLeast', value }, { kind: 'atMost', value });
  }
  all.push({ kind: 'none' }, { kind: 'unknown', why: 'fieldMissing' });
  const cases = [true, false].map((value) => caseWords(spec, value) ?? '');
  return [
    `${spec.on}.${spec.name}${isForecast(spec) ? ' (a forecast)' : ''}: ${fieldWords(spec, parameterOf(spec))}`,
    `  ${JSON.stringify(spec)}`,
    `  ${all.map((quantity) => quantityWords(quantity, spec)).join('; ')}`,
    ...(spec.type === 'boolean' ? [`  ${cases.join(' / ')}`] : []),
  ];
}

test('the words of every field match the transcript', async () => {
  const file = path.join(import.meta.dirname, 'transcripts', 'fields.txt');
  await expect(`${FIELD_CATALOGUE.flatMap(wordsOf).join('\n')}\n`).toMatchFileSnapshot(file);
});

test('findField finds each field by its name and kind of subject', () => {
  for (const field of FIELD_CATALOGUE) {
    expect(findField(field.on, field.name)).toBe(field);
    expect(fieldsOf(field.on).filter(({ name }) => name === field.name)).toEqual([field]);
    if (field.type !== 'number') continue;
    expect(field.minimum ?? -Infinity).toBeLessThan(field.maximum ?? Infinity);
  }
  expect(findField('position', 'no such field')).toBeUndefined();
});

describe('words', () => {
  test.each([
    [0.041, 'ratio', '4.1 %'],
    [0.5, 'ratioPerHour', '50 % per hour'],
    [35, 'seconds', '35 s'],
    [120, 'minutes', '120 min'],
    [9_999.4, 'money', '9999'],
    [10_000.456, 'money', '10000.46'],
    [-10_000.456, 'money', '-10000.46'],
    [0.123_46, 'price', '0.1235'],
    [7, undefined, '7'],
    [Number.POSITIVE_INFINITY, 'ratio', 'infinite %'],
    [Number.NEGATIVE_INFINITY, 'count', '-Infinity'],
  ] as const)('%d of unit %s is %s', (value, unit, words) => {
    expect(figure(value, unit)).toBe(words);
  });

  test('of time windows use the largest whole unit', () => {
    const spec =
      findField('account', 'withdrawalCount') ??
      FIELD_CATALOGUE.find(({ parameters }) => parameters.length > 0);
    if (spec === undefined) throw new Error('a field with a window');
    const words = [7_200_000, 3_600_000, 5_400_000, 60_000, 61_000].map((windowMs) =>
      fieldWords(spec, { windowMs }),
    );
    expect(words.map((one) => one.replace(/.* in the last /, ''))).toEqual([
      '2 h',
      '1 h',
      '90 min',
      '1 min',
      '61 s',
    ]);
  });

  test("join lists, and turn the exchange's names into plain text", () => {
    expect([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(oneOfWords)).toEqual([
      '',
      'a',
      'a or b',
      'a, b or c',
    ]);
    const spec = { type: 'enum' } as FieldSpec;
    expect(['LONG', 'marginCall', 'IN_CLOSING'].map((value) => valueWords(value, spec))).toEqual([
      'LONG',
      'margin call',
      'IN CLOSING',
    ]);
    expect(valueWords('marginCall', { type: 'string' } as FieldSpec)).toBe('marginCall');
  });
});
