import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, MS_PER_SECOND } from '../quantities/units.ts';

/**
 * Figures and times as people read them, in plain characters that a terminal shows and a search finds; the same in
 * every locale and time zone. What was measured is rounded, what a person set is shown in full.
 */

/** A measured fraction: `71.3 %`, and two digits of less than a percent, as in `0.72 %`. */
export function percent(fraction: number): string {
  const value = fraction * 100;
  const isSmall = value !== 0 && Math.abs(value) < 1;
  return `${withoutNegativeZero(value.toFixed(isSmall ? 2 : 1))} %`;
}

/** The same with its sign: `+3.1 %`. */
export function signedPercent(fraction: number): string {
  return fraction > 0 ? `+${percent(fraction)}` : percent(fraction);
}

/** A fraction that a person set: `5 %`, `0.25 %`. */
export function exactPercent(fraction: number): string {
  return `${exactly(fraction)} %`;
}

/** The same as a config writes it: `12.5%`. */
export function configPercent(fraction: number): string {
  return `${exactly(fraction)}%`;
}

/** Without what binary fractions add: 0.07 is 7, not 7.000000000000001. */
function exactly(fraction: number): string {
  return String(Number((fraction * 100).toFixed(6)));
}

/** Sets thousands apart: `50,000.5`. */
export function grouped(value: number | string): string {
  const [whole = '', digits] = String(value).split('.');
  const text = whole.replaceAll(/\B(?=(?:\d{3}){1,20}$)/g, ',');
  return digits === undefined ? text : `${text}.${digits}`;
}

/** A sum of money: whole from a hundred on, `12.34` below, and two significant digits of less than a hundredth. */
export function moneyText(amount: number): string {
  const size = Math.abs(amount);
  if (size > 0 && size < 0.01) return String(Number(amount.toPrecision(2)));
  return grouped(withoutNegativeZero(amount.toFixed(size === 0 || size >= 100 ? 0 : 2)));
}

/** A price with as many digits as tell it from its neighbours. */
export function price(value: number): string {
  const digits = value >= 1000 ? 0 : value >= 10 ? 2 : value >= 0.1 ? 4 : 8;
  return grouped(withoutNegativeZero(value.toFixed(digits)));
}

function withoutNegativeZero(text: string): string {
  return /^-0(?:\.0+)?$/.test(text) ? text.slice(1) : text;
}

/** `1 order`, `2 orders` */
export function counted(count: number, one: string): string {
  return `${grouped(count)} ${one}${count === 1 ? '' : 's'}`;
}

/** `2026-01-31 23:59:59 UTC` */
export function utcTime(atMs: number): string {
  return `${utcText(atMs, 0, 19)} UTC`;
}

/** `2026-01-31 23:59`, where it is clear that it is in UTC. */
export function utcMinute(atMs: number): string {
  return utcText(atMs, 0, 16);
}

/** `23:59:59` */
export function utcClock(atMs: number): string {
  return utcText(atMs, 11, 19);
}

const LATEST_MS = 8.64e15;

function utcText(atMs: number, from: number, to: number): string {
  // A time from outside may lie beyond what a date can be.
  if (!(Math.abs(atMs) <= LATEST_MS)) return 'at no date';
  // oxlint-disable-next-line no-restricted-globals -- writes a given time, and reads no clock
  return new Date(atMs).toISOString().slice(from, to).replace('T', ' ');
}

/** A measured time: `0.8 s`, `45 s`, `3 min 20 s`, `2 h 5 min`, `3 days 4 h`. */
export function span(ms: number): string {
  const past = Math.max(0, ms);
  if (past < 9_950) return `${(past / MS_PER_SECOND).toFixed(1)} s`;
  if (past < MS_PER_MINUTE - 500) return `${Math.round(past / MS_PER_SECOND)} s`;
  const least = UNITS.findLast(({ fromMs }) => past >= fromMs)?.leastMs ?? MS_PER_SECOND;
  return exactSpan(Math.round(past / least) * least);
}

/** Down to which unit a measured time is told. */
const UNITS = [
  { fromMs: MS_PER_MINUTE, leastMs: MS_PER_SECOND },
  { fromMs: MS_PER_HOUR, leastMs: MS_PER_MINUTE },
  { fromMs: 2 * MS_PER_DAY, leastMs: MS_PER_HOUR },
] as const;

/** A time that a person set: `3 s`, `1 h 30 min`, `250 ms`, `24 h`, `7 days`. */
export function exactSpan(ms: number): string {
  if (ms === 0) return '0 s';
  const days = ms < 2 * MS_PER_DAY ? 0 : Math.floor(ms / MS_PER_DAY);
  const parts = days === 0 ? [] : [`${days} days`];
  let rest = ms - days * MS_PER_DAY;
  for (const [unit, unitMs] of SPOKEN) {
    const count = Math.floor(rest / unitMs);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * unitMs;
  }
  return parts.join(' ');
}

const SPOKEN = [
  ['h', MS_PER_HOUR],
  ['min', MS_PER_MINUTE],
  ['s', MS_PER_SECOND],
  ['ms', 1],
] as const;
