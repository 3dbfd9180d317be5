import { type DecimalString, toNumber } from '../core/quantities/decimal.ts';
import { BASE, CURRENCY } from './accounts.ts';

/** `3,000.00 USDT` */
export function money(amount: DecimalString): string {
  return `${grouped(toNumber(amount), 2)} ${CURRENCY}`;
}

/** `+12.00 USDT`, `-1,234.50 USDT` */
export function signedMoney(amount: DecimalString): string {
  return `${toNumber(amount) < 0 ? '' : '+'}${money(amount)}`;
}

/** `0.500 BTC` */
export function coins(amount: DecimalString): string {
  return `${toNumber(amount).toFixed(3)} ${BASE}`;
}

/** `60,000.0` */
export function price(value: number): string {
  return grouped(value, 1);
}

/** `12.5 %` of 0.125 */
export function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}

export function signedPercent(fraction: number): string {
  return `${fraction < 0 ? '' : '+'}${percent(fraction)}`;
}

/** `12.3 s` */
export function inSeconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

/** `2:05` */
export function clock(durationMs: number): string {
  const total = Math.floor(durationMs / 1000);
  return `${Math.floor(total / 60)}:${String(total % 60).padStart(2, '0')}`;
}

function grouped(value: number, places: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: places, maximumFractionDigits: places });
}

/** Breaks a text between words, so that no line is longer than `columns`; a longer word is broken too. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > columns) {
    const space = rest.lastIndexOf(' ', columns);
    const end = space > 0 ? space : columns;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
