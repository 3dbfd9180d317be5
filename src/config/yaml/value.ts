import { quoted } from '../problem.ts';

declare const numberAsWritten: unique symbol;

/**
 * A number as written in the file. It keeps its digits, because steps and amounts must not become floats. It is a
 * symbol with the digits as description: a primitive, which no schema takes for a mapping, and which no other value in
 * a file can produce.
 */
export type WrittenNumber = symbol & { readonly [numberAsWritten]: true };

export function writtenNumber(text: string): WrittenNumber {
  return Symbol(text) as WrittenNumber;
}

/** Returns the digits of a written number; undefined for other values. */
export function digitsOf(value: unknown): string | undefined {
  return typeof value === 'symbol' ? value.description : undefined;
}

const MAX_SHOWN = 60;

/** Describes a value for an error message: short, and without anything that looks like a secret. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'an empty value';
  const digits = digitsOf(value);
  if (digits !== undefined) return digits.length > MAX_SHOWN ? 'a number with very many digits' : digits;
  if (typeof value === 'string') return describeText(value);
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping';
}

export function describeText(text: string): string {
  if (text.length > MAX_SHOWN || looksSecret(text)) {
    return `a text of ${text.length} characters (not repeated here)`;
  }
  return quoted(text);
}

/**
 * Reports whether a text could be a misplaced secret: a long run of letters and digits, credentials in an address, or a
 * word such as "secret" followed by a value.
 */
export function looksSecret(text: string): boolean {
  if (/:\/\/[^/\s]*@/.test(text)) return true;
  if (/(secret|password|passwd|token|api.?key)[^:=]{0,20}[:=]/i.test(text)) return true;
  const runs = text.match(/[A-Za-z0-9+/=_]{16,}/g) ?? [];
  return runs.some((run) => /\d/.test(run) && /[A-Za-z]/.test(run));
}
