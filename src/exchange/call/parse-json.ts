import { NumberText } from '../../core/ports/exchange-fields.ts';

const BYTE_ORDER_MARK = /^\uFEFF/;

/** Parses a reply, perhaps behind a byte order mark; `undefined` when it is not JSON. */
export function parseJson(
  text: string,
  reviver?: typeof keepDigits,
): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text.replace(BYTE_ORDER_MARK, ''), reviver) as unknown };
  } catch {
    // Not JSON, or nested so deeply that the reviver runs out of stack.
    return undefined;
  }
}

/** Like `parseJson`, with every number as a `NumberText`: several times slower, so only for replies that need it. */
export const parseJsonKeepingDigits = (text: string) => parseJson(text, keepDigits);

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? new NumberText(context.source) : value;
}

/** Whether a value is a JSON object: not an array, null or `NumberText`. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText)
  );
}

/** Describes the shape of a value, never the value itself, for reports of replies that were not as documented. */
export function shapeOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `array of ${value.length}`;
  if (value instanceof NumberText) return 'number';
  if (typeof value === 'string') return value === '' ? 'empty string' : `string of ${value.length}`;
  return typeof value;
}
