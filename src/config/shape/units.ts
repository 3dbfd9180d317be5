import type { NumberField } from '../../core/fields/field-catalogue.ts';
import { decimal, parseDecimal, toNumber } from '../../core/quantities/decimal.ts';
import { exactPercent, exactSpan, grouped } from '../../core/text/formats.ts';

const UNIT_MS = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
type Unit = keyof typeof UNIT_MS;
const UNITS = Object.keys(UNIT_MS) as Unit[];

/** `1h30m`, `250ms`, `1.5s`: numbers with units from large to small, each unit at most once. */
export const DURATION_PATTERN =
  '^(?=\\d)(\\d+(\\.\\d+)?w)?(\\d+(\\.\\d+)?d)?(\\d+(\\.\\d+)?h)?(\\d+(\\.\\d+)?m)?(\\d+(\\.\\d+)?s)?(\\d+(\\.\\d+)?ms)?$';
const DURATION = new RegExp(DURATION_PATTERN);
const LONGEST_MS = 10 * 366 * UNIT_MS.d;
const LONGEST_TEXT = 60;

/** Whole milliseconds of a written duration; `undefined` when it is none, not whole, or above ten years. */
export function parseDuration(text: string): number | undefined {
  const compact = text.trim().replaceAll(/(\d)\s+(?=[a-z])|([a-z])\s+(?=\d)/g, '$1$2');
  if (compact.length > LONGEST_TEXT || !DURATION.test(compact)) return undefined;
  let total = decimal('0');
  for (const [, amount = '', unit = ''] of compact.matchAll(/(?<![\d.])([\d.]+)([a-z]+)/g)) {
    const number = parseDecimal(amount);
    if (number === undefined || !isUnit(unit)) return undefined;
    total = total.plus(number.times(decimal(String(UNIT_MS[unit]))));
  }
  const ms = toNumber(total);
  return Number.isSafeInteger(ms) && ms <= LONGEST_MS ? ms : undefined;
}

function isUnit(text: string): text is Unit {
  return (UNITS as readonly string[]).includes(text);
}

/** A hint for something that looks like a duration in other words: `10 seconds`, `5min`, `10`. */
export function durationHint(text: string): string | undefined {
  // A hint is part of a message.
  if (text.length > LONGEST_TEXT) return undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zµ]*)\.?\s*$/i.exec(text);
  if (match === null) return undefined;
  const [, amount = '', word = ''] = match;
  if (word === '') return `${amount}s`;
  const lower = word.toLowerCase();
  const unit = WORDS_FOR_UNITS.find(([, words]) => words.includes(lower))?.[0];
  return unit === undefined ? undefined : `${amount}${unit}`;
}

const WORDS_FOR_UNITS: readonly (readonly [Unit, readonly string[]])[] = [
  ['ms', ['ms', 'msec', 'msecs', 'millis', 'millisecond', 'milliseconds']],
  ['s', ['s', 'sec', 'secs', 'second', 'seconds']],
  ['m', ['m', 'min', 'mins', 'minute', 'minutes']],
  ['h', ['h', 'hr', 'hrs', 'hour', 'hours']],
  ['d', ['d', 'day', 'days']],
  ['w', ['w', 'week', 'weeks']],
];

/** A percentage as the fraction nearest to it: `0.7%` is 0.007, not 0.006999999999999999. */
export function parsePercent(text: string): number | undefined {
  const match = /^(-?\d{1,12}(?:\.\d{1,12})?)\s*%$/.exec(text.trim());
  const percent = match?.[1] === undefined ? undefined : parseDecimal(match[1]);
  return percent === undefined ? undefined : toNumber(percent.times(decimal('0.01')));
}

/** A value of a field for people: `5 %`, `2 h`, `50,000`. */
export function valueInWords(field: Pick<NumberField, 'unit'>, value: number): string {
  switch (field.unit) {
    case 'ratio':
      return exactPercent(value);
    case 'ratioPerHour':
      return `${exactPercent(value)} per hour`;
    case 'seconds':
      return exactSpan(value * 1000);
    case 'minutes':
      return exactSpan(value * 60_000);
    default:
      return grouped(value);
  }
}
