import { UNKNOWN_WORDS } from '../quantities/quantity.ts';
import { MS_PER_HOUR, MS_PER_MINUTE } from '../quantities/units.ts';
import type { FieldParameter, FieldValue } from '../rules/rule.ts';
import type { FieldSpec, FieldUnit } from './field-catalogue.ts';
import type { FieldQuantity } from './field-values.ts';

const SIGNIFICANT_DIGITS = 4;

/** A number with its unit: `4.1 %`, `35 s`, `120 min`; other units are not written. */
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

function windowWords(ms: number): string {
  if (ms % MS_PER_HOUR === 0) return `${ms / MS_PER_HOUR} h`;
  return ms % MS_PER_MINUTE === 0 ? `${ms / MS_PER_MINUTE} min` : `${ms / 1_000} s`;
}

/** Splits camel case and underscores; names in capitals stay unchanged. */
function plainWords(name: string): string {
  const apart = name.replaceAll('_', ' ');
  return /[a-z]/.test(apart) ? apart.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) : apart;
}

export function valueWords(value: FieldValue, spec: FieldSpec): string {
  if (typeof value === 'number') return figure(value, spec.type === 'number' ? spec.unit : undefined);
  return spec.type === 'enum' ? plainWords(String(value)) : String(value);
}

/** Words for the value of a boolean field; undefined for other fields. */
export function caseWords(spec: FieldSpec, value: FieldValue): string | undefined {
  if (spec.type !== 'boolean') return undefined;
  return value === true ? spec.cases?.whenTrue : spec.cases?.whenFalse;
}

/** True for fields that estimate the future from past price motion. */
export function isForecast({ name }: FieldSpec): boolean {
  return name.endsWith('Probability') || name.startsWith('minutesTo');
}

const FORECAST_DIGITS = 3;

/** `is 4.1 %`, `is about 35 min` (a forecast), `is at least 3`, `is unlimited`. */
export function quantityWords(quantity: FieldQuantity, spec: FieldSpec): string {
  if (quantity.kind === 'unknown') return `is unknown: ${UNKNOWN_WORDS[quantity.why]}`;
  if (quantity.kind === 'none') return NONE_WORDS[spec.none];
  if (isForecast(spec) && typeof quantity.value === 'number') {
    return `is about ${valueWords(Number(quantity.value.toPrecision(FORECAST_DIGITS)), spec)}`;
  }
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
