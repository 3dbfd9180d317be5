import { expect, test } from 'vitest';
import { sectionPattern } from '../../src/config/handles.ts';
import { DURATION_PATTERN } from '../../src/config/shape/units.ts';
import { sliceOf } from '../support/slice.ts';
import { expressionsIn, worstText } from './expressions.ts';

const FOUND = ['src', 'workers'].map(expressionsIn);
const WRITTEN = FOUND.flatMap(({ written }) => written);

test.each([
  ['\\/+$', ''],
  ['#.*$', ''],
  ['\\s*\\n\\s*', 'g'],
  ['(\\w+:\\/\\/)[^/\\s@]+@', 'g'],
  ['\\B(?=(\\d{3})+$)', 'g'],
])('the search finds the worst case of %s', (source, flags) => {
  expect(worstText({ source, flags })).toBeDefined();
});

test('every expression of the project takes time in proportion to the text, on its worst case too', () => {
  expect(WRITTEN.length).toBeGreaterThan(150);
  const some = sliceOf(WRITTEN, 3, 'expressions');
  const slow = some.filter((written) => worstText(written) !== undefined);
  expect(slow.map(({ file, source }) => `${file}: ${source}`)).toEqual([]);
});

test('only known files build expressions from texts, in known ways', () => {
  expect(FOUND.flatMap(({ builders }) => builders)).toEqual([
    // Constants.
    'src/config/handles.ts',
    'src/config/shape/units.ts',
    // Constants; what an error says is cut short first.
    'src/core/orders/rejection.ts',
    // Alternatives of plain texts; the searched text is cut to 10,000 characters first.
    'src/core/redaction/foreign-words.ts',
  ]);
  expect(worstText({ source: sectionPattern('redis'), flags: 'gm' })).toBeUndefined();
  expect(worstText({ source: DURATION_PATTERN, flags: '' })).toBeUndefined();
});
