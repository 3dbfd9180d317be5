import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clockWords, minuteWords, soonWords, timeWords } from '../../../src/core/text/time-words.ts';

const FIRST_MS = new Date(0).setUTCFullYear(0, 0, 1);
const LAST_MS = Date.UTC(9_999, 11, 31, 23, 59, 59, 999);

test('times are those of the calendar, leap years and centuries included', () => {
  const days = [
    [2000, 1, 29],
    [2100, 1, 28],
    [2100, 2, 1],
    [2024, 1, 29],
    [1969, 11, 31],
    [1, 0, 1],
  ] as const;
  const known = days.map(([year, month, day]) => new Date(0).setUTCFullYear(year, month, day) + 86_399_999);
  const check = (atMs: number): void => {
    const iso = new Date(atMs).toISOString();
    expect(timeWords(atMs)).toBe(`${iso.slice(0, 19).replace('T', ' ')} UTC`);
    expect(minuteWords(atMs)).toBe(`${iso.slice(0, 16).replace('T', ' ')} UTC`);
    expect(clockWords(atMs)).toBe(`${iso.slice(11, 19)} UTC`);
    expect(soonWords(atMs, atMs)).toBe(`${iso.slice(11, 16)} UTC`);
  };
  for (const atMs of known) check(atMs);
  fc.assert(
    fc.property(fc.double({ min: FIRST_MS, max: LAST_MS, noNaN: true }), (ms) => check(Math.floor(ms))),
  );
});
