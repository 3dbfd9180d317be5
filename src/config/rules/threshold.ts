import type { z } from 'zod';
import type { FieldUnit, NumberField } from '../../core/fields/field-catalogue.ts';
import { isDecimalString } from '../../core/quantities/decimal.ts';
import { type Reading, readRatio, scalar, writtenText } from '../shape/scalars.ts';
import { durationHint, parseDuration } from '../shape/units.ts';

/** Schema of a threshold, read in the field's unit: ratios as fractions, times in seconds or minutes. */
export function threshold(field: NumberField): z.ZodType<number> {
  const { unit } = field;
  if (unit === 'ratio' || unit === 'ratioPerHour') {
    return scalar({
      expected: 'a ratio such as 5% or 0.05',
      read: readRatio,
      json: { type: ['string', 'number'], pattern: '^-?\\d+(\\.\\d+)?\\s*%$', examples: ['5%'] },
    });
  }
  if (unit === 'seconds' || unit === 'minutes') return timeThreshold(field, UNIT_MS[unit]);
  return scalar({
    expected: `a number, ${EXAMPLES[unit]}`,
    read: readNumber,
    json: { type: ['number', 'string'], pattern: '^-?\\d+(\\.\\d+)?$' },
  });
}

const UNIT_MS = { seconds: 1000, minutes: 60_000 } as const;

const EXAMPLES: Readonly<
  Record<Exclude<FieldUnit, 'ratio' | 'ratioPerHour' | 'seconds' | 'minutes'>, string>
> = {
  money: 'an amount of the money currency such as 50000',
  price: 'a price such as 25000.5',
  baseAmount: 'an amount of the stock currency such as 1.5',
  assetAmount: 'an amount of the asset such as 1000',
  count: 'a count such as 10',
};

/** Accepts a bare number only if the field's name contains its unit: `dataAge: { above: 30 }` would be ambiguous. */
function timeThreshold(field: NumberField, unitMs: number): z.ZodType<number> {
  const named = field.name.toLowerCase().includes(field.unit);
  return scalar({
    expected: named
      ? `a number of ${field.unit}, or a duration such as 90s or 2h`
      : 'a duration such as 30s, 5m or 1h30m',
    read: (written): Reading<number> => {
      const text = writtenText(written);
      const ms = text === undefined ? undefined : parseDuration(text);
      if (ms !== undefined) return { ok: true, value: ms / unitMs };
      const reading = readNumber(written);
      if (reading.ok && (named || reading.value === 0)) return reading;
      const hint = text === undefined ? undefined : durationHint(text);
      return hint === undefined ? { ok: false } : { ok: false, hint };
    },
    json: { type: named ? ['number', 'string'] : 'string', examples: ['90s', '2h'] },
  });
}

function readNumber(written: unknown): Reading<number> {
  const text = writtenText(written)?.trim();
  if (text === undefined || !isDecimalString(text)) return { ok: false };
  const value = Number(text);
  return Number.isFinite(value) ? { ok: true, value } : { ok: false };
}
