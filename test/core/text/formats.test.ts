import { describe, expect, test } from 'vitest';
import {
  configPercent,
  counted,
  exactPercent,
  exactSpan,
  grouped,
  moneyText,
  percent,
  price,
  signedPercent,
  span,
  utcClock,
  utcMinute,
  utcTime,
} from '../../../src/core/text/formats.ts';

describe('figures', () => {
  test.each([
    [0.0412, '4.1 %'],
    [0.00724, '0.72 %'],
    [0.7128, '71.3 %'],
    [-0.12, '-12.0 %'],
    [-0.000001, '0.00 %'],
    [0, '0.0 %'],
  ])('the measured fraction %d', (fraction, text) => {
    expect(percent(fraction)).toBe(text);
    expect(signedPercent(fraction)).toBe(fraction > 0 ? `+${text}` : text);
  });

  test.each([
    [0.05, '5'],
    [0.07, '7'],
    [0.0025, '0.25'],
    [1, '100'],
    [-0.2, '-20'],
    [0.00000001, '0.000001'],
  ])('the fraction %d as it was set', (fraction, digits) => {
    expect(exactPercent(fraction)).toBe(`${digits} %`);
    expect(configPercent(fraction)).toBe(`${digits}%`);
  });

  test.each([
    [0, '0'],
    [0.00213, '0.0021'],
    [0.5, '0.50'],
    [-12.345, '-12.35'],
    [99.99, '99.99'],
    [9_999.5, '10,000'],
    [1_234_567.8, '1,234,568'],
    [-0.001, '-0.001'],
  ])('the sum %d', (amount, text) => expect(moneyText(amount)).toBe(text));

  test.each([
    [60_012.4, '60,012'],
    [12.345, '12.35'],
    [0.51234, '0.5123'],
    [0.0000123, '0.00001230'],
  ])('the price %d', (value, text) => expect(price(value)).toBe(text));

  test('thousands are set apart in the whole part only', () => {
    expect(grouped('1234567.1234567')).toBe('1,234,567.1234567');
    expect(grouped(-1_000)).toBe('-1,000');
    expect([counted(1, 'order'), counted(0, 'order'), counted(1_200, 'order')]).toEqual([
      '1 order',
      '0 orders',
      '1,200 orders',
    ]);
  });
});

describe('times', () => {
  test.each([
    [0, '0.0 s'],
    [840, '0.8 s'],
    [9_949, '9.9 s'],
    [9_950, '10 s'],
    [59_499, '59 s'],
    [59_500, '1 min'],
    [200_400, '3 min 20 s'],
    [3_599_700, '1 h'],
    [7_510_000, '2 h 5 min'],
    [47 * 3_600_000, '47 h'],
    [76 * 3_600_000, '3 days 4 h'],
    [-5, '0.0 s'],
  ])('%d ms that passed', (ms, text) => expect(span(ms)).toBe(text));

  test.each([
    [0, '0 s'],
    [250, '250 ms'],
    [5_400_000, '1 h 30 min'],
    [86_400_000, '24 h'],
    [7 * 86_400_000, '7 days'],
    [90_061_001, '25 h 1 min 1 s 1 ms'],
  ])('%d ms that a person set', (ms, text) => expect(exactSpan(ms)).toBe(text));

  test('moments are in UTC, and no number is an error', () => {
    const atMs = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
    expect([utcTime(atMs), utcMinute(atMs), utcClock(atMs)]).toEqual([
      '2026-01-31 23:59:59 UTC',
      '2026-01-31 23:59',
      '23:59:59',
    ]);
    for (const no of [Number.NaN, Number.POSITIVE_INFINITY, 1e300]) expect(utcMinute(no)).toBe('at no date');
  });
});
