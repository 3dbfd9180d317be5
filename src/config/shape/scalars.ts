import { z } from 'zod';
import { type DecimalString, decimal, isDecimalString, parseDecimal } from '../../core/quantities/decimal.ts';
import { suggest } from '../../core/text/suggest.ts';
import { describeText, digitsOf } from '../yaml/value.ts';
import { DURATION_PATTERN, durationHint, parseDuration, parsePercent } from './units.ts';

/** The result of reading one value of the file: the value, or what is wrong with it. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | ({ readonly ok: false } & Partial<ScalarIssue>);

interface ScalarKind<T> {
  /** Completes "expected ...", with an example. */
  readonly expected: string;
  readonly read: (written: unknown) => Reading<T>;
  /** JSON Schema for editors; `expected` covers what it cannot express. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** The details of a problem that the schema passes to the report. */
export interface ScalarIssue {
  readonly expected: string;
  readonly got?: string;
  readonly hint?: string;
}

/** Creates a zod schema for one value of the file, with its own error and JSON Schema. */
export function scalar<T>({ expected, read, json }: ScalarKind<T>): z.ZodType<T> {
  const schema = z.unknown().transform((written, context): T => {
    const reading = read(written);
    if (reading.ok) return reading.value;
    const { ok: _ok, ...found } = reading;
    context.issues.push({ code: 'custom', input: written, params: { expected, ...found } });
    return z.NEVER;
  });
  return schema.meta({ ...json, expected });
}

const FAILED = { ok: false } as const;

function got<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** Returns a text, or a number as written; undefined for anything else. */
export function writtenText(written: unknown): string | undefined {
  if (typeof written === 'number') return String(written);
  return typeof written === 'string' ? written : digitsOf(written);
}

interface DurationBounds {
  readonly minMs?: number;
  readonly maxMs?: number;
  /** Completes "expected a duration"; needed if there are bounds. */
  readonly bounds?: string;
}

/** Reads `3s`, `5m`, `1h30m` or `250ms` as milliseconds. A bare number except 0 is refused, because it has no unit. */
export function duration({ minMs = 0, maxMs = Infinity, bounds }: DurationBounds = {}): z.ZodType<number> {
  return scalar({
    expected: `a duration such as 3s, 5m or 1h30m${bounds === undefined ? '' : `, ${bounds}`}`,
    read: (written) => {
      const text = writtenText(written);
      if (text === undefined) return FAILED;
      const ms = text === '0' ? 0 : parseDuration(text);
      if (ms !== undefined) return ms >= minMs && ms <= maxMs ? got(ms) : FAILED;
      const meant = durationHint(text);
      return meant === undefined ? FAILED : { ok: false, hint: meant };
    },
    json: { type: 'string', pattern: DURATION_PATTERN, examples: ['3s', '5m', '1h30m', '250ms'] },
  });
}

interface RatioBounds {
  readonly max?: number;
  /** Which of the bounds 0 (`min`) and `max` are refused. */
  readonly exclusive?: 'min' | 'max' | 'both';
  readonly bounds?: string;
}

/**
 * Reads `5%` or `0.05` as a fraction that is not negative. A bare number above 1 lacks its `%`, and a bare 1 could mean
 * 1 % or 100 %: both are refused.
 */
export function ratio({ max = Infinity, exclusive, bounds }: RatioBounds = {}): z.ZodType<number> {
  const inside = (value: number): boolean =>
    (exclusive === 'min' || exclusive === 'both' ? value > 0 : value >= 0) &&
    (exclusive === 'max' || exclusive === 'both' ? value < max : value <= max);
  return scalar({
    expected: `a ratio such as 5% or 0.05${bounds === undefined ? '' : `, ${bounds}`}`,
    read: (written) => {
      const reading = readRatio(written);
      return reading.ok && !inside(reading.value) ? FAILED : reading;
    },
    json: { type: ['string', 'number'], pattern: '^-?\\d+(\\.\\d+)?\\s*%$', examples: ['5%', '0.5%'] },
  });
}

export function readRatio(written: unknown): Reading<number> {
  const text = writtenText(written)?.trim();
  if (text === undefined) return FAILED;
  const percent = parsePercent(text);
  if (percent !== undefined) return got(percent);
  const comma = text.replace(/(\d),(\d)/, '$1.$2');
  if (comma !== text && parsePercent(comma) !== undefined) return { ok: false, hint: comma };
  const fraction = parseDecimal(text);
  if (fraction === undefined) return FAILED;
  if (fraction.abs().lt(decimal('1'))) return got(Number(text));
  return { ok: false, hint: fraction.abs().eq(decimal('1')) ? '100% or 1%' : `${text}%` };
}

/** Reads a decimal number with all of its digits, quoted or not. */
export function decimalText({
  positive = true,
  expected = `a ${positive ? 'positive ' : ''}decimal number such as "0.001"`,
}: {
  readonly positive?: boolean;
  readonly expected?: string;
} = {}): z.ZodType<DecimalString> {
  return scalar({
    expected,
    read: (written) => {
      const text = writtenText(written)?.trim();
      if (text === undefined || !isDecimalString(text)) {
        const comma = text?.replace(',', '.');
        return comma !== undefined && comma !== text && isDecimalString(comma)
          ? { ok: false, hint: comma }
          : FAILED;
      }
      const value = parseDecimal(text);
      return value === undefined || (positive && value.lte(decimal('0'))) ? FAILED : got(text);
    },
    json: { type: ['string', 'number'], pattern: '^\\d+(\\.\\d+)?$', examples: ['0.001'] },
  });
}

interface NumberBounds {
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
  readonly expected: string;
}

export function number({
  min = -Infinity,
  max = Infinity,
  integer = false,
  expected,
}: NumberBounds): z.ZodType<number> {
  return scalar({
    expected,
    read: (written) => {
      const digits = digitsOf(written);
      const value = digits === undefined ? written : Number(digits);
      if (typeof value !== 'number' || !Number.isFinite(value)) return FAILED;
      return value >= min && value <= max && (!integer || Number.isSafeInteger(value)) ? got(value) : FAILED;
    },
    json: {
      type: integer ? 'integer' : 'number',
      ...(Number.isFinite(min) ? { minimum: min } : {}),
      ...(Number.isFinite(max) ? { maximum: max } : {}),
    },
  });
}

export function wholeNumber(min: number, max: number): z.ZodType<number> {
  return number({ min, max, integer: true, expected: `a whole number from ${min} to ${max}` });
}

export function port(): z.ZodType<number> {
  return number({ min: 0, max: 65_535, integer: true, expected: 'a port from 0 to 65535' }).describe(
    'Its port; 0 takes a free one, which the log names.',
  );
}

export function pemFile(of: string): z.ZodType<string> {
  return text({ expected: `the path of a file with ${of} (PEM)`, maxLength: 1000 });
}

/** Reads `true`, `false`, `yes` or `no`. */
export function flag(): z.ZodType<boolean> {
  return scalar({
    expected: 'true or false',
    read: (written) => {
      if (typeof written === 'boolean') return got(written);
      if (written === 'yes') return got(true);
      return written === 'no' ? got(false) : FAILED;
    },
    json: { enum: [true, false, 'yes', 'no'] },
  });
}

/** One of a few words, with a suggestion for a misspelt one. */
export function oneOf<const T extends string>(...words: readonly T[]): z.ZodType<T> {
  return scalar<T>({
    expected: words.length === 1 ? words.join('') : `one of ${words.join(', ')}`,
    read: (written) => {
      const found = words.find((word) => word === written);
      if (found !== undefined) return got(found);
      const meant = typeof written === 'string' ? suggest(written, words) : undefined;
      return meant === undefined ? FAILED : { ok: false, hint: meant };
    },
    json: { enum: [...words] },
  });
}

interface TextKind {
  readonly expected: string;
  readonly pattern?: RegExp;
  readonly maxLength?: number;
}

/** Characters that nobody sees: with them a text reads as another one, or turns around what stands after it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export function text({ expected, pattern, maxLength = 200 }: TextKind): z.ZodType<string> {
  return scalar({
    expected,
    read: (written) => {
      if (typeof written !== 'string') {
        // YAML reads `id: 123` as a number; the hint shows it in quotes.
        const digits = digitsOf(written);
        const quoted = digits !== undefined && (pattern?.test(digits) ?? true);
        return quoted ? { ok: false, hint: `"${digits}"` } : FAILED;
      }
      if (UNSEEN.test(written)) return { ok: false, got: 'one with invisible characters' };
      const fits = written.length > 0 && written.length <= maxLength && (pattern?.test(written) ?? true);
      return fits ? got(written) : FAILED;
    },
    json: { type: 'string', minLength: 1, maxLength, ...(pattern ? { pattern: pattern.source } : {}) },
  });
}

/** Pattern of names that go into job ids, metric labels and client order ids; a number alone is none. */
export const NAME_PATTERN = /^(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$/;

export function name(of: string): z.ZodType<string> {
  return text({
    expected: `${of}: letters, digits, dots, dashes and underscores, at most 48, at least one letter`,
    pattern: NAME_PATTERN,
    maxLength: 48,
  });
}

/** A market name, of any script and case (`kPEPE_PERP`), or a pattern of them: `*_PERP`, `*`. */
export function marketGlob(): z.ZodType<string> {
  return text({
    expected: 'a market such as BTC_PERP, or a pattern such as "*_PERP" (quoted when it starts with *)',
    pattern: /^(?=.*[_*?-])[^\s"'`\\:;,|<>(){}[\]#&!%@/$]+$/,
    maxLength: 40,
  });
}

/** A ticker such as `BTC` or `USDT`, as the exchange writes it. */
export function ticker(): z.ZodType<string> {
  return text({ expected: 'a ticker such as USDT', pattern: /^[A-Z0-9][A-Z0-9_.-]*$/i, maxLength: 20 });
}

export function protocolsInWords(protocols: readonly string[]): string {
  return protocols.map((protocol) => `${protocol}//`).join(' or ');
}

export function url(...protocols: readonly string[]): z.ZodType<string> {
  return urlScalar(protocols, (written) => written);
}

/** Reads an address to which paths are appended; trailing slashes are removed. */
export function baseUrl(...protocols: readonly string[]): z.ZodType<string> {
  return urlScalar(protocols, (written) => written.replace(/(?<!\/)\/+$/, ''));
}

function urlScalar(protocols: readonly string[], read: (written: string) => string): z.ZodType<string> {
  return scalar({
    expected: `an address that starts with ${protocolsInWords(protocols)}, without user name and password`,
    read: (written) => {
      if (typeof written !== 'string') return FAILED;
      const parsed = URL.canParse(written) ? new URL(written) : undefined;
      if (parsed === undefined || !protocols.includes(parsed.protocol))
        return { ok: false, got: describeText(written) };
      if (parsed.username !== '' || parsed.password !== '') {
        return { ok: false, got: 'one with credentials in it (not repeated here)' };
      }
      return got(read(written));
    },
    json: { type: 'string', format: 'uri' },
  });
}
