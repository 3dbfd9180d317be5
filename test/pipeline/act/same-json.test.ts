import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSameJson } from '../../../src/pipeline/act/same-json.ts';

const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(0, 1, '0', '', null, true, undefined),
    fc.array(
      tie('value').map((item) => item ?? 'nothing'),
      { maxLength: 2 },
    ),
    fc.dictionary(fc.constantFrom('a', 'b'), tie('value')),
  ),
})).value;

/** JSON with sorted members. No list holds `undefined`, which would be written as null: no document has such a list. */
function written(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

test('two values are the same if their JSON is, in any order of members', () => {
  let same = 0;
  fc.assert(
    fc.property(values, values, (a, b) => {
      if (written(a) === written(b)) same += 1;
      expect(isSameJson(a, b)).toBe(written(a) === written(b));
      expect(isSameJson(a, structuredClone(a))).toBe(true);
    }),
    { numRuns: 3_000 },
  );
  expect(same).toBeGreaterThan(50);
});

test('an undefined member counts as missing', () => {
  expect(isSameJson({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(isSameJson({ a: 1 }, { a: 1, b: undefined })).toBe(true);
  expect(isSameJson({ a: 1, b: null }, { a: 1 })).toBe(false);
  expect(isSameJson({ a: 1 }, { a: 1, b: 0 })).toBe(false);
});
