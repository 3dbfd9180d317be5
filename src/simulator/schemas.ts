import { z } from 'zod';
import { type Decimal, isDecimalString, toDecimal, ZERO } from '../core/quantities/decimal.ts';

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

/** Makes every field optional. */
export function optional<S extends Readonly<Record<string, z.ZodType>>>(shape: S) {
  const fields = Object.entries(shape).map(([name, schema]) => [name, schema.exactOptional()]);
  return Object.fromEntries(fields) as { [Name in keyof S]: z.ZodExactOptional<S[Name]> };
}
