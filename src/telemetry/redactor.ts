import { concealer } from '../core/redaction/conceal.ts';

/** Keeps secrets out of everything that is written: known ones by value, others by their look and place. */
export interface Redactor {
  /** Hides these values too, also within texts. */
  add(secrets: Iterable<string>): void;
  text(text: string): string;
  /** Hides known values only. The text is not shortened, and JSON stays valid. */
  line(text: string): string;
  /** A copy as plain JSON data without secrets; errors with their causes, cycles and depth bounded. Never throws. */
  value(value: unknown): unknown;
}

const HIDDEN = '[secret]';
/** Shorter values would hide half of the text. */
const SHORTEST = 6;
/** A part of a path as long as this is no name any more. */
const SHORTEST_TOKEN = 16;
const MAX_DEPTH = 8;
const MAX_ITEMS = 200;
const MAX_TEXT = 8000;

const SECRET_KEY =
  /(?:secret|passw(?:or)?d|passphrase|token|authorization|cookie|signature|api[-_]?key|payload)$|^x-txc-/i;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Credentials in addresses.
  [/(\w{1,40}:\/\/)[^/\s@]+@/g, `$1${HIDDEN}@`],
  [/\b(bearer|basic|geniekey)\s+[\w.~+/=-]{6,}/gi, `$1 ${HIDDEN}`],
  // Telegram's address of a bot, incoming webhooks, and workflows.
  [/(\/bot)\d+:[\w-]+/g, `$1${HIDDEN}`],
  [/(https?:\/\/[^\s"']{0,200}?\/(?:services|hooks|webhooks?)\/)[^\s"']+/gi, `$1${HIDDEN}`],
  [/([?&]sig=)[^\s"'&]+/gi, `$1${HIDDEN}`],
  [
    /((?:secret|passw(?:or)?d|passphrase|token|api[-_]?key|signature)["']?\s*[:=]\s*["']?)[^\s"',;&]{4,}/gi,
    `$1${HIDDEN}`,
  ],
];

export function createRedactor(): Redactor {
  const known = new Set<string>();
  let conceal = concealer(known, HIDDEN);
  const text = (given: string): string => {
    let shown = given.length > MAX_TEXT ? `${given.slice(0, MAX_TEXT)}…` : given;
    // A value cut in half at the end would not be found.
    if (shown !== given) shown = conceal(given).slice(0, MAX_TEXT);
    shown = conceal(shown);
    for (const [pattern, instead] of PATTERNS) shown = shown.replace(pattern, instead);
    return shown;
  };
  return {
    add(more) {
      for (const secret of more) {
        if (secret.length >= SHORTEST) for (const form of formsOf(secret)) known.add(form);
      }
      conceal = concealer(known, HIDDEN);
    },
    text,
    line: (given) => conceal(given),
    value(value) {
      try {
        return copy(value, { text, seen: new Set() });
      } catch {
        return '[unreadable]';
      }
    },
  };
}

/** The forms in which it may turn up: plain, in an address, in JSON, in base64, and the parts of an address. */
function formsOf(secret: string): readonly string[] {
  const forms = [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64'),
  ];
  if (!URL.canParse(secret)) return forms;
  const { password, pathname, search, searchParams } = new URL(secret);
  const parts = [password, decoded(password), pathname.replace(/^\/+/, ''), search.replace(/^\?/, '')];
  const tokens = [...pathname.split('/'), ...searchParams.values()].filter(
    (part) => part.length >= SHORTEST_TOKEN,
  );
  return [...forms, ...parts.filter((part) => part.length >= SHORTEST + 2), ...tokens];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface Copying {
  readonly text: (text: string) => string;
  /** On the way down to here: as many as it is deep. */
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
    return [context.text(key), isSecret ? HIDDEN : copy(item, context)];
  });
  return Object.fromEntries(shown) as object;
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
    ...(stack === undefined ? {} : { stack: context.text(stack) }),
  };
}
