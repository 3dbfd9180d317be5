import { z } from 'zod';
import { type Decimal, formatDecimal, isDecimalString, toDecimal, ZERO } from '../core/quantities/decimal.ts';

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A decimal as text; numbers are refused, because they may already have lost digits. */
export const decimalText = z
  .string()
  .refine(isDecimalString, 'must be a decimal as a string, such as "0.5"')
  .transform((text): Decimal => toDecimal(text));
export const positiveDecimal = decimalText.refine((value) => value.gt(ZERO), 'must be greater than 0');
export const nonNegativeDecimal = decimalText.refine((value) => value.gte(ZERO), 'must not be less than 0');

export const milliseconds = z
  .number()
  .int()
  .min(0)
  .max(365 * 24 * 3_600_000);

/** A moment of exchange time. */
export const unixMilliseconds = z.number().int().min(0).max(8.64e15);

/** A number in a query string. */
export const wholeNumberText = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number);

export function optional<S extends Readonly<Record<string, z.ZodType>>>(shape: S) {
  const fields = Object.entries(shape).map(([name, schema]) => [name, schema.exactOptional()]);
  return Object.fromEntries(fields) as { [Name in keyof S]: z.ZodExactOptional<S[Name]> };
}

/** Plain JSON data: every decimal as text in plain notation, members that are undefined left out. */
export function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isDecimal(value)) return formatDecimal(value);
  if (Array.isArray(value)) return value.map(plain);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, plain(member)]));
}

function isDecimal(value: object): value is Decimal {
  return 'toFixed' in value && typeof value.toFixed === 'function' && 'c' in value && 'e' in value;
}
