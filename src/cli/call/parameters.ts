import { suggest } from '../../app.ts';
import { isDecimalString } from '../../core/quantities/decimal.ts';
import { UsageError } from '../errors.ts';

/** How the text of a parameter is read: `says` stands in the listing, `expected` in an error after `must be`. */
interface ParameterType<T> {
  readonly says: string;
  readonly expected: string;
  /** `undefined` for a text that is not of the type. */
  readonly read: (text: string) => T | undefined;
}

/** What was read, by the names of parameters; absent ones are absent. */
export type Values = Readonly<Record<string, unknown>>;

/** One parameter, whose value is a `V`. */
interface Parameter<V = unknown> {
  /** A repeatable one is a list, given by repeating the parameter. */
  readonly form: 'required' | 'optional' | 'repeatable';
  readonly type: ParameterType<V extends readonly (infer T)[] ? T : V>;
  readonly note: string;
  /** Further names, beside the own one and its spelling in snake_case. */
  readonly aliases: readonly string[];
}

/** One parameter for each field of a request `Q`, in the order of the listing. */
export type ParametersOf<Q> = { readonly [N in keyof Q]-?: Parameter<NonNullable<Q[N]>> };

const declare =
  (form: Parameter['form']) =>
  <T>(type: ParameterType<T>, note: string, ...aliases: string[]) => ({ form, type, note, aliases });

export const required = declare('required');
export const optional = declare('optional');
export const repeatable = declare('repeatable');

const type = <T>(says: string, expected: string, read: ParameterType<T>['read']) => ({
  says,
  expected,
  read,
});

/** One of a few values, or of further spellings of them. */
function choice<const T>(values: readonly T[], also: Readonly<Record<string, NoInfer<T>>> = {}) {
  const known = new Map([...values.map((value) => [String(value), value] as const), ...Object.entries(also)]);
  return type(values.join('|'), `one of ${values.join(', ')}`, (text) => known.get(text));
}

const ONE_DATE = 'a Unix time in seconds, or a date such as 2026-01-31 or 2026-01-31T12:00:00Z';
/** A date without a time is midnight UTC; a time without a zone could mean several moments and is refused. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

export const types = {
  text: type('text', 'a text that is not empty', (text) => text || undefined),
  /** Kept as the text it is: no digit is lost. */
  decimal: type('decimal', 'a decimal such as 0.5', (text) => (isDecimalString(text) ? text : undefined)),
  integer: type('whole number', 'a whole number', (text) =>
    /^\d{1,15}$/.test(text) ? Number(text) : undefined,
  ),
  time: type('Unix seconds or date', ONE_DATE, (text) => {
    if (/^\d{1,11}(?:\.\d{1,6})?$/.test(text)) return Number(text);
    return DATE.test(text) && !Number.isNaN(Date.parse(text)) ? Date.parse(text) / 1000 : undefined;
  }),
  boolean: choice([true, false]),
  side: choice(['buy', 'sell']),
  positionSide: choice(['LONG', 'SHORT', 'BOTH']),
  orderType: choice(['spot', 'margin', 'futures']),
  transferMethod: choice(['deposit', 'withdrawal'], { '1': 'deposit', '2': 'withdrawal' }),
};

/** Names that people will try, and what to say instead. */
const HINTS: Readonly<Record<string, string>> = {
  offset: 'only histories have pages, which are read one after another; use since or maxRecords',
  customer: 'customer data comes from --customer-file only',
};

/** All names of a parameter: its own, the same in snake_case, and further ones of the exchange. */
export function spellingsOf([name, { aliases }]: [string, Parameter]): readonly string[] {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return [...new Set([name, snake, ...aliases])];
}

/**
 * Reads `name=value` texts for the endpoint of this name; values appear in no error, as they may be secret. @throws
 * UsageError naming every fault
 */
export function readParameters(
  endpoint: string,
  parameters: ParametersOf<Values>,
  texts: readonly string[],
): Values {
  const values: Record<string, unknown> = {};
  const table = Object.entries(parameters);
  const faults = new Set(texts.flatMap((text) => readOne(endpoint, table, values, text) ?? []));
  const missing = table.filter(([name, { form }]) => form === 'required' && !(name in values));
  // What is missing may be what was misspelt: it is named only when the spelling is right.
  if (missing.length > 0 && ![...faults].some((fault) => fault.startsWith('no parameter'))) {
    faults.add(`missing: ${missing.map(([name, { type }]) => `${name} (${type.says})`).join(', ')}`);
  }
  if (faults.size === 0) return values;
  throw new UsageError(`${endpoint}: ${[...faults].join('; ')}.`, `See: call ${endpoint} --list`);
}

/** Adds what one text says to the values, or returns its fault. */
function readOne(
  endpoint: string,
  table: readonly [string, Parameter][],
  values: Record<string, unknown>,
  text: string,
): string | undefined {
  const equals = text.indexOf('=');
  if (equals < 1) return 'a --param is not name=value';
  const written = text.slice(0, equals);
  const found = table.find((one) => spellingsOf(one).includes(written));
  if (found === undefined) return unknownName(endpoint, table, written);
  const [name, { type, form }] = found;
  const value = type.read(text.slice(equals + 1));
  if (value === undefined) return `${name} must be ${type.expected}`;
  if (form !== 'repeatable' && name in values) return `${name} is given twice`;
  values[name] = form === 'repeatable' ? [...((values[name] as unknown[] | undefined) ?? []), value] : value;
  return undefined;
}

function unknownName(endpoint: string, table: readonly [string, Parameter][], written: string): string {
  const first = written.split('.')[0] ?? written;
  if (Object.hasOwn(HINTS, first)) return `${first}: ${HINTS[first]}`;
  if (/key|secret|token|password/i.test(written)) return 'credentials are no parameters';
  const meant = suggest(written, table.flatMap(spellingsOf));
  const names = table.map(([name]) => name).join(', ');
  const shown = JSON.stringify(written.slice(0, 64));
  if (meant !== undefined) return `no parameter ${shown} (did you mean ${meant}?)`;
  return `no parameter ${shown}; ${names === '' ? `${endpoint} takes none` : `there are ${names}`}`;
}
