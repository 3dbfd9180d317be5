import { parseAst } from 'vitest/node';

/** What a programmer may get wrong: the mutants of one file, found in its syntax tree. */

export interface Mutant {
  /** `src/core/x.ts:line:column:kind`, with a number where a place has several of a kind. */
  readonly id: string;
  readonly file: string;
  readonly kind: string;
  /** Of the text that is replaced. */
  readonly start: number;
  readonly end: number;
  readonly from: string;
  /** `null`: the statement is left out. */
  readonly to: string | null;
}

type Change = Omit<Mutant, 'id' | 'file' | 'from'>;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const BOUNDARY: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const NEGATION: Readonly<Record<string, string>> = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '===': '!==',
  '!==': '===',
};
const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '+=': '-=',
  '-=': '+=',
};
/** Of methods: those of decimals, arrays and texts. */
const METHODS: Readonly<Record<string, readonly string[]>> = {
  gt: ['gte', 'lte'],
  gte: ['gt', 'lt'],
  lt: ['lte', 'gte'],
  lte: ['lt', 'gt'],
  plus: ['minus'],
  minus: ['plus'],
  times: ['div'],
  some: ['every'],
  every: ['some'],
  startsWith: ['endsWith'],
  min: ['max'],
  max: ['min'],
};
/** Methods whose result is what they are called on, more or less. */
const PASSING = new Set(['filter', 'toSorted', 'toReversed', 'slice', 'abs', 'trim']);
const FUNCTIONS: ReadonlyMap<unknown, string> = new Map([
  ['minDecimal', 'maxDecimal'],
  ['maxDecimal', 'minDecimal'],
]);

/** Only types, or names and addresses. */
const SKIPPED_KEYS = new Set([
  'typeAnnotation',
  'typeParameters',
  'typeArguments',
  'superTypeArguments',
  'returnType',
  'implements',
  'decorators',
  'attributes',
]);
const SKIPPED_NODES = new Set([
  'ImportDeclaration',
  'ExportAllDeclaration',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
  'ThrowStatement',
  'ImportExpression',
]);

/** All mutants of a file, in the order of its text. Words for people, types and imports have none. */
export function mutantsOf(file: string, text: string): readonly Mutant[] {
  const changes: Change[] = [];
  walk(parseAst(text, { lang: 'ts' }) as unknown as Node, text, changes);
  const seen = new Map<string, number>();
  return changes.map(({ kind, start, end, to }) => {
    const before = text.slice(0, start).split('\n');
    const place = `${file}:${before.length}:${(before.at(-1) ?? '').length + 1}:${kind}`;
    const count = (seen.get(place) ?? 0) + 1;
    seen.set(place, count);
    const id = count === 1 ? place : `${place}#${count}`;
    return { id, file, kind, start, end, from: text.slice(start, end), to };
  });
}

function walk(node: Node, text: string, changes: Change[]): void {
  if (SKIPPED_NODES.has(node.type)) return;
  changes.push(...changesOf(node, text));
  for (const [key, value] of Object.entries(node)) {
    if (SKIPPED_KEYS.has(key) || isName(node, key)) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, text, changes);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function isName(node: Node, key: string): boolean {
  return key === 'source' || ((key === 'key' || key === 'property') && node['computed'] !== true);
}

function changesOf(node: Node, text: string): readonly Change[] {
  const code = (part: unknown): string => {
    const { start, end } = part as Node;
    return text.slice(start, end);
  };
  const change = (kind: string, to: string | null, at: Node = node): Change => ({
    kind,
    start: at.start,
    end: at.end,
    to,
  });
  const { left, right, operator } = node as unknown as { left: Node; right: Node; operator: string };
  switch (node.type) {
    case 'BinaryExpression':
    case 'AssignmentExpression':
      return binary({ left, right, operator }, (kind, other) =>
        change(kind, `${code(left)} ${other} ${code(right)}`),
      );
    case 'LogicalExpression': {
      const parts = [change('left', code(left)), change('right', code(right))];
      const other = operator === '&&' ? '||' : '&&';
      return operator === '??'
        ? parts
        : [change('logic', `(${code(left)}) ${other} (${code(right)})`), ...parts];
    }
    case 'UnaryExpression':
      return operator === '!' || operator === '-' ? [change('sign', code(node['argument']))] : [];
    case 'UpdateExpression':
      return [
        change(
          'step',
          code(node).replace(/\+\+|--/, (one) => (one === '++' ? '--' : '++')),
        ),
      ];
    case 'IfStatement':
    case 'ConditionalExpression':
      return ['true', 'false'].map((to) => change('condition', to, node['test'] as Node));
    case 'WhileStatement':
      return [change('condition', 'false', node['test'] as Node)];
    case 'ForStatement':
      return isNode(node['test']) ? [change('condition', 'false', node['test'])] : [];
    case 'ExpressionStatement':
      return 'directive' in node && node['directive'] !== null ? [] : [change('statement', null)];
    case 'ArrayExpression':
      return (node['elements'] as unknown[]).length === 0
        ? []
        : [change('empty', '[]'), ...spreads(node, 'elements')];
    case 'ObjectExpression':
      return (node['properties'] as unknown[]).length === 0
        ? []
        : [change('empty', '{}'), ...spreads(node, 'properties')];
    case 'CallExpression':
      return call(node, text).map(([kind, to]) => change(kind, to));
    case 'ChainExpression':
      return optionals(node, text).map((to) => change('optional', to));
    case 'Literal':
      return literal(node['value']).map(([kind, to]) => change(kind, to));
    default:
      return [];
  }
}

function binary(
  { left, right, operator }: { readonly left: Node; readonly right: Node; readonly operator: string },
  change: (kind: string, operator: string) => Change,
): readonly Change[] {
  const isText = [left, right].some(
    (part) =>
      part.type === 'TemplateLiteral' || (part.type === 'Literal' && typeof part['value'] === 'string'),
  );
  return [
    [BOUNDARY, 'boundary'] as const,
    [NEGATION, 'negation'] as const,
    ...(isText && operator.startsWith('+') ? [] : [[ARITHMETIC, 'arithmetic'] as const]),
  ].flatMap(([table, kind]) => {
    const other = table[operator];
    return other === undefined ? [] : [change(kind, other)];
  });
}

/** Leaves out what is spread into an object or an array. */
function spreads(node: Node, key: 'elements' | 'properties'): readonly Change[] {
  return (node[key] as (Node | null)[]).flatMap((part) => {
    if (part?.type !== 'SpreadElement') return [];
    const { start, end } = part['argument'] as Node;
    return [{ kind: 'spread', start, end, to: key === 'elements' ? '[]' : '{}' }];
  });
}

function call(node: Node, text: string): readonly (readonly [string, string])[] {
  const callee = node['callee'] as Node;
  const swapped = (at: Node, name: string): string =>
    `${text.slice(node.start, at.start)}${name}${text.slice(at.end, node.end)}`;
  if (callee.type === 'Identifier') {
    const other = FUNCTIONS.get(callee['name']);
    return other === undefined ? [] : [['extreme', swapped(callee, other)]];
  }
  if (callee.type !== 'MemberExpression' || callee['computed'] === true) return [];
  const property = callee['property'] as Node;
  const name = property['name'] as string;
  const object = callee['object'] as Node;
  const isPassing = PASSING.has(name) && object['name'] !== 'Math' && callee['optional'] !== true;
  return [
    ...(Object.hasOwn(METHODS, name) ? (METHODS[name] ?? []) : []).map(
      (other) => ['method', swapped(property, other)] as const,
    ),
    ...(isPassing ? [['passing', text.slice(object.start, object.end)] as const] : []),
  ];
}

/** One text for each `?.` of a chain, in which it is a plain access. */
function optionals(chain: Node, text: string): readonly string[] {
  const found: string[] = [];
  for (let node = chain['expression'] as Node | undefined; node !== undefined; ) {
    const inner = (node['object'] ?? node['callee'] ?? node['expression']) as Node | undefined;
    if (node['optional'] === true && inner !== undefined) {
      const rest = text.slice(inner.end, chain.end).replace(/\?\.(?=\s*[[(])|\?(?=\.)/, '');
      found.push(text.slice(chain.start, inner.end) + rest);
    }
    node = inner;
  }
  return found;
}

function literal(value: unknown): readonly (readonly [string, string])[] {
  if (typeof value === 'boolean') return [['boolean', String(!value)]];
  if (typeof value === 'number') return numbers(value).map((to) => ['number', String(to)]);
  if (typeof value !== 'string' || value === '' || /\s/.test(value)) return [];
  if (/^-?\d+(?:\.\d+)?$/.test(value)) return numbers(Number(value)).map((to) => ['number', `'${to}'`]);
  return [['empty', "''"]];
}

function numbers(value: number): readonly number[] {
  return Math.abs(value) <= 100 && Number.isInteger(value) ? [value + 1, value - 1] : [value * 2, value / 2];
}
