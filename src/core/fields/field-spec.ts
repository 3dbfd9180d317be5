import { MS_PER_DAY, MS_PER_MINUTE } from '../quantities/units.ts';
import type { SubjectKind } from '../rules/rule.ts';

/** The parts of an account that are read from the exchange, each with its own age and completeness. */
export const SOURCE_NAMES = ['positions', 'creditLine', 'mainBalance', 'transfers', 'spotOrders'] as const;

export type SourceName = (typeof SOURCE_NAMES)[number];

/** Sources read at every poll; the others only as often as their age matters. */
export const EVERY_POLL = ['positions', 'creditLine'] as const satisfies readonly SourceName[];

export function isEveryPoll(source: SourceName): boolean {
  return EVERY_POLL.some((one) => one === source);
}

/**
 * `ratio` is a fraction (5 % is 0.05). `money` is in the market's money currency, `baseAmount` in its stock currency.
 */
export type FieldUnit =
  | 'ratio'
  | 'ratioPerHour'
  | 'seconds'
  | 'minutes'
  | 'money'
  | 'price'
  | 'baseAmount'
  | 'assetAmount'
  | 'count';

/** How a comparison treats `none`: as above any threshold, as 0, or as false. `never`: the field always has a value. */
export type NoneMeaning = 'infinite' | 'zero' | 'absent' | 'never';

export interface ParameterSpec {
  readonly name: 'asset' | 'source' | 'windowMs';
  readonly required: boolean;
  readonly description: string;
  readonly values?: readonly string[];
  /** Bounds and default of `windowMs`, milliseconds. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

interface FieldBase {
  readonly name: string;
  readonly on: SubjectKind;
  /** Name for people; absent: derived from `name`, as in `margin usage`. */
  readonly label?: string;
  /** One sentence for authors of rules. */
  readonly description: string;
  /** How it is computed, in terms of the API and of this catalogue. */
  readonly formula: string;
  /** The read it comes from; `state`: kept by the daemon itself, such as the age of its data. */
  readonly source: SourceName | 'state';
  readonly none: NoneMeaning;
  /** The dangerous side of a threshold; `neither` where it depends on the rule. */
  readonly danger: 'below' | 'above' | 'neither';
  readonly parameters: readonly ParameterSpec[];
}

export interface NumberField extends FieldBase {
  readonly type: 'number';
  readonly unit: FieldUnit;
  /** Bounds of the value, if any: a threshold outside can never fire. */
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface EnumField extends FieldBase {
  readonly type: 'enum';
  readonly values: readonly string[];
}

export interface PlainField extends FieldBase {
  readonly type: 'string' | 'boolean';
  /** For a boolean: what is the case when it is true, and when it is false. */
  readonly cases?: { readonly whenTrue: string; readonly whenFalse: string };
}

/** One row of the field catalogue. */
export type FieldSpec = NumberField | EnumField | PlainField;

export const HORIZON_PARAMETER: ParameterSpec = {
  name: 'windowMs',
  required: true,
  description: 'how far ahead to look',
  minimum: 1_000,
  maximum: 30 * MS_PER_DAY,
};

export const WINDOW_PARAMETER: ParameterSpec = {
  name: 'windowMs',
  required: true,
  description: 'how far back to look',
  minimum: MS_PER_MINUTE,
  maximum: 30 * MS_PER_DAY,
};

export function assetParameter(description: string): ParameterSpec {
  return { name: 'asset', required: true, description };
}

export function sourceParameter(description: string): ParameterSpec {
  return { name: 'source', required: false, description, values: SOURCE_NAMES };
}

/** Common parts of the rows of one subject kind, by unit or type. A row overrides what differs. */
export function rowsOf<K extends SubjectKind>(on: K, source: SourceName) {
  const row = { on, source, none: 'never', danger: 'neither', parameters: [] } as const;
  const number = { ...row, type: 'number' } as const;
  return {
    yesNo: { ...row, type: 'boolean' },
    choice: { ...row, type: 'enum' },
    text: { ...row, type: 'string' },
    ratio: { ...number, unit: 'ratio' },
    ratioPerHour: { ...number, unit: 'ratioPerHour' },
    seconds: { ...number, unit: 'seconds' },
    minutes: { ...number, unit: 'minutes' },
    money: { ...number, unit: 'money' },
    price: { ...number, unit: 'price' },
    baseAmount: { ...number, unit: 'baseAmount' },
    assetAmount: { ...number, unit: 'assetAmount' },
    count: { ...number, unit: 'count' },
  } as const;
}
