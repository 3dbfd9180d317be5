import type { NumberField } from '../../core/fields/field-catalogue.ts';
import { durationInWords, percentInWords } from '../shape/units.ts';

/** A value of a field for people: `5.0 %`, `2 h`, `50,000`. */
export function valueInWords(field: Pick<NumberField, 'unit'>, value: number): string {
  switch (field.unit) {
    case 'ratio':
      return percentInWords(value);
    case 'ratioPerHour':
      return `${percentInWords(value)} per hour`;
    case 'seconds':
      return durationInWords(value * 1000);
    case 'minutes':
      return durationInWords(value * 60_000);
    default:
      return numberInWords(value);
  }
}

export function numberInWords(value: number | string): string {
  const [whole = '', fraction] = String(value).split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
