import { REDACTED } from '../core/redaction/conceal.ts';
import type { Redactor } from '../core/redaction/redactor.ts';

const MAX_DEPTH = 8;
const MAX_ITEMS = 200;

const SECRET_KEY =
  /(?:secret|passw(?:or)?d|passphrase|token|authorization|cookie|signature|api[-_]?key|payload)$|^x-txc-/i;

/**
 * Copies a value as plain JSON data without secrets. Errors keep their causes; cycles are cut, and depth and length are
 * bounded. Never throws.
 */
export function loggedValue(value: unknown, { text }: Pick<Redactor, 'text'>): unknown {
  try {
    return copy(value, { text, seen: new Set() });
  } catch {
    return '[unreadable]';
  }
}

interface Copying {
  readonly text: (text: string) => string;
  /** The ancestors of the value; their number is the depth. */
  readonly seen: Set<object>;
}

function copy(value: unknown, context: Copying): unknown {
  if (typeof value === 'string') return context.text(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'symbol' || typeof value === 'function') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (context.seen.has(value)) return '[circular]';
  if (context.seen.size >= MAX_DEPTH) return '[...]';
  context.seen.add(value);
  try {
    return copyObject(value, context);
  } finally {
    context.seen.delete(value);
  }
}

function copyObject(value: object, context: Copying): unknown {
  if (value instanceof Error) return copyError(value, context);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => copy(item, context));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) {
    const entries = [...value].map(([key, item]): Item => [String(key), item]);
    return copyEntries(entries, context);
  }
  if (value instanceof Set) return [...value].slice(0, MAX_ITEMS).map((item) => copy(item, context));
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const plain: unknown = (value.toJSON as () => unknown)();
    if (plain !== value) return copy(plain, context);
  }
  return copyEntries(Object.entries(value), context);
}

type Item = readonly [key: string, value: unknown];

function copyEntries(entries: readonly Item[], context: Copying): object {
  const shown = entries.slice(0, MAX_ITEMS).map(([key, item]) => {
    const isSecret = SECRET_KEY.test(key) && item !== undefined && item !== null && typeof item !== 'boolean';
    return [context.text(key), isSecret ? REDACTED : copy(item, context)];
  });
  return Object.fromEntries(shown) as object;
}

/** System errors such as ECONNREFUSED are logged without a stack: it says nothing, and they repeat while they last. */
function isOfSystem(error: Error): boolean {
  return 'syscall' in error && 'errno' in error;
}

function copyError(error: Error, context: Copying): unknown {
  const { name, message, stack, cause, ...rest } = error;
  const errors = error instanceof AggregateError ? { errors: copy(error.errors, context) } : {};
  const own = Object.entries(rest).filter(([key]) => key !== 'errors');
  return {
    type: context.text(name),
    message: context.text(message),
    ...copyEntries(own, context),
    ...errors,
    ...(cause === undefined ? {} : { cause: copy(cause, context) }),
    ...(stack === undefined || isOfSystem(error) ? {} : { stack: context.text(stack) }),
  };
}
