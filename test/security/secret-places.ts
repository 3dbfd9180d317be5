/** Where a config can have secrets, by its generated JSON Schema. */

interface Json {
  readonly type?: unknown;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Json>>;
  readonly additionalProperties?: Json | boolean;
  readonly items?: Json;
  readonly anyOf?: readonly Json[];
  readonly oneOf?: readonly Json[];
  readonly allOf?: readonly Json[];
  readonly $ref?: string;
  readonly definitions?: Readonly<Record<string, Json>>;
}

/** `*`: any key of a mapping, or any element of a list. `(slack)`: only if `type` says so. */
export type Place = readonly string[];

/** Every place where a reference to a secret, or the path of a private key, can stand. */
export function secretPlaces(schema: Json): readonly Place[] {
  const found = new Map<string, Place>();
  collect(schema, [], { definitions: schema.definitions ?? {}, open: new Set(), found });
  return [...found.values()];
}

interface Walk {
  readonly definitions: Readonly<Record<string, Json>>;
  /** Definitions in progress: they may be recursive. */
  readonly open: Set<string>;
  readonly found: Map<string, Place>;
}

function collect(schema: Json, at: Place, walk: Walk): void {
  const { properties = {}, additionalProperties, items, anyOf = [], oneOf = [], allOf = [], $ref } = schema;
  if (isReference(properties) || /^private key/i.test(schema.description ?? '')) {
    walk.found.set(at.join('.'), at);
    return;
  }
  const kind = properties['type']?.enum?.[0];
  const here = kind === undefined ? at : [...at, `(${kind})`];
  for (const [key, inner] of Object.entries(properties)) collect(inner, [...here, key], walk);
  if (typeof additionalProperties === 'object') collect(additionalProperties, [...at, '*'], walk);
  if (items !== undefined) collect(items, [...at, '*'], walk);
  for (const inner of [...anyOf, ...oneOf, ...allOf]) collect(inner, at, walk);
  const name = $ref?.replace('#/definitions/', '');
  const target = name === undefined ? undefined : walk.definitions[name];
  if (name === undefined || target === undefined || walk.open.has(name)) return;
  walk.open.add(name);
  collect(target, at, walk);
  walk.open.delete(name);
}

/** `{ env: NAME }` or `{ file: PATH }`. */
function isReference(properties: Readonly<Record<string, Json>>): boolean {
  const keys = Object.keys(properties);
  return keys.length === 1 && (keys[0] === 'env' || keys[0] === 'file');
}

/** The value of a config at a place: `{ env }`, `{ file }`, or the path of a key. */
export function writtenAt(config: unknown, place: Place): readonly unknown[] {
  const [key, ...rest] = place;
  if (key === undefined) return [config];
  if (typeof config !== 'object' || config === null) return [];
  if (key.startsWith('(')) {
    return `(${String(Reflect.get(config, 'type'))})` === key ? writtenAt(config, rest) : [];
  }
  if (key === '*') return Object.values(config).flatMap((inner) => writtenAt(inner, rest));
  return Object.hasOwn(config, key) ? writtenAt(Reflect.get(config, key), rest) : [];
}
