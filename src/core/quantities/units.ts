import type { CreditLineRecord } from '../ports/exchange.ts';
import { type DecimalString, toNumber } from './decimal.ts';
import { known, type Quantity, unknown } from './quantity.ts';
import type { AccountSettings } from './settings.ts';

export const MS_PER_SECOND = 1_000;
export const MS_PER_MINUTE = 60_000;
export const MS_PER_HOUR = 3_600_000;
export const MS_PER_DAY = 86_400_000;

/** A reported number as a double, for comparing; unknown when the exchange left the field out. */
export function reported(text: DecimalString | null | undefined): Quantity<number> {
  return text === undefined || text === null ? unknown('fieldMissing') : known(toNumber(text));
}

/** `margin / (margin + free)`, a fraction. */
export function usage(margin: number, free: number): Quantity<number> {
  const funds = margin + free;
  return funds > 0 ? known(margin / funds) : unknown('notPositive');
}

/** Value of one unit of the LTV fields as a fraction: 0.01 for percent, 1 for fractions. */
export type LtvScale = 0.01 | 1;

/** A liquidation LTV up to LARGEST_FRACTION is a fraction, from SMALLEST_PERCENT to LARGEST_PERCENT a percentage. */
const LARGEST_FRACTION = 1;
const SMALLEST_PERCENT = 10;
const LARGEST_PERCENT = 100;

/**
 * The unit of a record's LTVs (open in specification 2.5): as configured, else by its liquidation LTV: at most 1 is a
 * fraction, 10 to 100 is percent, anything else is unclear.
 */
export function ltvScale(record: CreditLineRecord, unit: AccountSettings['ltvUnit']): Quantity<LtvScale> {
  if (unit === 'percent') return known(0.01);
  if (unit === 'fraction') return known(1);
  const text = record.liquidationLtv ?? record.marginCallLtv ?? record.initialLtv;
  if (text === undefined) return unknown('fieldMissing');
  const limit = toNumber(text);
  if (limit > 0 && limit <= LARGEST_FRACTION) return known(1);
  return limit >= SMALLEST_PERCENT && limit <= LARGEST_PERCENT ? known(0.01) : unknown('ltvUnitUnclear');
}

/** The money currency of a market: its setting, else the end of its name. Totals are kept apart by it. */
export function moneyOf(market: string, settings: Pick<AccountSettings, 'marketSettings'>): string {
  const money = settings.marketSettings(market)?.money;
  return money ?? quoteOf(market);
}

export function quoteOf(market: string): string {
  return market.slice(market.lastIndexOf('_') + 1);
}

/** The end of the names of perpetuals, which is no currency: totals without a setting are kept under it. */
export const NO_CURRENCY = 'PERP';

/** Returns what follows a figure in a money currency: a space and its name, nothing where it is not known. */
export function moneyUnit(money: string): string {
  return money === NO_CURRENCY ? '' : ` ${money}`;
}

/** The traded asset: what precedes the last underscore of a market's name. */
export function stockOf(market: string): string {
  const end = market.lastIndexOf('_');
  return end <= 0 ? market : market.slice(0, end);
}
