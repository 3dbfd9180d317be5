import { concealer, REDACTED, SHORTEST_HIDDEN } from './conceal.ts';

/** Keeps secrets out of logs: known ones by value, others by form and context. */
export interface Redactor {
  /** Hides these values, also within texts. */
  add(secrets: Iterable<string>): void;
  text(text: string): string;
  /** Hides known values only. Does not truncate, and JSON stays valid. */
  line(text: string): string;
}

/** A path segment of at least this length is not a name. */
const SHORTEST_TOKEN = 16;
const MAX_TEXT = 8000;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // Credentials in URLs.
  [/(\w{1,40}:\/\/)[^/\s@]+@/g, `$1${REDACTED}@`],
  [/\b(bearer|basic|geniekey)\s+[\w.~+/=-]{6,}/gi, `$1 ${REDACTED}`],
  // Telegram bot URLs, incoming webhooks, workflows.
  [/(\/bot)\d+:[\w-]+/g, `$1${REDACTED}`],
  [/(https?:\/\/[^\s"']{0,200}?\/(?:services|hooks|webhooks?)\/)[^\s"']+/gi, `$1${REDACTED}`],
  [/([?&]sig=)[^\s"'&]+/gi, `$1${REDACTED}`],
  [
    /((?:secret|passw(?:or)?d|passphrase|token|api[-_]?key|signature)["']?\s*[:=]\s*["']?)[^\s"',;&]{4,}/gi,
    `$1${REDACTED}`,
  ],
];

export function createRedactor(): Redactor {
  const known = new Set<string>();
  let conceal = concealer(known);
  const text = (given: string): string => {
    // Truncated after concealing: a value cut at the end would not be found.
    let shown = given.length > MAX_TEXT ? conceal(given).slice(0, MAX_TEXT) : conceal(given);
    for (const [pattern, instead] of PATTERNS) shown = shown.replace(pattern, instead);
    return shown;
  };
  return {
    add(more) {
      for (const secret of more) {
        if (secret.length >= SHORTEST_HIDDEN) for (const form of formsOf(secret)) known.add(form);
      }
      conceal = concealer(known);
    },
    text,
    line: (given) => conceal(given),
  };
}

/** The forms in which a secret may appear: plain, URL-encoded, in JSON, in base64, and the parts of a URL. */
function formsOf(secret: string): readonly string[] {
  const forms = [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    btoa(String.fromCharCode(...new TextEncoder().encode(secret))),
  ];
  if (!URL.canParse(secret)) return forms;
  const { password, pathname, search, searchParams } = new URL(secret);
  const parts = [password, decoded(password), pathname.replace(/^\/+/, ''), search.replace(/^\?/, '')];
  const tokens = [...pathname.split('/'), ...searchParams.values()].filter(
    (part) => part.length >= SHORTEST_TOKEN,
  );
  return [...forms, ...parts.filter((part) => part.length >= SHORTEST_HIDDEN + 2), ...tokens];
}

/** The text without percent signs that stand for others; as it is if they stand for none. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
