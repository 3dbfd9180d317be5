import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concealer, currentConcealer, REDACTED } from '../../../src/core/redaction/conceal.ts';
import { runsOf } from '../../support/slice.ts';

/** The slow reference: hides every place that lies within some value. */
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

describe('concealed values', () => {
  // Few different characters, so that values overlap, repeat and share prefixes.
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '\\'), minLength: 0, maxLength: 12 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\\'), maxLength: 60 });

  test('every value is hidden, overlapping ones as one', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), text, (values, given) => {
        expect(concealer(values)(given)).toBe(slowly(given, values));
      }),
      { numRuns: runsOf(3_000) },
    );
  });

  test('of two values that match at the same place the longer one is hidden', () => {
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

  test('a value that is the whole text is hidden; one of five characters is not', () => {
    expect(concealer(['uvwxyz'])('uvwxyz')).toBe(REDACTED);
    expect(concealer(['\0\0\0\0\0'])('\0\0\0\0\0\0')).toBe('\0\0\0\0\0\0');
  });

  test('the list of values is read again only when it has changed', () => {
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

  test('values of any characters are hidden anywhere in the text', () => {
    const any = fc.string({ unit: 'binary', minLength: 6, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(any, { minLength: 1 }), fc.string(), fc.string(), (values, before, after) => {
        const given = before + values.join(after) + after;
        expect(concealer(values)(given)).toBe(slowly(given, values));
      }),
    );
  });

  test('one value among thousands is found, and a text without any is unchanged', () => {
    const values = Array.from({ length: 5_000 }, (_, index) => `secret-number-${index}-of-many`);
    const conceal = concealer(values);
    expect(conceal('said secret-number-4999-of-many twice: secret-number-4999-of-many')).toBe(
      'said [redacted] twice: [redacted]',
    );
    expect(conceal('secret-number-5000-of-many')).toBe('secret-number-5000-of-many');
    expect(conceal('short')).toBe('short');
  });
});
