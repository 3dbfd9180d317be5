import type { NumberField } from '../../core/fields/field-catalogue.ts';
import { decimal, formatDecimal, parseDecimal, toNumber } from '../../core/quantities/decimal.ts';

const UNIT_MS = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
type Unit = keyof typeof UNIT_MS;
const UNITS = Object.keys(UNIT_MS) as Unit[];

/** `1h30m`, `250ms`, `1.5s`: numbers with units from large to small, each unit at most once. */
export const DURATION_PATTERN =
  '^(?=\\d)(\\d+(\\.\\d+)?w)?(\\d+(\\.\\d+)?d)?(\\d+(\\.\\d+)?h)?(\\d+(\\.\\d+)?m)?(\\d+(\\.\\d+)?s)?(\\d+(\\.\\d+)?ms)?$';
const DURATION = new RegExp(DURATION_PATTERN);
const LONGEST_MS = 10 * 366 * UNIT_MS.d;
const LONGEST_TEXT = 60;

/** The longest duration that `parseDuration` accepts, as text: ten years. */
export const LONGEST_DURATION = `${LONGEST_MS / UNIT_MS.d}d`;

/** Parses a duration into milliseconds; undefined if it is none, not a whole number of them, or above ten years. */
export function parseDuration(text: string): number | undefined {
  const ms = writtenMs(text);
  return ms !== undefined && Number.isSafeInteger(ms) && ms <= LONGEST_MS ? ms : undefined;
}

/** Reports whether a text is a duration above ten years. */
export function isDurationTooLong(text: string): boolean {
  return (writtenMs(text) ?? 0) > LONGEST_MS;
}

function writtenMs(text: string): number | undefined {
  const compact = text.trim().replaceAll(/(\d)\s+(?=[a-z])|([a-z])\s+(?=\d)/g, '$1$2');
  if (compact.length > LONGEST_TEXT || !DURATION.test(compact)) return undefined;
  let total = decimal('0');
  for (const [, amount = '', unit = ''] of compact.matchAll(/(?<![\d.])([\d.]+)([a-z]+)/g)) {
    const number = parseDecimal(amount);
    if (number === undefined || !isUnit(unit)) return undefined;
    total = total.plus(number.times(decimal(String(UNIT_MS[unit]))));
  }
  return toNumber(total);
}

function isUnit(text: string): text is Unit {
  return (UNITS as readonly string[]).includes(text);
}

/**
 * Returns a valid duration for a text that resembles one: `10 seconds`, `5min`, `10`. A bare number counts as seconds,
 * or as milliseconds if it would exceed a day.
 */
export function durationHint(text: string): string | undefined {
  // The hint becomes part of a message, so it must be short.
  if (text.length > LONGEST_TEXT) return undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zµ]*)\.?\s*$/i.exec(text);
  if (match === null) return undefined;
  const [, amount = '', word = ''] = match;
  const bare = Number(amount) * UNIT_MS.s > UNIT_MS.d ? 'ms' : 's';
  const named = WORDS_FOR_UNITS.find(([, words]) => words.includes(word.toLowerCase()))?.[0];
  const unit = word === '' ? bare : named;
  const hint = `${amount}${unit ?? ''}`;
  return parseDuration(hint) === undefined ? undefined : hint;
}

const WORDS_FOR_UNITS: readonly (readonly [Unit, readonly string[]])[] = [
  ['ms', ['ms', 'msec', 'msecs', 'millis', 'millisecond', 'milliseconds']],
  ['s', ['s', 'sec', 'secs', 'second', 'seconds']],
  ['m', ['m', 'min', 'mins', 'minute', 'minutes']],
  ['h', ['h', 'hr', 'hrs', 'hour', 'hours']],
  ['d', ['d', 'day', 'days']],
  ['w', ['w', 'week', 'weeks']],
];

/** Formats a duration for people: `3 s`, `1 h 30 min`, `250 ms`, `0 s`. */
export function durationInWords(ms: number): string {
  if (ms === 0) return '0 s';
  let rest = ms;
  const parts: string[] = [];
  for (const unit of SPOKEN_UNITS) {
    const count = Math.floor(rest / UNIT_MS[unit]);
    if (count === 0) continue;
    parts.push(`${count} ${unit === 'd' && count === 1 ? 'day' : SPOKEN[unit]}`);
    rest -= count * UNIT_MS[unit];
  }
  return parts.join(' ');
}

const SPOKEN_UNITS = ['d', 'h', 'm', 's', 'ms'] as const;
const SPOKEN = { d: 'days', h: 'h', m: 'min', s: 's', ms: 'ms' } as const;

/** Parses a percentage into the nearest fraction: `0.7%` is 0.007, not 0.006999999999999999. */
export function parsePercent(text: string): number | undefined {
  const match = /^(-?\d{1,12}(?:\.\d{1,12})?)\s*%$/.exec(text.trim());
  const percent = match?.[1] === undefined ? undefined : parseDecimal(match[1]);
  return percent === undefined ? undefined : toNumber(percent.times(decimal('0.01')));
}

/** Formats a fraction for people: `5.0 %`, `0.25 %`, `100 %`. Below 100 % it has at least one decimal. */
export function percentInWords(fraction: number): string {
  const percent = (parseDecimal(String(fraction)) ?? decimal('0')).times(decimal('100'));
  const text = formatDecimal(percent.round(6));
  const small = toNumber(percent) > -100 && toNumber(percent) < 100;
  return `${small && !text.includes('.') ? `${text}.0` : text} %`;
}

/** Formats a value of a field for people: `5.0 %`, `2 h`, `50,000`. */
export function valueInWords(field: Pick<NumberField, 'unit'>, value: number): string {
  switch (field.unit) {
    case 'ratio':
      return percentInWords(value);
    case 'ratioPerHour':
      return `${percentInWords(value)} per hour`;
    case 'seconds':
      return durationInWords(value * 1000);
    case 'minutes':
      return durationInWords(value * 60_000);
    default:
      return numberInWords(value);
  }
}

export function numberInWords(value: number | string): string {
  const [whole = '', fraction] = String(value).split('.');
  const grouped = whole.replaceAll(/\B(?=(?:\d{3}){1,20}$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
