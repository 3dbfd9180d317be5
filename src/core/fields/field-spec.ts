import type { SubjectKind } from '../rules/rule.ts';

/** The parts of an account that are read from the exchange, each with its own age and completeness. */
export const SOURCE_NAMES = ['positions', 'creditLine', 'mainBalance', 'transfers', 'spotOrders'] as const;

export type SourceName = (typeof SOURCE_NAMES)[number];

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

/**
 * What `none` is to a comparison: more than any threshold, 0, or false whatever is compared. `never`: it has a value.
 */
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
  /** What people call it; absent: what its name says, as in `margin usage`. */
  readonly label?: string;
  /** One sentence for people who write rules. */
  readonly description: string;
  /** How it is computed, from the names of the API and of this catalogue. */
  readonly formula: string;
  /** The read it stems from; `state` marks what the daemon itself keeps, such as the age of its data. */
  readonly source: SourceName | 'state';
  readonly none: NoneMeaning;
  /** The side of a threshold that is dangerous; `neither` where it depends on the rule. */
  readonly danger: 'below' | 'above' | 'neither';
  readonly parameters: readonly ParameterSpec[];
}

export interface NumberField extends FieldBase {
  readonly type: 'number';
  readonly unit: FieldUnit;
  /** Bounds that the value cannot leave, where there are any: a threshold outside can never fire. */
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface EnumField extends FieldBase {
  readonly type: 'enum';
  readonly values: readonly string[];
}

export interface PlainField extends FieldBase {
  readonly type: 'string' | 'boolean';
  /** Of a boolean: what is the case when it is true, and when it is false. */
  readonly cases?: { readonly whenTrue: string; readonly whenFalse: string };
}

/** One row of the field catalogue. */
export type FieldSpec = NumberField | EnumField | PlainField;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export const HORIZON_PARAMETER: ParameterSpec = {
  name: 'windowMs',
  required: true,
  description: 'how far ahead to look',
  minimum: 1_000,
  maximum: 30 * DAY_MS,
};

export const WINDOW_PARAMETER: ParameterSpec = {
  name: 'windowMs',
  required: true,
  description: 'how far back to look',
  minimum: MINUTE_MS,
  maximum: 30 * DAY_MS,
};

export function assetParameter(description: string): ParameterSpec {
  return { name: 'asset', required: true, description };
}

export function sourceParameter(description: string): ParameterSpec {
  return { name: 'source', required: false, description, values: SOURCE_NAMES };
}

/** What the rows of one kind of subject begin with, by unit or type. A row overrides what differs. */
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
