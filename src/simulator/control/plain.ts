import { type Decimal, formatDecimal } from '../../core/quantities/decimal.ts';

/** The same value as plain JSON data, with every decimal as text in plain notation. */
export function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isDecimal(value)) return formatDecimal(value);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

function isDecimal(value: object): value is Decimal {
  return 'toFixed' in value && typeof value.toFixed === 'function' && 'c' in value && 'e' in value;
}
