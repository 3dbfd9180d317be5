import type { UnknownReason } from '../quantities/quantity.ts';
import type { FieldParameter, FieldValue } from '../rules/rule.ts';
import type { FieldSpec, FieldUnit } from './field-catalogue.ts';
import type { FieldQuantity } from './field-values.ts';

/** Why a figure is missing. */
export const UNKNOWN_WORDS: Readonly<Record<UnknownReason, string>> = {
  notRead: 'it could not be read',
  stale: 'what was read is too old',
  fieldMissing: 'the exchange did not say it',
  zeroSize: 'the size is zero',
  directionUnknown: 'the direction of the position is unknown',
  directionContradicted: 'the direction of the position is contradicted',
  disagreement: 'the liquidation price is passed although the exchange does not liquidate',
  markUnknown: 'the mark price is unknown',
  markTooCoarse: 'the mark price is not exact enough',
  notPositive: 'the figures make no sense together',
  ltvUnitUnclear: 'the LTV may be a fraction or a percentage',
  listIncomplete: 'the list is not complete',
  zeroUncertain: 'the exchange shows 0 where there was more: waiting to be sure',
  presumedClosed: 'it is not in the list any more: presumed closed, waiting to be sure',
  tooFewSamples: 'it has not been watched for long enough',
  serverTimeUnknown: 'the clock of the exchange is unknown',
  notDocumented: 'the exchange said something that is not documented',
  duplicateRecord: 'the exchange sent it twice',
  currenciesDiffer: 'the positions are in different currencies',
  marketNotConfigured: 'the market is not in the config',
};

const SIGNIFICANT_DIGITS = 4;

/** A number of a unit for people: `4.1 %`, `35 s`, `120 min`; others as they are. */
export function figure(value: number, unit: FieldUnit | undefined): string {
  if (unit === 'ratio') return `${digits(value * 100)} %`;
  if (unit === 'ratioPerHour') return `${digits(value * 100)} % per hour`;
  if (unit === 'seconds') return `${digits(value)} s`;
  return unit === 'minutes' ? `${digits(value)} min` : digits(value);
}

function digits(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'infinite' : String(value);
  const isLarge = Math.abs(value) >= 10 ** SIGNIFICANT_DIGITS;
  return String(Number(isLarge ? value.toFixed(2) : value.toPrecision(SIGNIFICANT_DIGITS)));
}

/** `distance to liquidation`, `main balance of USDT`, `number of withdrawals in the last 24 h`. */
export function fieldWords(spec: FieldSpec, { asset, source, windowMs }: FieldParameter): string {
  const name = spec.label ?? plainWords(spec.name);
  const isAhead = windowMs !== undefined && spec.name.endsWith('Probability');
  return [
    name,
    asset === undefined ? '' : ` of ${asset}`,
    source === undefined ? '' : ` (${plainWords(source)})`,
    windowMs === undefined ? '' : ` ${isAhead ? 'within the next' : 'in the last'} ${windowWords(windowMs)}`,
  ].join('');
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

function windowWords(ms: number): string {
  if (ms % HOUR_MS === 0) return `${ms / HOUR_MS} h`;
  return ms % MINUTE_MS === 0 ? `${ms / MINUTE_MS} min` : `${ms / 1_000} s`;
}

/** What the catalogue or the exchange wrote in one, taken apart; names in capitals stay as they are. */
function plainWords(name: string): string {
  const apart = name.replaceAll('_', ' ');
  return /[a-z]/.test(apart) ? apart.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) : apart;
}

export function valueWords(value: FieldValue, spec: FieldSpec): string {
  if (typeof value === 'number') return figure(value, spec.type === 'number' ? spec.unit : undefined);
  return spec.type === 'enum' ? plainWords(String(value)) : String(value);
}

/** The case that a field of yes or no states; undefined for any other field. */
export function caseWords(spec: FieldSpec, value: FieldValue): string | undefined {
  if (spec.type !== 'boolean') return undefined;
  return value === true ? spec.cases?.whenTrue : spec.cases?.whenFalse;
}

/** `is 4.1 %`, `is at least 3`, `is unlimited`. */
export function quantityWords(quantity: FieldQuantity, spec: FieldSpec): string {
  if (quantity.kind === 'unknown') return `is unknown: ${UNKNOWN_WORDS[quantity.why]}`;
  if (quantity.kind === 'none') return NONE_WORDS[spec.none];
  const text = valueWords(quantity.value, spec);
  if (quantity.kind === 'atMost') return `is at most ${text}`;
  return quantity.kind === 'atLeast' ? `is at least ${text}` : `is ${text}`;
}

const NONE_WORDS: Readonly<Record<FieldSpec['none'], string>> = {
  infinite: 'is unlimited',
  zero: 'is zero, as there is nothing to measure',
  absent: 'does not exist',
  never: 'does not exist',
};

/** `a`, `a or b`, `a, b or c`. */
export function oneOfWords(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} or ${items.at(-1) ?? ''}`;
}
