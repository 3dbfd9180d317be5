import { suggest } from '../../app.ts';
import { isDecimalString } from '../../core/quantities/decimal.ts';
import { UsageError } from '../errors.ts';

/** How the text of a parameter is read; `undefined` for a text that is not of the type. */
export interface ParameterType {
  /** As in the listing: `decimal`, `true|false`. */
  readonly says: string;
  readonly read: (text: string) => unknown;
}

export interface Parameter {
  readonly name: string;
  /** Other spellings: the specification's and the live service's. */
  readonly aliases?: readonly string[];
  readonly type: ParameterType;
  /** A list, given by repeating the parameter. */
  readonly repeatable?: true;
  readonly required?: true;
  readonly note: string;
}

/** Parsed parameters by their names; absent ones are absent. Lists are arrays. */
export type Values = Readonly<Record<string, unknown>>;

/** What has parameters: an endpoint. */
export interface Parameterized {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  /** Names that people will try, and what to say instead. */
  readonly hints?: Readonly<Record<string, string>>;
}

/** Kept as the text it is: no digit is lost. */
export const DECIMAL: ParameterType = {
  says: 'decimal',
  read: (text) => (isDecimalString(text) ? text : undefined),
};

export const BOOLEAN: ParameterType = {
  says: 'true|false',
  read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};

export const TEXT: ParameterType = {
  says: 'text',
  read: (text) => (text === '' ? undefined : text),
};

export const INTEGER: ParameterType = {
  says: 'whole number',
  read: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
};

/** A date without a time is midnight UTC; a time without a zone could mean several moments and is refused. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

export const TIME: ParameterType = {
  says: 'Unix seconds or date',
  read: (text) => {
    if (/^\d{1,11}(?:\.\d{1,6})?$/.test(text)) return Number(text);
    const ms = DATE.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(ms) ? undefined : ms / 1000;
  },
};

/** One of a few words; `also` has further spellings of them. */
export function choice(words: readonly string[], also: Readonly<Record<string, string>> = {}): ParameterType {
  return {
    says: words.join('|'),
    read: (text) => (words.includes(text) ? text : Object.hasOwn(also, text) ? also[text] : undefined),
  };
}

/**
 * Reads `name=value` texts against the table of an endpoint. Values never appear in an error: what somebody
 * typed there by mistake may be personal or secret.
 * @throws UsageError naming every fault at once.
 */
export function readParameters(target: Parameterized, texts: readonly string[]): Values {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const text of texts) {
    const equals = text.indexOf('=');
    const fault = equals < 1 ? 'a --param is not name=value' : readOne(target, values, text, equals);
    if (fault !== undefined && !faults.includes(fault)) faults.push(fault);
  }
  const missing = target.parameters.filter(({ name, required }) => required === true && !(name in values));
  // What is missing may be what was misspelt: it is named only when the spelling is right.
  if (missing.length > 0 && !faults.some((fault) => fault.startsWith('no parameter'))) {
    const names = missing.map(({ name, type }) => `${name} (${type.says})`).join(', ');
    faults.push(`missing: ${names}`);
  }
  if (faults.length === 0) return values;
  throw new UsageError(`${target.name}: ${faults.join('; ')}.`, `See: call ${target.name} --list`);
}

function readOne(
  target: Parameterized,
  values: Record<string, unknown>,
  text: string,
  equals: number,
): string | undefined {
  const written = text.slice(0, equals);
  const parameter = target.parameters.find(
    ({ name, aliases }) => name === written || aliases?.includes(written) === true,
  );
  if (parameter === undefined) return unknownName(target, written);
  const { name, type, repeatable } = parameter;
  const value = type.read(text.slice(equals + 1));
  if (value === undefined) return `${name} must be ${expected(type)}`;
  if (repeatable === true) {
    values[name] = [...((values[name] as unknown[] | undefined) ?? []), value];
  } else if (name in values) {
    return `${name} is given twice`;
  } else {
    values[name] = value;
  }
  return undefined;
}

function expected(type: ParameterType): string {
  if (type === DECIMAL) return 'a decimal such as 0.5';
  if (type === TEXT) return 'a text that is not empty';
  if (type === INTEGER) return 'a whole number';
  if (type === TIME) return 'a Unix time in seconds, or a date such as 2026-01-31 or 2026-01-31T12:00:00Z';
  return `one of ${type.says.split('|').join(', ')}`;
}

function unknownName({ name, parameters, hints = {} }: Parameterized, written: string): string {
  const first = written.split('.')[0] ?? written;
  if (Object.hasOwn(hints, first)) return `${first}: ${hints[first]}`;
  if (/key|secret|token|password/i.test(written)) return 'credentials are no parameters';
  const spellings = parameters.flatMap((parameter) => [parameter.name, ...(parameter.aliases ?? [])]);
  const meant = suggest(written, spellings);
  const shown = JSON.stringify(written.slice(0, 64));
  if (meant !== undefined) return `no parameter ${shown} (did you mean ${meant}?)`;
  const names = parameters.map((parameter) => parameter.name).join(', ');
  return `no parameter ${shown}; ${names === '' ? `${name} takes none` : `there are ${names}`}`;
}
