import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSameJson } from '../../../src/pipeline/act/same-json.ts';

const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(0, 1, '0', '', null, true, undefined),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b'), tie('value')),
  ),
})).value;

/** Members in one order; an undefined one in a list is written as null, but no document has such lists. */
function written(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (member === undefined || member === null || typeof member !== 'object') return member;
    if (Array.isArray(member)) return member.map((item: unknown) => item ?? 'nothing');
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

const withoutNull = (value: unknown): unknown =>
  Array.isArray(value) ? value.map((item) => withoutNull(item ?? 'nothing')) : value;

test('two values are the same where they are written alike', () => {
  let same = 0;
  fc.assert(
    fc.property(values, values, (one, other) => {
      const [a, b] = [withoutNull(one), withoutNull(other)];
      if (written(a) === written(b)) same += 1;
      expect(isSameJson(a, b)).toBe(written(a) === written(b));
      expect(isSameJson(a, structuredClone(a))).toBe(true);
    }),
    { numRuns: 3_000 },
  );
  expect(same).toBeGreaterThan(50);
});

test('a member that is undefined is none', () => {
  expect(isSameJson({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(isSameJson({ a: 1 }, { a: 1, b: undefined })).toBe(true);
  expect(isSameJson({ a: 1, b: null }, { a: 1 })).toBe(false);
  expect(isSameJson({ a: 1 }, { a: 1, b: 0 })).toBe(false);
});
