import { z } from 'zod';
import { type DecimalString, isDecimalString } from '../quantities/decimal.ts';

// Common parts of schemas. A schema is the one definition of a thing: its type is inferred, and the description of the API
// is generated from it. Values that never left the process are not parsed with it.

/** What a schema describes. Immutable: it is made anew and serialised, never changed. */
export type OutputOf<S extends z.ZodType> = Immutable<z.output<S>>;

export type Immutable<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : { readonly [K in keyof T]: Immutable<T[K]> };

/** A union with one member for each kind, by the other members that it has. */
export type Kinds<T> = { [K in keyof T]: Readonly<{ kind: K } & T[K]> }[keyof T];

/**
 * A strict object schema with a name in the description of the API. Its keys are built on first use: replies are not
 * validated, only described.
 */
export const named = <S extends z.ZodRawShape>(
  meta: string | { id: string; description: string },
  shape: () => S,
): z.ZodObject<S, z.core.$strict> => {
  let made: S | undefined;
  const schema = new z.ZodObject({
    type: 'object',
    get shape() {
      return (made ??= shape());
    },
    catchall: NO_MORE,
  }) as unknown as z.ZodObject<S, z.core.$strict>;
  return schema.meta(typeof meta === 'string' ? { id: meta } : meta);
};

const NO_MORE = z.never();

/** Within the range of a `Date`, so that it can be written, and not before 1970. */
export const timeMs = () =>
  z
    .number()
    .int()
    .refine((unixMs) => unixMs >= 0 && unixMs <= 8.64e15)
    .describe('Unix milliseconds.');
export const decimal = (): z.ZodType<DecimalString> =>
  z.string().regex(/^-?\d+(\.\d+)?$/) as unknown as z.ZodType<DecimalString>;
/** A decimal as it is stored and queued: in any form that the exchange writes. */
export const decimalText = z.custom<DecimalString>(
  (value) => typeof value === 'string' && isDecimalString(value),
  'expected a decimal number as a text',
);
/** A number that may be unknown (null), or of which there may be none. */
export const figure = () =>
  z.union([z.number(), z.literal('none'), z.null()]).describe('null: unknown; `none`: there is none.');
