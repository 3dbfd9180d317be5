import { z } from 'zod';
import { type DecimalString, isDecimalString } from '../quantities/decimal.ts';

/** Field types that check and convert in one pass over a reply. Issues say what was expected. */

/** A JSON number as written; `JSON.parse` alone would lose digits and trailing zeros. */
export class NumberText {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A value of an open enumeration: documented, or kept verbatim and marked as unknown. */
export type Enumerated<T extends string | number> =
  | { readonly known: true; readonly value: T }
  | { readonly known: false; readonly raw: string | number };

/** Makes a field type from a function that returns `undefined` for values it does not accept. */
function field<T>(expected: string, read: (value: unknown) => T | undefined) {
  return z.transform((value: unknown, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.issues.push({ code: 'custom', message: expected, input: value });
    return z.NEVER;
  });
}

/** Far longer than any real ticker, hash or memo. */
const MAX_TEXT = 2000;
const MAX_NAME = 100;
/** Year 5138 in Unix seconds; larger values are in milliseconds or microseconds. */
const MAX_TIME = 1e11;
const UNITS_PER_SECOND = [1, 1e3, 1e6];

/**
 * Specification 1, rule 4: a string. A JSON number is accepted only as a `NumberText`: a double may have lost digits,
 * so the reply has to be parsed again (see `readReply`).
 */
export function asDecimal(value: unknown): DecimalString | undefined {
  const text = value instanceof NumberText ? value.source : value;
  return typeof text === 'string' && isDecimalString(text) ? text : undefined;
}

const DECIMAL = 'a decimal string';

export const decimalField = field(DECIMAL, asDecimal);

const DIGITS = /^\d{1,40}$/;
/** Some servers use other ids than integers, such as UUIDs. */
const TEXT_ID = /^(?=.*\d)[A-Za-z0-9][\w.:-]{0,63}$/;

/** An id, as an integer or a text, kept as a text; an unsafe integer only as a `NumberText`. */
export function asId(value: unknown): string | undefined {
  // A double of zero may have been `1e-400`: the text decides.
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
  if (value instanceof NumberText) return DIGITS.test(value.source) ? value.source : undefined;
  return typeof value === 'string' && TEXT_ID.test(value) ? value : undefined;
}

export const idField = field('an id', asId);

/** Times and counts are doubles in records too. */
const toDouble = (value: unknown): unknown => (value instanceof NumberText ? Number(value.source) : value);

/** Unix seconds; a text of digits counts as a number. */
export function asTime(value: unknown): number | undefined {
  const time = typeof value === 'string' && isDecimalString(value) ? Number(value) : toDouble(value);
  if (typeof time !== 'number' || !(time >= 0)) return undefined;
  const units = UNITS_PER_SECOND.find((perSecond) => time < MAX_TIME * perSecond);
  return units === undefined ? undefined : time / units;
}

export const timeField = field('a Unix time in seconds', asTime);

/** Zero is no date: beside a real one it would name another position under the same id. */
export const dateField = field('a Unix time in seconds', (value) => asTime(value) || undefined);

export function asCount(value: unknown): number | undefined {
  const count = toDouble(value);
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

export const countField = field('a whole number', asCount);

const asText = (value: unknown) =>
  typeof value === 'string' && value.length <= MAX_TEXT ? value : undefined;

export const textField = field('a text', asText);

/** A market, ticker or asset: never empty. */
export const asName = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_NAME ? value : undefined;

export const nameField = field('a name', asName);

export const booleanField = field('true or false', (value) =>
  typeof value === 'boolean' ? value : undefined,
);

/** Reads a value of an open enumeration; an undocumented value is kept and marked. */
export type AsEnumerated<T extends string | number> = ((value: unknown) => Enumerated<T> | undefined) & {
  readonly documented: readonly string[];
};

export function asEnumerated<const T extends string | number>(
  documented: Readonly<Record<string | number, T>>,
): AsEnumerated<T> {
  const known = new Map<string, Enumerated<T>>(
    Object.entries(documented).map(([raw, value]) => [raw, Object.freeze({ known: true, value })]),
  );
  const read = (received: unknown): Enumerated<T> | undefined => {
    const raw = toDouble(received);
    const value = Number.isSafeInteger(raw) ? (raw as number) : asName(raw);
    if (value === undefined) return undefined;
    return known.get(String(value)) ?? { known: false, raw: value };
  };
  return Object.assign(read, { documented: [...known.keys()] });
}

const oneOf = ({ documented }: { readonly documented: readonly string[] }): string =>
  `one of ${documented.join(', ')}`;

export const enumeratedField = <T extends string | number>(read: AsEnumerated<T>) => field(oneOf(read), read);

export const enumeratedOrNone = <T extends string | number>(read: AsEnumerated<T>) =>
  orNone(oneOf(read), read);

const notANumber = field('an object', (value) => (value instanceof NumberText ? undefined : value));

/**
 * An object within a record. A `NumberText` would pass for an object without fields: a number in place of `tpsl` must
 * not read as "nothing attached".
 */
export const objectField = <T extends z.core.$ZodShape>(shape: T): z.ZodType<z.output<z.ZodObject<T>>> =>
  notANumber.pipe(z.object(shape));

/** Whether the exchange means "none": the live service writes an empty string where null is documented. */
export const isNone = (value: unknown): boolean => value === null || value === '';

/** A field that may mean "none", which is `null` in the record. */
const orNone = <T>(expected: string, read: (value: unknown) => T | undefined) =>
  field<T | null>(expected, (value) => (isNone(value) ? null : read(value)));

export const decimalOrNone = orNone(DECIMAL, asDecimal);
export const idOrNone = orNone('an id', asId);
export const textOrNone = orNone('a text', asText);

/** A field that may be absent, and then is absent in the record too. */
export const optional = z.exactOptional;
export const nullable = z.nullable;

/** A descriptive field: `null` means the same as absent. */
export const descriptive = <T extends z.ZodType>(type: T) => z.exactOptional(z.nullable(type));

type Given<T, Not> = { [K in keyof T]?: Exclude<T[K], Not> };

/** Copies the fields that are present; `null` counts as absent. */
export const present = <T extends object>(fields: T) =>
  defined(fields, (value) => value !== null) as Given<T, null | undefined>;

/** Copies the fields that are present, `null` among them. */
export function defined<T extends object>(fields: T, isGiven = (_value: unknown) => true) {
  const result: Partial<Record<keyof T, unknown>> = {};
  for (const key of Object.keys(fields) as (keyof T)[]) {
    if (fields[key] !== undefined && isGiven(fields[key])) result[key] = fields[key];
  }
  return result as Given<T, undefined>;
}
