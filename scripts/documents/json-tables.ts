import { z } from 'zod';
import { openApi } from '../../src/web/api/openapi.ts';
import { JSON_SHAPES } from './json-shapes.ts';

interface Node {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly type?: string | readonly string[];
  readonly items?: Node;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Node | boolean;
  /** A type of the API: the output has its fields and some of its own. */
  readonly more?: string;
}

type Definitions = Readonly<Record<string, Node>>;

/** Types that the description of the API has: a table names them; the fields of all others are its rows. */
const OF_API = (openApi('')['components'] as { readonly schemas: Definitions }).schemas;

/** Tables of the fields of each shape. */
export function jsonShapeTables(): string {
  return Object.entries(JSON_SHAPES)
    .map(([command, shape]) => {
      const root = z.toJSONSchema(shape, { unrepresentable: 'any' }) as Node & {
        readonly $defs?: Definitions;
      };
      const defs = root.$defs ?? {};
      const rows = rowsWithin(root, defs, '');
      const table = rows.length === 0 ? [] : ['', '| Field | Type | Meaning |', '|---|---|---|', ...rows];
      const isNamed = rows.length === 0 || root.more !== undefined;
      const head = isNamed ? ['', `Each line is of the type ${typeOf(root, defs)}.`] : [];
      return [`### \`${command}\``, ...head, ...table].join('\n');
    })
    .join('\n\n');
}

/** A row for each field, followed by the fields within it: `accounts[].rules[].id`. */
function rowsOf(node: Node, defs: Definitions, prefix: string): readonly string[] {
  const kinds = kindsOf(node, defs).filter(({ properties }) => properties !== undefined);
  const inherited = new Set(kinds.flatMap(({ more = '' }) => Object.keys(OF_API[more]?.properties ?? {})));
  const names = new Set(kinds.flatMap(({ properties }) => Object.keys(properties ?? {})));
  return [...names].flatMap((name) => {
    if (inherited.has(name)) return [];
    const found = kinds.flatMap(({ properties }) => properties?.[name] ?? []);
    const absent = absenceOf(name, kinds);
    const type = [...new Set(found.map((one) => typeOf(one, defs)))].join(' or ');
    const meaning = [...new Set(found.flatMap(({ description }) => description ?? []))].join(' ');
    const path = `${prefix}${name}`;
    const row = `| \`${path}\` | ${type}${absent} | ${meaning.replaceAll('|', '\\|')} |`;
    return [row].concat(rowsWithin({ anyOf: found }, defs, path));
  });
}

/** Says whether a field may be absent, or of which kinds it is. */
function absenceOf(name: string, kinds: readonly Node[]): string {
  const having = kinds.filter(({ properties }) => properties?.[name] !== undefined);
  const isSure = having.every(({ required }) => required?.includes(name));
  const maybe = isSure ? '' : ', may be absent';
  if (having.length === kinds.length) return maybe;
  const kind = ['kind', 'event', 'outcome', 'from'].find((one) =>
    kinds.every(({ properties }) => properties?.[one]?.const !== undefined),
  );
  if (kind === undefined) return ', may be absent';
  const values = new Set(having.map(({ properties }) => `\`${JSON.stringify(properties?.[kind]?.const)}\``));
  return `${maybe}, only with \`${kind}\` ${[...values].join(', ')}`;
}

function rowsWithin(node: Node, defs: Definitions, path: string): readonly string[] {
  const kinds = kindsOf(node, defs);
  const items = kinds.flatMap((one) => one.items ?? []);
  const values = kinds.flatMap(({ additionalProperties: one }) => (typeof one === 'object' ? one : []));
  return [
    ...rowsOf({ anyOf: kinds }, defs, path === '' ? '' : `${path}.`),
    ...(items.length === 0 ? [] : rowsWithin({ anyOf: items }, defs, `${path}[]`)),
    ...(values.length === 0 ? [] : rowsWithin({ anyOf: values }, defs, `${path}.*`)),
  ];
}

/** The alternatives of a type, without those that the API describes. */
function kindsOf(node: Node, defs: Definitions): readonly Node[] {
  if (node.$ref !== undefined) {
    const name = nameIn(node.$ref);
    return name in OF_API ? [] : kindsOf(defs[name] ?? {}, defs);
  }
  const { anyOf = node.oneOf } = node;
  return anyOf === undefined ? [node] : anyOf.flatMap((one) => kindsOf(one, defs));
}

function typeOf(node: Node, defs: Definitions): string {
  const { $ref, const: only, enum: some, anyOf = node.oneOf, type, items, more, additionalProperties } = node;
  if ($ref !== undefined) {
    const name = nameIn($ref);
    return name in OF_API ? `\`${name}\`` : typeOf(defs[name] ?? {}, defs);
  }
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (some !== undefined) return some.map((one) => `\`${JSON.stringify(one)}\``).join(', ');
  if (anyOf !== undefined) return [...new Set(anyOf.map((one) => typeOf(one, defs)))].join(' or ');
  if (items !== undefined) return `list of ${typeOf(items, defs)}`;
  if (more !== undefined) return `\`${more}\` with more`;
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0)
    return `${typeOf(additionalProperties, defs)} by name`;
  return typeof type === 'string' ? type : (type?.join(' or ') ?? 'any');
}

function nameIn(ref: string): string {
  return ref.replace('#/$defs/', '');
}
