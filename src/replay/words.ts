import { numberInWords } from '../config/shape/units.ts';
import { MS_PER_MINUTE } from '../core/quantities/units.ts';

/** Figures as people read them; the same in every locale and time zone. */

/** `71.3 %`; more digits for small shares. */
export function percent(share: number): string {
  const value = share * 100;
  const digits = Math.abs(value) < 1 && value !== 0 ? 2 : 1;
  return `${minus(value.toFixed(digits))} %`;
}

/** `5 %`, `2.5 %`: of round values. */
export function wholePercent(share: number): string {
  return `${minus(String(Math.round(share * 1000) / 10))} %`;
}

/** `+3.1 %`, `-12.0 %` */
export function signedPercent(share: number): string {
  return share > 0 ? `+${percent(share)}` : percent(share);
}

/** `12,345` or `12.34`: whole above a hundred. */
export function money(amount: number): string {
  const digits = Math.abs(amount) >= 100 || amount === 0 ? 0 : 2;
  return minus(numberInWords(amount.toFixed(digits)));
}

/** A price with enough digits to tell it from its neighbours. */
export function price(value: number): string {
  const digits = value >= 1000 ? 0 : value >= 10 ? 2 : value >= 0.1 ? 4 : 8;
  return minus(numberInWords(value.toFixed(digits)));
}

function minus(text: string): string {
  return /^-0(?:\.0+)?$/.test(text) ? text.slice(1) : text.replace('-', '\u2212');
}

/** `10:52:31` of the day, UTC. */
export function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

/** `0.8 s`, `12 s`, `5 min`, `16 h 30 min` */
export function span(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  const minutes = Math.round(ms / MS_PER_MINUTE);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (hours === 0) return `${minutes} min`;
  return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
}

/** `1 order`, `2 orders` */
export function counted(count: number, one: string): string {
  return `${numberInWords(String(count))} ${one}${count === 1 ? '' : 's'}`;
}
