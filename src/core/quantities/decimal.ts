import { Big as BigFactory } from 'big.js';

/**
 * Exact decimals: the only arithmetic for order values. Only `divide` rounds, to an explicit precision. An interface
 * and not an alias, so that declaration files can name it.
 */
export interface Decimal extends BigFactory {}

declare const decimalText: unique symbol;

/** Tells `DecimalString` from other strings, for the compiler only. Named, so that declaration files can state it. */
export interface DecimalMark {
  readonly [decimalText]: true;
}

/** A decimal as the exchange wrote it: `"0.10"` stays `"0.10"`. The type guarantees that `parseDecimal` accepts it. */
export type DecimalString = string & DecimalMark;

/** Rounding direction: towards zero, away from zero, or to nearest with ties away from zero. */
export type Rounding = 'down' | 'up' | 'halfUp';

const ROUNDING_MODE: Record<Rounding, 0 | 1 | 3> = { down: 0, halfUp: 1, up: 3 };

/** Limits that keep arithmetic on hostile input cheap; no real amount or price comes near them. */
const MAX_DIGITS = 60;
const DECIMAL_SYNTAX = /^-?(\d{1,60})(?:\.(\d{1,60}))?(?:[eE]([+-]?(?:[0-5]?\d|60)))?$/;

const StrictBig = BigFactory();
StrictBig.strict = true;
StrictBig.DP = MAX_DIGITS;
StrictBig.RM = ROUNDING_MODE.halfUp;

export const ZERO: Decimal = new StrictBig('0');
export const ONE: Decimal = new StrictBig('1');

/** True if a text is a decimal within limits: at most 60 digits on each side, exponent at most 60. */
export function isDecimalString(text: string): text is DecimalString {
  return DECIMAL_SYNTAX.test(text);
}

/** Parses an external decimal; `undefined` if it is not one. Never rounds or guesses. */
export function parseDecimal(text: string): Decimal | undefined {
  return isDecimalString(text) ? toDecimal(text) : undefined;
}

export function toDecimal(text: DecimalString): Decimal {
  return new StrictBig(text);
}

/**
 * A decimal literal of the source code.
 * @throws TypeError if the text is no decimal
 */
export function decimal(literal: string): Decimal {
  const value = parseDecimal(literal);
  if (value === undefined) throw new TypeError(`not a decimal: ${JSON.stringify(literal)}`);
  return value;
}

/**
 * The shortest decimal of a finite double: for ratios from forecasts and config, never for amounts of the exchange.
 * @throws RangeError if the value is not finite
 */
export function decimalFromNumber(value: number): Decimal {
  if (!Number.isFinite(value)) throw new RangeError(`not a finite number: ${value}`);
  return new StrictBig(String(value));
}

/** Plain notation without exponent and without a negative zero, as the exchange expects it. */
export function formatDecimal(value: Decimal): DecimalString {
  return (value.eq(ZERO) ? '0' : value.toFixed()) as DecimalString;
}

/** The nearest double; only for comparing and displaying. */
export function toNumber(value: Decimal | DecimalString): number {
  return typeof value === 'string' ? Number(value) : Number(value.toFixed());
}

/**
 * `dividend / divisor` rounded to `decimalPlaces` digits after the point.
 * @throws RangeError if the divisor is zero
 */
export function divide(
  dividend: Decimal,
  divisor: Decimal,
  decimalPlaces: number,
  rounding: Rounding,
): Decimal {
  if (divisor.eq(ZERO)) throw new RangeError('division by zero');
  // Big reads both from its constructor; a separate constructor per division would cost ten times as much.
  StrictBig.DP = decimalPlaces;
  StrictBig.RM = ROUNDING_MODE[rounding];
  const quotient = dividend.div(divisor);
  StrictBig.DP = MAX_DIGITS;
  StrictBig.RM = ROUNDING_MODE.halfUp;
  return quotient;
}

/**
 * The multiple of `step` next to `value` in the given direction; `value` itself if it is one.
 * @throws RangeError if the step is not positive
 */
export function roundToStep(value: Decimal, step: Decimal, rounding: Rounding): Decimal {
  if (step.lte(ZERO)) throw new RangeError(`step must be positive, got ${step.toFixed()}`);
  const remainder = value.mod(step);
  if (remainder.eq(ZERO)) return value;
  const towardsZero = value.minus(remainder);
  const awayFromZero = value.lt(ZERO) ? towardsZero.minus(step) : towardsZero.plus(step);
  if (rounding === 'down') return towardsZero;
  if (rounding === 'up') return awayFromZero;
  return remainder.abs().times(TWO).gte(step) ? awayFromZero : towardsZero;
}

const TWO: Decimal = new StrictBig('2');

/** Digits after the point as written, including trailing zeros; bounds the error of a reported value. */
export function writtenDecimalPlaces(text: DecimalString): number {
  if (!text.includes('e') && !text.includes('E')) {
    const point = text.indexOf('.');
    return point < 0 ? 0 : text.length - point - 1;
  }
  const match = DECIMAL_SYNTAX.exec(text);
  return (match?.[2]?.length ?? 0) - Number(match?.[3] ?? 0);
}

export function minDecimal(a: Decimal, b: Decimal): Decimal {
  return a.lte(b) ? a : b;
}

export function maxDecimal(a: Decimal, b: Decimal): Decimal {
  return a.gte(b) ? a : b;
}
