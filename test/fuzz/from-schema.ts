import { z } from 'zod';
import { below, type Draw, oneOf } from './mutate.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** JSON Schema of an input; a part that JSON Schema cannot express accepts anything. */
export const jsonSchemaOf = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });

/** A few valid values for each pattern or format of the schemas. */
const WORDS = [
  'desk-1',
  'near',
  'BTC_PERP',
  'USDT',
  'BTC',
  'x',
  '1',
  '0.5',
  '60000',
  '5%',
  '12.5 %',
  '10s',
  '1h30m',
  '250ms',
  '22:00',
  'mon-fri',
  'Europe/London',
  '127.0.0.1',
  '10.0.0.0/8',
  'localhost',
  '/run/secrets/desk1',
  'DESK1_API_KEY',
  'K',
  'https://exchange.example',
  'http://127.0.0.1:1',
  'redis://127.0.0.1:6379',
  'smtp://127.0.0.1:25',
  'ann@example.org',
  '-100123',
  `sha256:${'0a'.repeat(32)}`,
  'k'.repeat(32),
];

/** Values by field name, so that generated references often name existing things. */
export type Known = Readonly<Record<string, readonly unknown[]>>;

interface Place {
  readonly draw: Draw;
  readonly root: JsonSchema;
  readonly known: Known;
  readonly depth: number;
}

/** Beyond this depth only required fields. */
const DEEP = 6;

/** A value that a JSON Schema describes; what the schema leaves open is random. Rarely violates a pattern. */
export function valueOf(
  draw: Draw,
  schema: JsonSchema,
  { root = schema, known = {} }: { readonly root?: JsonSchema; readonly known?: Known } = {},
): unknown {
  return drawn(schema, { draw, root, known, depth: 0 });
}

function drawn(schema: JsonSchema, place: Place): unknown {
  const { draw } = place;
  if (typeof schema['$ref'] === 'string') return drawn(referred(place.root, schema['$ref']), place);
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return oneOf(draw, schema['enum'] as unknown[]);
  for (const key of ['anyOf', 'oneOf'] as const) {
    if (Array.isArray(schema[key])) return drawn(oneOf(draw, schema[key] as JsonSchema[]), place);
  }
  if (Array.isArray(schema['allOf'])) return merged(schema['allOf'] as JsonSchema[], place);
  const type: unknown = Array.isArray(schema['type']) ? oneOf(draw, schema['type']) : schema['type'];
  switch (type) {
    case 'object':
      return objectFrom(schema, place);
    case 'array':
      return arrayFrom(schema, place);
    case 'integer':
      return Math.round(numberFrom(schema, draw));
    case 'number':
      return numberFrom(schema, draw);
    case 'boolean':
      return draw() < 0.5;
    case 'null':
      return null;
    default:
      return textFrom(schema, draw);
  }
}

function referred(root: JsonSchema, reference: string): JsonSchema {
  let found: unknown = root;
  for (const part of reference.split('/').slice(1)) found = (found as JsonSchema)[part];
  return found as JsonSchema;
}

function merged(parts: readonly JsonSchema[], place: Place): unknown {
  const values = parts.map((part) => drawn(part, place));
  return values.every((value) => typeof value === 'object' && value !== null)
    ? Object.assign({}, ...values)
    : values[0];
}

function objectFrom(schema: JsonSchema, place: Place): unknown {
  const { draw, known, depth } = place;
  const required = new Set((schema['required'] ?? []) as string[]);
  const inside = { ...place, depth: depth + 1 };
  // Otherwise a value with dozens of optional fields would never lack any.
  const share = depth >= DEEP ? 0 : draw();
  const fields = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const kept = fields.filter(([key]) => required.has(key) || draw() < share);
  // Many mappings require at least one entry.
  if (kept.length === 0 && fields.length > 0) kept.push(oneOf(draw, fields));
  const value: Record<string, unknown> = {};
  for (const [key, field] of kept) {
    const there = known[key];
    value[key] = there !== undefined && draw() < 0.8 ? oneOf(draw, there) : drawn(field, inside);
  }
  const { additionalProperties: others, propertyNames: names } = schema;
  if (typeof others !== 'object' || depth >= DEEP) return value;
  for (let count = below(draw, 4); count > 0; count -= 1)
    value[textFrom((names ?? {}) as JsonSchema, draw)] = drawn(others as JsonSchema, inside);
  return value;
}

function arrayFrom(schema: JsonSchema, place: Place): unknown {
  const { draw, depth } = place;
  const least = Number(schema['minItems'] ?? 0);
  const count = least + (depth >= DEEP ? 0 : below(draw, 4));
  const items = (schema['items'] ?? {}) as JsonSchema;
  return Array.from({ length: Math.min(count, Number(schema['maxItems'] ?? count)) }, () =>
    drawn(items, { ...place, depth: depth + 1 }),
  );
}

function numberFrom(schema: JsonSchema, draw: Draw): number {
  const least = Number(schema['minimum'] ?? schema['exclusiveMinimum'] ?? 0);
  const most = Math.min(Number(schema['maximum'] ?? schema['exclusiveMaximum'] ?? least + 1_000), 1e12);
  const kind = draw();
  if (kind < 0.2) return least;
  if (kind < 0.4) return most;
  return least + draw() * (most - least);
}

const matching = new Map<string, readonly string[]>();
const URI = '^[a-z]+://';

function textFrom({ format, pattern = format === 'uri' ? URI : undefined }: JsonSchema, draw: Draw): string {
  if (typeof pattern !== 'string') return oneOf(draw, WORDS);
  let words = matching.get(pattern);
  if (words === undefined) {
    const expression = new RegExp(pattern);
    words = WORDS.filter((word) => expression.test(word));
    matching.set(pattern, words);
  }
  return oneOf(draw, words.length === 0 ? WORDS : words);
}
