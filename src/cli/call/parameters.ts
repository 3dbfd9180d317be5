import { suggest } from '../../app.ts';
import { isDecimalString } from '../../core/quantities/decimal.ts';
import { UsageError } from '../errors.ts';

/** How the text of a parameter is read. */
interface ParameterType<T> {
  /** As in the listing: `decimal`, `true|false`. */
  readonly says: string;
  /** As in an error, after `must be`. */
  readonly expected: string;
  /** `undefined` for a text that is not of the type. */
  readonly read: (text: string) => T | undefined;
}

/** `repeatable`: a list, given by repeating the parameter. `prefilled`: has a value of its own unless given. */
type Form = 'required' | 'optional' | 'repeatable' | 'prefilled';

interface Parameter {
  readonly form: Form;
  readonly type: ParameterType<unknown>;
  readonly note: string;
  /** Other spellings: the specification's and the live service's. */
  readonly aliases: readonly string[];
  /** The value of a prefilled one; `uuid` is fresh. */
  readonly initial?: (uuid: string) => unknown;
}

/** Parameters by their names, in the order of the listing. */
export type ParameterTable = Readonly<Record<string, Parameter>>;

/** What is read from the parameters of a table; absent ones are absent. */
export type ValuesOf<P extends ParameterTable> = {
  readonly [N in keyof P as P[N]['form'] extends 'required' | 'prefilled' ? N : never]: ValueOf<P[N]>;
} & {
  readonly [N in keyof P as P[N]['form'] extends 'required' | 'prefilled' ? never : N]?: ValueOf<P[N]>;
};
type ValueOf<P> = P extends { readonly type: ParameterType<infer T> }
  ? P extends { readonly form: 'repeatable' }
    ? readonly T[]
    : T
  : never;

/** The same where it is not known of which table they are. */
export type Values = Readonly<Record<string, unknown>>;

const declare =
  <F extends Form>(form: F) =>
  <T>(type: ParameterType<T>, note: string, ...aliases: readonly string[]) => ({ form, type, note, aliases });

export const required = declare('required');
export const optional = declare('optional');
export const repeatable = declare('repeatable');
const prefilled = declare('prefilled');
export const withDefault = <T>(initial: (uuid: string) => T, ...rest: Parameters<typeof prefilled<T>>) => ({
  ...prefilled(...rest),
  initial,
});

const typed = <T>(
  says: string,
  expected: string,
  read: (text: string) => T | undefined,
): ParameterType<T> => ({ says, expected, read });

/** Kept as the text it is: no digit is lost. */
export const DECIMAL = typed('decimal', 'a decimal such as 0.5', (text) =>
  isDecimalString(text) ? text : undefined,
);

export const TEXT = typed('text', 'a text that is not empty', (text) => (text === '' ? undefined : text));

export const INTEGER = typed('whole number', 'a whole number', (text) =>
  /^\d{1,15}$/.test(text) ? Number(text) : undefined,
);

/** A date without a time is midnight UTC; a time without a zone could mean several moments and is refused. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

export const TIME = typed(
  'Unix seconds or date',
  'a Unix time in seconds, or a date such as 2026-01-31 or 2026-01-31T12:00:00Z',
  (text) => {
    if (/^\d{1,11}(?:\.\d{1,6})?$/.test(text)) return Number(text);
    const ms = DATE.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(ms) ? undefined : ms / 1000;
  },
);

/** One of a few values; `also` has further spellings of them. */
export function choice<const T>(values: readonly T[], also: Readonly<Record<string, NoInfer<T>>> = {}) {
  const known = new Map([...values.map((value) => [String(value), value] as const), ...Object.entries(also)]);
  return typed(values.join('|'), `one of ${values.join(', ')}`, (text) => known.get(text));
}

export const BOOLEAN = choice([true, false]);

/** What has parameters: an endpoint. */
interface Parameterized {
  readonly name: string;
  readonly parameters: ParameterTable;
  /** Names that people will try, and what to say instead. */
  readonly hints?: Readonly<Record<string, string>>;
}

/** Reads `name=value` texts; values appear in no error, as they may be secret. @throws UsageError naming every fault */
export function readParameters(target: Parameterized, texts: readonly string[], uuid: string): Values {
  const values: Record<string, unknown> = {};
  const faults = new Set(texts.flatMap((text) => readOne(target, values, text) ?? []));
  const table = Object.entries(target.parameters);
  const missing = table.filter(([name, { form }]) => form === 'required' && !(name in values));
  // What is missing may be what was misspelt: it is named only when the spelling is right.
  if (missing.length > 0 && ![...faults].some((fault) => fault.startsWith('no parameter'))) {
    faults.add(`missing: ${missing.map(([name, { type }]) => `${name} (${type.says})`).join(', ')}`);
  }
  if (faults.size > 0) {
    throw new UsageError(`${target.name}: ${[...faults].join('; ')}.`, `See: call ${target.name} --list`);
  }
  for (const [name, { initial }] of table) if (initial !== undefined) values[name] ??= initial(uuid);
  return values;
}

/** Adds what one text says to the values, or returns its fault. */
function readOne(target: Parameterized, values: Record<string, unknown>, text: string): string | undefined {
  const equals = text.indexOf('=');
  if (equals < 1) return 'a --param is not name=value';
  const written = text.slice(0, equals);
  const found = Object.entries(target.parameters).find(
    ([name, { aliases }]) => name === written || aliases.includes(written),
  );
  if (found === undefined) return unknownName(target, written);
  const [name, { type, form }] = found;
  const value = type.read(text.slice(equals + 1));
  if (value === undefined) return `${name} must be ${type.expected}`;
  if (form !== 'repeatable' && name in values) return `${name} is given twice`;
  values[name] = form === 'repeatable' ? [...((values[name] as unknown[] | undefined) ?? []), value] : value;
  return undefined;
}

function unknownName({ name, parameters, hints = {} }: Parameterized, written: string): string {
  const first = written.split('.')[0] ?? written;
  if (Object.hasOwn(hints, first)) return `${first}: ${hints[first]}`;
  if (/key|secret|token|password/i.test(written)) return 'credentials are no parameters';
  const names = Object.keys(parameters);
  const meant = suggest(
    written,
    names.flatMap((known) => [known, ...(parameters[known]?.aliases ?? [])]),
  );
  const shown = JSON.stringify(written.slice(0, 64));
  if (meant !== undefined) return `no parameter ${shown} (did you mean ${meant}?)`;
  return `no parameter ${shown}; ${names.length === 0 ? `${name} takes none` : `there are ${names.join(', ')}`}`;
}
