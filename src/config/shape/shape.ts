import { z } from 'zod';
import type { ScalarIssue } from './scalars.ts';

type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The keys of a section with their schemas; each schema has a description. */
export type Keys = Readonly<Record<string, z.ZodType>>;

type WithDefaults<K extends Keys, D> = {
  [N in keyof K]: N extends keyof D ? z.ZodPrefault<K[N]> : K[N];
};

/**
 * A mapping with exactly these keys. Defaults have the form used in files (`'5s'`) and are read like any value, so that
 * documentation and behaviour cannot differ.
 */
export function section<K extends Keys, D extends { readonly [N in keyof K]?: JsonValue }>(
  keys: K,
  defaults: D,
): z.ZodObject<WithDefaults<K, D>> {
  const shape: Record<string, z.ZodType> = {};
  for (const [key, schema] of Object.entries(keys)) {
    const written = defaults[key];
    shape[key] = written === undefined ? schema : schema.prefault(written as never);
  }
  return z.strictObject(shape as WithDefaults<K, D>);
}

/** The same keys, all optional and without defaults, for what an account overrides. */
export function overrides<K extends Keys>(
  keys: K,
): z.ZodObject<{ [N in keyof K]: z.ZodExactOptional<K[N]> }> {
  const shape: Record<string, z.ZodType> = {};
  for (const [key, schema] of Object.entries(keys)) shape[key] = schema.exactOptional();
  return z.strictObject(shape as { [N in keyof K]: z.ZodExactOptional<K[N]> });
}

type Renamed<T, N> = { readonly [K in keyof T as K extends keyof N ? N[K] & string : K]: T[K] };

/** Renames keys in the parsed value: `fillWithin: 5s` becomes `fillWithinMs: 5000`. */
export function renamed<T extends object, const N extends { readonly [K in keyof T]?: string }>(
  schema: z.ZodType<T>,
  names: N,
): z.ZodType<Renamed<T, N>> {
  const nameOf = (key: string): string => (names as Readonly<Record<string, string>>)[key] ?? key;
  return schema.transform(
    (written) =>
      Object.fromEntries(Object.entries(written).map(([key, value]) => [nameOf(key), value])) as Renamed<
        T,
        N
      >,
  );
}

/** Caches a schema for each kind, because building one takes longer than reading with it. */
export function perKind<K, T>(build: (kind: K) => z.ZodType<T>): (kind: K) => z.ZodType<T> {
  const known = new Map<K, z.ZodType<T>>();
  return (kind) => {
    const schema = known.get(kind) ?? build(kind);
    known.set(kind, schema);
    return schema;
  };
}

/** Reads one value or a list of them as a list. */
export function oneOrMany<T>(item: z.ZodType<T>): z.ZodType<readonly T[]> {
  return z
    .preprocess(
      (written) => (Array.isArray(written) || written === undefined ? written : [written]),
      z.array(item).min(1),
    )
    .meta({ alsoOne: true });
}

/** A list of at least `min` items. */
export function list<T>(item: z.ZodType<T>, min = 0): z.ZodType<readonly T[]> {
  return z.array(item).min(min);
}

/**
 * Adds a check across the keys of a mapping or the items of a list. It also runs if single values are wrong: such a
 * value is present, but can be anything. `isComplete` is false if the mapping has unknown keys, since one of them may be a
 * missing key, misspelt.
 */
export function across<T>(
  schema: z.ZodType<T>,
  judge: (written: T, isComplete: boolean) => ScalarIssue | undefined,
): z.ZodType<T> {
  return schema.superRefine(
    (written, context) => {
      const isComplete = !context.issues.some((issue) => issue.code === 'unrecognized_keys' && isOwn(issue));
      const issue = judge(written, isComplete);
      if (issue !== undefined) context.issues.push({ code: 'custom', input: written, params: { ...issue } });
    },
    { when: ({ issues }) => !issues.some((issue) => issue.code === 'invalid_type' && isOwn(issue)) },
  );
}

/** For `across`: returns an issue unless exactly one of the keys is given. */
export function exactlyOne(
  names: readonly string[],
  written: object,
  isComplete: boolean,
): ScalarIssue | undefined {
  const given = names.filter((name) => name in written);
  if (given.length === 1 || (given.length === 0 && !isComplete)) return undefined;
  const isPair = names.length === 2;
  const none = isPair ? 'neither' : 'none of them';
  const several = isPair ? 'both' : given.join(' and ');
  return {
    expected: `exactly one of ${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`,
    got: given.length === 0 ? none : several,
  };
}

function isOwn({ path = [] }: z.core.$ZodRawIssue): boolean {
  return path.length === 0;
}
