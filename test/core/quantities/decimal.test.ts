import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decimal,
  decimalFromNumber,
  divide,
  formatDecimal,
  isDecimalString,
  parseDecimal,
  roundToStep,
  toNumber,
  writtenDecimalPlaces,
} from '../../../src/core/quantities/decimal.ts';

const plainDecimal = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.integer({ min: 0, max: 30 }))
  .map(([negative, coefficient, places]) => {
    const digits = coefficient.toString().padStart(places + 1, '0');
    const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
    return { text: negative ? `-${text}` : text, coefficient: negative ? -coefficient : coefficient, places };
  });

/** The value as an integer of 10^-30 units: exact arithmetic that shares no code with the library. */
const units = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const magnitude = BigInt(whole + fraction.padEnd(30, '0'));
  return text.startsWith('-') ? -magnitude : magnitude;
};

describe('decimals', () => {
  test('lose no digit by parsing, adding and formatting', () => {
    fc.assert(
      fc.property(plainDecimal, plainDecimal, (a, b) => {
        const x = decimal(a.text);
        const y = decimal(b.text);
        expect(units(formatDecimal(x))).toBe(units(a.text));
        expect(units(formatDecimal(x.plus(y)))).toBe(units(a.text) + units(b.text));
        expect(units(formatDecimal(x.minus(y)))).toBe(units(a.text) - units(b.text));
      }),
    );
  });

  test('round to the multiple of a step next to the value, on the side asked for', () => {
    fc.assert(
      fc.property(
        plainDecimal,
        fc.constantFrom('0.001', '0.1', '0.25', '1', '5', '0.00000001'),
        fc.constantFrom('down', 'up', 'halfUp'),
        (a, stepText, rounding) => {
          const value = decimal(a.text);
          const step = decimal(stepText);
          const rounded = roundToStep(value, step, rounding);
          expect(formatDecimal(rounded.mod(step))).toBe('0');
          expect(rounded.minus(value).abs().lt(step)).toBe(true);
          if (rounding === 'down') expect(rounded.abs().lte(value.abs())).toBe(true);
          if (rounding === 'up') expect(rounded.abs().gte(value.abs())).toBe(true);
          if (rounding === 'halfUp') {
            expect(rounded.minus(value).abs().times(decimal('2')).lte(step)).toBe(true);
          }
        },
      ),
    );
  });

  test.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '.5',
    '5.',
    '0x10',
    'NaN',
    'Infinity',
    '1e61',
    '1e999999',
    '1,5',
    '--1',
    `1${'0'.repeat(60)}`,
  ])('refuses %j', (text) => {
    expect(parseDecimal(text)).toBeUndefined();
  });

  test.each([
    ['1.50', 2],
    ['1', 0],
    ['1e-8', 8],
    ['1.5e-8', 9],
    ['0.000', 3],
  ])('%s is written with %i decimal places', (text, places) => {
    expect(isDecimalString(text) && writtenDecimalPlaces(text)).toBe(places);
  });

  test('divide with the given precision and direction, and not by zero', () => {
    expect(formatDecimal(divide(decimal('1'), decimal('3'), 4, 'up'))).toBe('0.3334');
    expect(formatDecimal(divide(decimal('1'), decimal('3'), 4, 'down'))).toBe('0.3333');
    expect(formatDecimal(divide(decimal('-1'), decimal('3'), 4, 'up'))).toBe('-0.3334');
    expect(() => divide(decimal('1'), decimal('0'), 4, 'up')).toThrow(RangeError);
  });

  test('throw for a step that is not positive', () => {
    expect(() => roundToStep(decimal('1'), decimal('0'), 'up')).toThrow(RangeError);
  });

  test('convert a double to its shortest decimal, and refuse non-finite ones', () => {
    expect(formatDecimal(decimalFromNumber(0.1))).toBe('0.1');
    expect(formatDecimal(decimalFromNumber(1e-9))).toBe('0.000000001');
    expect(() => decimalFromNumber(Number.NaN)).toThrow(RangeError);
    expect(toNumber(decimal('0.1'))).toBe(0.1);
  });

  test('have no negative zero', () => {
    expect(formatDecimal(decimal('-0.00'))).toBe('0');
  });
});

test('isDecimalString accepts exactly the texts of the right form within the bounds', () => {
  const form = /^-?[0-9]{1,60}([.][0-9]{1,60})?([eE][+-]?([0-5]?[0-9]|60))?$/;
  const odd = fc.constantFrom(
    '',
    '-',
    '.',
    '1.',
    '.5',
    '-.5',
    '1.2.3',
    '\u0661',
    '1\n',
    ' 1',
    '--1',
    '-0',
    '1e60',
    '1e61',
  );
  const long = fc
    .tuple(fc.nat(62), fc.nat(62))
    .map(([before, after]) => `${'1'.repeat(before)}.${'1'.repeat(after)}`);
  const short = fc.string({
    unit: fc.constantFrom('0', '7', '.', '-', 'e', 'E', '+', ' ', 'x'),
    maxLength: 7,
  });
  fc.assert(
    fc.property(fc.oneof(odd, long, short), (text) => {
      expect(isDecimalString(text)).toBe(form.test(text));
    }),
    { numRuns: 3_000 },
  );
});
