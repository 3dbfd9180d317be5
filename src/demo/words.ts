import { type DecimalString, toNumber } from '../core/quantities/decimal.ts';
import { moneyText } from '../core/text/formats.ts';
import { BASE, CURRENCY } from './accounts.ts';

/** `3,000.00 USDT` */
export function money(amount: DecimalString): string {
  return `${moneyText(toNumber(amount))} ${CURRENCY}`;
}

/** `+12.00 USDT`, `-1,234.50 USDT` */
export function signedMoney(amount: DecimalString): string {
  return `${toNumber(amount) < 0 ? '' : '+'}${money(amount)}`;
}

/** `0.500 BTC` */
export function coins(amount: DecimalString): string {
  return `${toNumber(amount).toFixed(3)} ${BASE}`;
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
