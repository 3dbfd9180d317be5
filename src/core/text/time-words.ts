import { MS_PER_DAY, MS_PER_SECOND } from '../quantities/units.ts';

/** Times for people, from Unix milliseconds, in UTC. */

/** The farthest time that a `Date` can hold. Only a time that somebody made up lies beyond. */
const FARTHEST_MS = 8.64e15;

/** `2026-01-31 23:59:59`. */
export function utcSecond(atMs: number): string {
  const seconds = Math.floor(Math.min(Math.max(atMs, -FARTHEST_MS), FARTHEST_MS) / MS_PER_SECOND);
  return new Date(seconds * MS_PER_SECOND).toISOString().slice(0, -5).replace('T', ' ');
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
  return utcSecond(atMs).slice(-8);
}
