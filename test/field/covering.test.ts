import { expect, test } from 'vitest';
import { allPairs, coveringRows, type Fixed, pairsOf, rows } from './covering.ts';
import { FACTOR_NAMES, FACTORS, parseFixed, valuesOf } from './factors.ts';

test.each([1, 2, 77])('the covering rows of seed %i have every pair of values of two factors', (seed) => {
  const missing = allPairs();
  const found = coveringRows(seed);
  for (const row of found) for (const pair of pairsOf(row)) missing.delete(pair);
  expect([...missing]).toEqual([]);
  // Two factors with the most values need this many at least; far more would be no selection.
  const least = FACTORS.leverage.length * FACTORS.latency.length;
  expect(found.length).toBeGreaterThanOrEqual(least);
  expect(found.length).toBeLessThan(2 * least);
});

test('there are as many pairs as the values of two factors give', () => {
  let expected = 0;
  for (const [index, factor] of FACTOR_NAMES.entries()) {
    for (const other of FACTOR_NAMES.slice(index + 1))
      expected += valuesOf(factor).length * valuesOf(other).length;
  }
  expect(allPairs().size).toBe(expected);
});

test('a value that is fixed stands in every row, and the pairs with it are covered', () => {
  const fixed: Fixed = { latency: '3 s', cancels: 'refused' };
  const missing = allPairs(fixed);
  for (const row of coveringRows(1, fixed)) {
    expect(row).toMatchObject(fixed);
    for (const pair of pairsOf(row)) missing.delete(pair);
  }
  expect([...missing]).toEqual([]);
});

test('the same seed gives the same rows, another one others, and chance goes on behind the covering ones', () => {
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

test('--only takes a value that there is, and nothing else', () => {
  expect(parseFixed('latency=3 s')).toEqual(['latency', '3 s']);
  for (const text of ['latency=4 s', 'delay=3 s', 'latency', '=3 s', ''])
    expect(parseFixed(text)).toBeUndefined();
});
