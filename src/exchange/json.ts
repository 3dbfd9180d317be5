/**
 * JSON as received, without losing digits: a number that a double cannot hold as written (`0.10`,
 * `12345678901234567890`, `1e-9`) becomes a `NumberText` with its source.
 */
export class NumberText {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/**
 * Finds numbers whose text a double may not give back: 17 digits or more, 16 beginning with 9, a zero at the
 * end of a fraction, an exponent, a negative zero. Only after `:`, `[` or `,`, so that the strings of a
 * usual reply are passed over; a false alarm costs time, nothing else.
 */
const RISKY_NUMBER =
  /(?:^|[:[,])\s*-?(?:(?:\d\.?){17}|9(?:\.?\d){15}|\d*\.\d*0(?!\d)|\d[\d.]*[eE]|(?<=-)0(?![.\d]))/;

/** Parses a reply; `undefined` when it is not JSON (or nested beyond reason). */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return {
      value: RISKY_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text),
    };
  } catch {
    return undefined;
  }
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  return String(value) === context.source ? value : new NumberText(context.source);
}

/** Whether a value is a JSON object: neither array nor null nor a number in disguise. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText)
  );
}

/** What a value is, never the value itself: for reports of replies that were not as documented. */
export function shapeOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `array of ${value.length}`;
  if (value instanceof NumberText) return 'number';
  if (typeof value === 'string') return value === '' ? 'empty string' : `string of ${value.length}`;
  return typeof value;
}
