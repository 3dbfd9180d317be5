import { PARAMETER_KEYS } from '../../src/config/rules/condition.ts';
import { SUBJECT_KINDS } from '../../src/config/rules/rule.ts';
import { type FieldSpec, fieldsOf } from '../../src/core/fields/field-catalogue.ts';
import type { SubjectKind } from '../../src/core/rules/rule.ts';
import { describedJsonSchema } from './json-schema.ts';

/** Tables of docs/rules.md and docs/config.md, as Markdown. */

const SUBJECT_TITLES: Readonly<Record<SubjectKind, string>> = {
  position: 'Position',
  creditLine: 'Credit line',
  account: 'Account',
};

/** The field catalogue: one table per kind of subject. */
export function fieldTables(): string {
  return SUBJECT_KINDS.map((on) => {
    const rows = fieldsOf(on).map(
      (field) =>
        `| \`${field.name}\` | ${typeInWords(field)} | ${parametersInWords(field)} | ${field.description} | ${escaped(field.formula)} |`,
    );
    return [
      `### ${SUBJECT_TITLES[on]} (\`on: ${on}\`)`,
      '',
      '| Field | Type | Keys besides the comparison | What it is | How it is computed |',
      '|---|---|---|---|---|',
      ...rows,
    ].join('\n');
  }).join('\n\n');
}

const UNIT_WORDS: Readonly<Record<string, string>> = {
  ratio: 'ratio (`5%`)',
  ratioPerHour: 'ratio per hour (`2%`)',
  seconds: 'time (`90s`)',
  minutes: 'time (`2h`)',
  money: 'money currency',
  price: 'price',
  baseAmount: 'stock currency',
  assetAmount: 'amount of the asset',
  count: 'count',
};

function typeInWords(field: FieldSpec): string {
  if (field.type === 'number') return UNIT_WORDS[field.unit] ?? field.unit;
  if (field.type === 'enum') return `one of ${field.values.map((value) => `\`${value}\``).join(', ')}`;
  return field.type === 'boolean' ? '`true` or `false`' : 'text';
}

function parametersInWords({ parameters }: FieldSpec): string {
  return parameters
    .map(
      ({ name, required, description }) =>
        `\`${PARAMETER_KEYS[name]}\`${required ? '' : ' (optional)'}: ${escaped(description)}`,
    )
    .join('; ');
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

interface SchemaNode {
  readonly description?: string;
  readonly expected?: string;
  readonly default?: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly $ref?: string;
  readonly enum?: readonly unknown[];
}

/** Every key outside `rules` with its default, from the schemas that the loader uses. */
export function keyTable(): string {
  const root = describedJsonSchema() as SchemaNode;
  const rows: string[] = [];
  for (const [key, node] of Object.entries(root.properties ?? {})) {
    if (key !== 'rules') addRows(rows, key, node, root.required?.includes(key) ?? false);
  }
  return [...HEAD, ...rows].join('\n');
}

/** Every key of a rule, for all kinds of subject. */
export function ruleKeyTable(): string {
  const root = describedJsonSchema() as SchemaNode & { definitions?: Record<string, SchemaNode> };
  const kinds = root.properties?.['rules']?.items?.anyOf ?? [];
  const actions = SUBJECT_KINDS.map((on) => root.definitions?.[`${on}Action`] ?? {});
  const { on, ...keys } = mergedProperties(kinds);
  const rows: string[] = [];
  const required = new Set(kinds[0]?.required);
  for (const [key, node] of Object.entries({
    id: keys['id'] ?? {},
    on: { ...on, ...WHAT_IT_JUDGES },
    ...keys,
  })) {
    addRows(rows, key, node, required.has(key));
  }
  for (const [kind, node] of Object.entries(mergedProperties(actions))) {
    addRows(rows, `do[].${kind}`, node, false);
  }
  return [...HEAD, ...rows].join('\n');
}

const HEAD = ['| Key | What it may be | Default | What it is |', '|---|---|---|---|'];
const WHAT_IT_JUDGES = { expected: `one of ${SUBJECT_KINDS.join(', ')}` };

/** Merges the properties of all nodes, recursively. For a repeated key the first node's texts win. */
function mergedProperties(nodes: readonly SchemaNode[]): Record<string, SchemaNode> {
  const merged: Record<string, SchemaNode> = {};
  for (const { properties } of nodes) {
    for (const [key, node] of Object.entries(properties ?? {})) {
      const known = merged[key];
      const both = known?.properties !== undefined && node.properties !== undefined;
      merged[key] = both ? { ...known, properties: mergedProperties([known, node]) } : (known ?? node);
    }
  }
  return merged;
}

/** Sections of an account with the same keys as the file's section of that name. */
const REPEATED: ReadonlySet<string> = new Set([
  'accounts[].cadence',
  'accounts[].exchange',
  'accounts[].acting',
  'accounts[].depositLink',
]);

function addRows(rows: string[], path: string, node: SchemaNode, required: boolean): void {
  rows.push(
    `| \`${path}\` | ${shapeInWords(node)} | ${defaultInWords(node, required)} | ${escaped(node.description ?? '')} |`,
  );
  if (REPEATED.has(path)) return;
  if (node.properties !== undefined) addChildren(rows, path, node);
  const { additionalProperties: entries, items } = node;
  if (typeof entries === 'object' && entries.properties !== undefined)
    addChildren(rows, `${path}.*`, entries);
  if (typeof entries === 'object' && entries.anyOf !== undefined) addKinds(rows, `${path}.*`, entries.anyOf);
  if (items?.properties !== undefined) addChildren(rows, `${path}[]`, items);
}

/** Entries of several kinds, distinguished by `type`. Lists each key once, with its kinds unless all have it. */
function addKinds(rows: string[], path: string, kinds: readonly SchemaNode[]): void {
  const types = kinds.flatMap(({ properties }) => (properties?.['type']?.enum ?? []).map(String));
  const shape = `one of ${types.join(', ')}`;
  const told = kinds.map(
    ({ properties }, index) => `\`${types[index]}\`: ${properties?.['type']?.description ?? ''}`,
  );
  rows.push(`| \`${path}.type\` | ${shape} | (required) | ${told.join(' ')} |`);
  const kindsOf = new Map<string, { name: string; cells: string; of: string[] }>();
  for (const [index, { properties, required }] of kinds.entries()) {
    for (const [key, node] of Object.entries(properties ?? {})) {
      if (key === 'type') continue;
      const cells = `${shapeInWords(node)} | ${defaultInWords(node, required?.includes(key) ?? false)} | ${escaped(node.description ?? '')} |`;
      const row = kindsOf.get(`${key} ${cells}`) ?? { name: `\`${path}.${key}\``, cells, of: [] };
      row.of.push(types[index] ?? '');
      kindsOf.set(`${key} ${cells}`, row);
    }
  }
  for (const { name, cells, of } of kindsOf.values()) {
    rows.push(`| ${name}${of.length === kinds.length ? '' : ` (${of.join(', ')})`} | ${cells}`);
  }
}

function addChildren(rows: string[], path: string, node: SchemaNode): void {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    addRows(rows, `${path}.${key}`, child, node.required?.includes(key) ?? false);
  }
}

function shapeInWords(node: SchemaNode): string {
  if (node.expected !== undefined) return escaped(node.expected);
  if (node.$ref !== undefined) return 'a condition';
  if (node.items?.$ref !== undefined) return 'a list of actions';
  if (node.items?.expected !== undefined) return `a list, each ${escaped(node.items.expected)}`;
  if (node.type === 'array') return 'a list';
  return 'a mapping';
}

function defaultInWords(node: SchemaNode, required: boolean): string {
  if (required) return '(required)';
  const { default: given } = node;
  if (given === undefined) return 'none';
  if (Array.isArray(given)) return given.length === 0 ? 'none' : `\`[${given.map(String).join(', ')}]\``;
  if (typeof given === 'object' && given !== null)
    return Object.keys(given).length === 0 ? 'none' : 'as below';
  return `\`${JSON.stringify(given).replaceAll('"', '')}\``;
}

/** Returns the document with its generated parts, `<!-- generated: name -->` to `<!-- end -->`, replaced. */
export function withGenerated(document: string, parts: Readonly<Record<string, string>>): string {
  return document.replaceAll(
    /(<!-- generated: ([\w-]+) -->)[\s\S]*?(<!-- end -->)/g,
    (whole, start: string, part: string, end: string) =>
      parts[part] === undefined ? whole : `${start}\n\n${parts[part]}\n\n${end}`,
  );
}
