import { MS_PER_DAY, MS_PER_SECOND } from '../quantities/units.ts';

/** Times for people, from Unix milliseconds, in UTC. */

/** `2026-01-31 23:59:59`. */
export function utcSecond(atMs: number): string {
  return `${dateOf(Math.floor(atMs / MS_PER_DAY))} ${clockOf(atMs)}`;
}

/** `2026-01-31 23:59`. */
export function utcMinute(atMs: number): string {
  return utcSecond(atMs).slice(0, -3);
}

/** `2026-01-31 23:59:59 UTC`. */
export function timeWords(atMs: number): string {
  return `${utcSecond(atMs)} UTC`;
}

/** `2026-01-31 23:59 UTC`. */
export function minuteWords(atMs: number): string {
  return `${utcMinute(atMs)} UTC`;
}

/** `14:30:05 UTC`. */
export function clockWords(atMs: number): string {
  return `${clockOf(atMs)} UTC`;
}

/** `14:30 UTC`, with the number of days from now if it is not today. */
export function soonWords(atMs: number, nowMs: number): string {
  const days = Math.floor(atMs / MS_PER_DAY) - Math.floor(nowMs / MS_PER_DAY);
  const later = days <= 0 ? '' : ` in ${days} ${days === 1 ? 'day' : 'days'}`;
  return `${clockOf(atMs).slice(0, -3)} UTC${later}`;
}

function clockOf(atMs: number): string {
  const seconds = Math.floor(atMs / MS_PER_SECOND);
  return [seconds / 3_600, seconds / 60, seconds]
    .map((value, index) => two(modulo(Math.floor(value), index === 0 ? 24 : 60)))
    .join(':');
}

/** Days from 0000-03-01 to 1970-01-01, and in 400 years: counted from March, the day of leap years comes last. */
const DAYS_TO_EPOCH = 719_468;
const DAYS_PER_ERA = 146_097;

/** The Gregorian date of a day since 1970-01-01. Not by `Date`, which also reads the clock. */
function dateOf(days: number): string {
  const era = Math.floor((days + DAYS_TO_EPOCH) / DAYS_PER_ERA);
  const day = days + DAYS_TO_EPOCH - era * DAYS_PER_ERA;
  const leapDays = Math.floor(day / 1_460) - Math.floor(day / 36_524) + Math.floor(day / 146_096);
  const year = Math.floor((day - leapDays) / 365);
  const dayOfYear = day - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * month + 2) / 5) + 1;
  const isNextYear = month >= 10;
  const years = era * 400 + year + (isNextYear ? 1 : 0);
  return `${String(years).padStart(4, '0')}-${two(month + (isNextYear ? -9 : 3))}-${two(dayOfMonth)}`;
}

function modulo(value: number, by: number): number {
  return value - by * Math.floor(value / by);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
