import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concealer, currentConcealer, REDACTED } from '../../../src/core/redaction/conceal.ts';
import { runsOf } from '../../support/slice.ts';

/** What the pass over the text has to come to, the slow way: every place that lies within some value is hidden. */
function slowly(text: string, values: readonly string[]): string {
  const spans: [number, number][] = [];
  for (const value of values) {
    if (value.length < 6) continue;
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1))
      spans.push([at, at + value.length]);
  }
  spans.sort(([a], [b]) => a - b);
  const merged: [number, number][] = [];
  for (const [from, to] of spans) {
    const before = merged.at(-1);
    if (before !== undefined && from < before[1]) before[1] = Math.max(before[1], to);
    else merged.push([from, to]);
  }
  let shown = '';
  let shownTo = 0;
  for (const [from, to] of merged) {
    shown += text.slice(shownTo, from) + REDACTED;
    shownTo = to;
  }
  return shown + text.slice(shownTo);
}

describe('values that must not be shown', () => {
  // Few different characters: values overlap, repeat and begin with one another.
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '\\'), minLength: 0, maxLength: 12 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\\'), maxLength: 60 });

  test('every one of them is hidden, those that overlap as one', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), text, (values, given) => {
        expect(concealer(values)(given)).toBe(slowly(given, values));
      }),
      { numRuns: runsOf(3_000) },
    );
  });

  test('those that begin alike are told apart: of two that match at a place the longer one is hidden', () => {
    const ending = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 5 });
    const values = fc.array(
      ending.map((end) => `secret${end}`),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(values, fc.array(ending, { minLength: 1, maxLength: 4 }), (known, ends) => {
        const given = ends.map((end) => `secret${end}`).join(' ');
        expect(concealer(known)(given)).toBe(slowly(given, known));
      }),
    );
  });

  test('one that is all of the text is hidden; one of five letters is not, whatever they are', () => {
    expect(concealer(['uvwxyz'])('uvwxyz')).toBe(REDACTED);
    expect(concealer(['\0\0\0\0\0'])('\0\0\0\0\0\0')).toBe('\0\0\0\0\0\0');
  });

  test('are only looked through again when there are others', () => {
    let looks = 0;
    const list = (...entries: readonly string[]): readonly string[] =>
      Object.assign([...entries], {
        *[Symbol.iterator]() {
          looks += 1;
          yield* entries;
        },
      });
    let secrets = list('first-one');
    const conceal = currentConcealer(() => secrets);
    expect([conceal('first-one'), conceal('first-one'), conceal('second-one')]).toEqual([
      REDACTED,
      REDACTED,
      'second-one',
    ]);
    secrets = list('second-one');
    expect([conceal('first-one'), conceal('second-one')]).toEqual(['first-one', REDACTED]);
    expect(looks).toBe(2);
  });

  test('whatever characters they are made of, wherever they stand', () => {
    const any = fc.string({ unit: 'binary', minLength: 6, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(any, { minLength: 1 }), fc.string(), fc.string(), (values, before, after) => {
        const given = before + values.join(after) + after;
        expect(concealer(values)(given)).toBe(slowly(given, values));
      }),
    );
  });

  test('among thousands of them the one that occurs is found, and a text without any stays the same', () => {
    const values = Array.from({ length: 5_000 }, (_, index) => `secret-number-${index}-of-many`);
    const conceal = concealer(values);
    expect(conceal('said secret-number-4999-of-many twice: secret-number-4999-of-many')).toBe(
      'said [redacted] twice: [redacted]',
    );
    expect(conceal('secret-number-5000-of-many')).toBe('secret-number-5000-of-many');
    expect(conceal('short')).toBe('short');
  });
});
