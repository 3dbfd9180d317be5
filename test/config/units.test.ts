import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  durationHint,
  durationInWords,
  parseDuration,
  parsePercent,
  percentInWords,
} from '../../src/config/shape/units.ts';
import { editDistance, meantOr, suggest } from '../../src/core/text/suggest.ts';

describe('durations', () => {
  test.each([
    ['3s', 3000],
    ['250ms', 250],
    ['1h30m', 5_400_000],
    ['1h 30m', 5_400_000],
    ['1.5s', 1500],
    ['2w1d', 1_296_000_000],
    ['0s', 0],
  ])('%s', (text, ms) => expect(parseDuration(text)).toBe(ms));

  test.each([
    '',
    '3',
    's',
    '30m1h',
    '1s1s',
    '-3s',
    '3 s s',
    '1e3s',
    '0.5ms',
    '3S',
    '999999w',
    '1h-30m',
    '٣s',
  ])('%j is refused', (text) => expect(parseDuration(text)).toBeUndefined());

  test('a long text gets no hint, as that would be as long', () => {
    expect(durationHint('11')).toBe('11s');
    expect(durationHint('1'.repeat(5_000))).toBeUndefined();
  });

  test('convert to words and back, for any number of milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 * 365 * 86_400_000 }), (ms) => {
        const short = durationInWords(ms)
          .replaceAll(/ days?/g, 'd')
          .replaceAll(' min', 'm')
          .replaceAll(' ', '');
        expect(parseDuration(short)).toBe(ms);
      }),
    );
  });
});

describe('percentages', () => {
  test.each([
    ['5%', 0.05, '5.0 %'],
    ['0.7%', 0.007, '0.7 %'],
    ['100 %', 1, '100 %'],
    ['-20%', -0.2, '-20.0 %'],
    ['0.25%', 0.0025, '0.25 %'],
    ['99.9%', 0.999, '99.9 %'],
  ])('%s', (text, fraction, words) => {
    expect(parsePercent(text)).toBe(fraction);
    expect(percentInWords(fraction)).toBe(words);
  });

  test('are the nearest doubles, for any digits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), (thousandths) => {
        const text = `${Math.trunc(thousandths / 1000)}.${String(thousandths % 1000).padStart(3, '0')}`;
        expect(parsePercent(`${text}%`)).toBe(Number(`${thousandths}e-5`));
      }),
    );
  });
});

describe('suggestions', () => {
  test.each([
    ['liquidationDistnace', 'liquidationDistance'],
    ['cooldwon', 'cooldown'],
    ['keepfiringfor', 'keepFiringFor'],
    ['xyz', undefined],
    ['', undefined],
  ])('%s', (written, meant) => {
    const known = ['liquidationDistance', 'cooldown', 'keepFiringFor'];
    expect(suggest(written, known)).toBe(meant);
    const words = meant === undefined ? 'There are three.' : `Did you mean ${meant}?`;
    expect(meantOr(written, known, 'There are three.')).toBe(words);
  });

  test('the distance is a metric up to swaps: symmetric, zero for equal texts only, one for one change', () => {
    const text = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(text, text, fc.nat(12), (a, b, at) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
        const place = Math.min(at, a.length);
        expect(editDistance(a, `${a.slice(0, place)}#${a.slice(place)}`)).toBe(1);
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
    expect(editDistance('ab', 'ba')).toBe(1);
  });
});
