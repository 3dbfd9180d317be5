import { expect, test } from 'vitest';
import { allPairs, coveringRows, type Fixed, pairsOf, rows } from './covering.ts';
import { FACTOR_NAMES, FACTORS, parseFixed, valuesOf } from './factors.ts';

test.each([1, 2, 77])('the covering rows of seed %i contain every pair of values of two factors', (seed) => {
  const missing = allPairs();
  const found = coveringRows(seed);
  for (const row of found) for (const pair of pairsOf(row)) missing.delete(pair);
  expect([...missing]).toEqual([]);
  // The two factors with the most values need at least this many; far more would not be a selection.
  const least = FACTORS.leverage.length * FACTORS.account.length;
  expect(found.length).toBeGreaterThanOrEqual(least);
  expect(found.length).toBeLessThan(2 * least);
});

test('counts the pairs that the values of two factors give', () => {
  let expected = 0;
  for (const [index, factor] of FACTOR_NAMES.entries()) {
    for (const other of FACTOR_NAMES.slice(index + 1))
      expected += valuesOf(factor).length * valuesOf(other).length;
  }
  expect(allPairs().size).toBe(expected);
});

test('a fixed value stands in every row, and its pairs are covered', () => {
  const fixed: Fixed = { latency: '3 s', cancels: 'refused' };
  const missing = allPairs(fixed);
  for (const row of coveringRows(1, fixed)) {
    expect(row).toMatchObject(fixed);
    for (const pair of pairsOf(row)) missing.delete(pair);
  }
  expect([...missing]).toEqual([]);
});

test('the same seed gives the same rows, another seed gives others, and random rows follow the covering ones', () => {
  const first = (seed: number): unknown => [...take(seed, 80)];
  expect(first(3)).toEqual(first(3));
  expect(first(3)).not.toEqual(first(4));
  expect(new Set([...take(3, 80)].map((row) => JSON.stringify(row))).size).toBe(80);
});

function* take(seed: number, count: number) {
  let left = count;
  for (const row of rows(seed)) {
    if (left-- === 0) return;
    yield row;
  }
}

test('--only accepts an existing value, and nothing else', () => {
  expect(parseFixed('latency=3 s')).toEqual(['latency', '3 s']);
  for (const text of ['latency=4 s', 'delay=3 s', 'latency', '=3 s', ''])
    expect(parseFixed(text)).toBeUndefined();
});
