import { suggest } from '../../app.ts';
import { isDecimalString } from '../../core/quantities/decimal.ts';
import { UsageError } from '../errors.ts';

/** Values by parameter name, without absent ones. */
export type Values = Readonly<Record<string, unknown>>;

const type = <T>(expected: string, read: (text: string) => T | undefined) => ({ expected, read });

/** One of a few values, or one of their other spellings. */
function choice<const T>(values: readonly T[], also: Readonly<Record<string, NoInfer<T>>> = {}) {
  const known = new Map([...values.map((value) => [String(value), value] as const), ...Object.entries(also)]);
  return type(`one of ${values.join(', ')}`, (text) => known.get(text));
}

const ONE_DATE = 'a Unix time in seconds, or a date such as 2026-01-31 or 2026-01-31T12:00:00Z';
/** A date without a time is midnight UTC. A time without a zone is ambiguous, so it is refused. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** By their names in the listing. Errors put `expected` after `must be`; `read` returns `undefined` for other texts. */
const TYPES = {
  text: type('a text that is not empty', (text) => text || undefined),
  /** Kept as text, so that no digit is lost. */
  decimal: type('a decimal such as 0.5', (text) => (isDecimalString(text) ? text : undefined)),
  'whole number': type('a whole number', (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined)),
  'Unix seconds or date': type(ONE_DATE, (text) => {
    if (/^\d{1,11}(?:\.\d{1,6})?$/.test(text)) return Number(text);
    return DATE.test(text) && !Number.isNaN(Date.parse(text)) ? Date.parse(text) / 1000 : undefined;
  }),
  'true|false': choice([true, false]),
  'buy|sell': choice(['buy', 'sell']),
  'LONG|SHORT|BOTH': choice(['LONG', 'SHORT', 'BOTH']),
  'spot|margin|futures': choice(['spot', 'margin', 'futures']),
  'deposit|withdrawal': choice(['deposit', 'withdrawal'], { '1': 'deposit', '2': 'withdrawal' }),
};

type TypeName = keyof typeof TYPES;
type ValueOf<N extends TypeName> = NonNullable<ReturnType<(typeof TYPES)[N]['read']>>;
type TypesFor<V> = { [N in TypeName]: ValueOf<N> extends V ? N : never }[TypeName];
type ElementOf<V> = V extends readonly (infer T)[] ? T : V;

/** One parameter per field of a request `Q`, of a type that the field accepts, in the order of the listing. */
export type ParametersOf<Q> = { readonly [F in keyof Q]-?: Parameter<TypesFor<ElementOf<Q[F]>>> };

type Parameter<N extends TypeName> = ReturnType<typeof required<N>>;

/** A repeatable parameter is a list. Aliases are names in addition to its own and the snake_case form of that. */
const declare =
  (form: { readonly required: boolean; readonly repeatable: boolean }) =>
  <N extends TypeName>(type: N, note: string, ...aliases: string[]) => ({ type, ...form, note, aliases });
export const required = declare({ required: true, repeatable: false });
export const optional = declare({ required: false, repeatable: false });
export const repeatable = declare({ required: false, repeatable: true });

/** Parameters as `--list --json` prints them: with names, and all aliases. */
export const named = (parameters: ParametersOf<Values>) =>
  Object.entries(parameters).map(([name, { aliases, ...parameter }]) => {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return Object.assign({ name, aliases: snake === name ? aliases : [snake, ...aliases] }, parameter);
  });
export type NamedParameters = ReturnType<typeof named>;

/**
 * Reads `name=value` texts for an endpoint. Errors contain no values, as these may be secret.
 * @throws UsageError naming every fault
 */
export function readParameters(
  endpoint: string,
  parameters: NamedParameters,
  texts: readonly string[],
): Values {
  const given = texts.map((text) => {
    const written = text.slice(0, Math.max(0, text.indexOf('=')));
    return { written, value: text.slice(written.length + 1) };
  });
  const values: Record<string, unknown> = {};
  const faults = new Set<string>();
  const unknown = new Set(given.map(({ written }) => written));
  const missing: string[] = [];
  for (const { name, aliases, type, required, repeatable } of parameters) {
    const own = given.filter(({ written }) => written === name || aliases.includes(written));
    const read = own.map(({ value }) => TYPES[type].read(value));
    for (const { written } of own) unknown.delete(written);
    if (read.includes(undefined)) faults.add(`${name} must be ${TYPES[type].expected}`);
    else if (read.length > 1 && !repeatable) faults.add(`${name} is given twice`);
    else if (read.length > 0) values[name] = repeatable ? read : read[0];
    else if (required) missing.push(`${name} (${type})`);
  }
  for (const written of unknown) faults.add(unknownName(endpoint, parameters, written));
  // A misspelt parameter is also a missing one: missing ones are named only if all spellings are right.
  if (missing.length > 0 && ![...faults].some((fault) => fault.startsWith('no parameter'))) {
    faults.add(`missing: ${missing.join(', ')}`);
  }
  if (faults.size === 0) return values;
  throw new UsageError(`${endpoint}: ${[...faults].join('; ')}.`, `See: call ${endpoint} --list`);
}

const NO_PAGES = 'only histories have pages, which are read one after another; use since or maxRecords';

function unknownName(endpoint: string, parameters: NamedParameters, written: string): string {
  if (written === '') return 'a --param is not name=value';
  if (/^customer\b/.test(written)) return 'customer: customer data comes from --customer-file only';
  if (/^offset\b/.test(written)) return `offset: ${NO_PAGES}`;
  if (/key|secret|token|password/i.test(written)) return 'credentials are no parameters';
  const fault = `no parameter ${JSON.stringify(written.slice(0, 64))}`;
  const spellings = parameters.flatMap(({ name, aliases }) => [name, ...aliases]);
  const meant = suggest(written, spellings);
  if (meant !== undefined) return `${fault} (did you mean ${meant}?)`;
  if (parameters.length === 0) return `${fault}; ${endpoint} takes none`;
  return `${fault}; there are ${parameters.map(({ name }) => name).join(', ')}`;
}
