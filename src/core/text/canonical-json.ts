import type { Conceal } from '../redaction/conceal.ts';

/**
 * JSON with sorted keys (RFC 8785): equal data give equal bytes, for hashes and checksums. `undefined` is omitted;
 * strings and keys pass through `redact`.
 * @throws TypeError for values that JSON cannot represent, since a record without a figure proves nothing
 */
export function canonicalJson(value: unknown, redact: Conceal = (text) => text): string {
  return write(value, redact, (keys) => keys.sort());
}

/** The same with keys in insertion order, on which a computation may depend. */
export function orderedJson(value: unknown, redact: Conceal = (text) => text): string {
  return write(value, redact, (keys) => keys);
}

function write(value: unknown, redact: Conceal, arrange: (keys: string[]) => string[]): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(redact(value));
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${value} cannot be written as JSON`);
    return JSON.stringify(value);
  }
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} cannot be written as JSON`);
  if (Array.isArray(value)) {
    return `[${value.map((entry: unknown) => write(entry, redact, arrange)).join(',')}]`;
  }
  const object = value as Readonly<Record<string, unknown>>;
  const parts: string[] = [];
  for (const key of arrange(Object.keys(object))) {
    const entry = object[key];
    if (entry !== undefined) parts.push(`${JSON.stringify(redact(key))}:${write(entry, redact, arrange)}`);
  }
  return `{${parts.join(',')}}`;
}
