import fc from 'fast-check';

/**
 * JSON that keeps the digits of every number, and ways to damage it. A tree is the result of `parseExact`: numbers are
 * `Digits`, objects are maps, so that any key may be in them, `__proto__` included.
 */
export type Tree = string | boolean | null | Digits | Deep | Tree[] | Map<string, Tree>;

export class Digits {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Arrays within arrays, so many levels deep; kept as a number, because walking them uses up the stack. */
export class Deep {
  readonly levels: number;

  constructor(levels: number) {
    this.levels = levels;
  }
}

export function parseExact(text: string): Tree {
  const raw: unknown = JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value,
  );
  return toTree(raw);
}

function toTree(value: unknown): Tree {
  if (value instanceof Digits) return value;
  if (Array.isArray(value)) return value.map(toTree);
  if (typeof value === 'object' && value !== null) {
    return new Map(Object.entries(value).map(([key, member]) => [key, toTree(member)]));
  }
  return value as Tree;
}

export function textOf(tree: Tree): string {
  if (tree instanceof Digits) return tree.source;
  if (tree instanceof Deep) return `${'[{"a":'.repeat(tree.levels)}1${'}]'.repeat(tree.levels)}`;
  if (Array.isArray(tree)) return `[${tree.map(textOf).join(',')}]`;
  if (tree instanceof Map) {
    return `{${[...tree].map(([key, value]) => `${JSON.stringify(key)}:${textOf(value)}`).join(',')}}`;
  }
  return JSON.stringify(tree);
}

type Path = readonly (string | number)[];

/** Every place in a tree, the root included. */
function placesOf(tree: Tree, at: Path = []): Path[] {
  const members: (readonly [string | number, Tree])[] =
    tree instanceof Map ? [...tree] : Array.isArray(tree) ? tree.map((item, index) => [index, item]) : [];
  return [at, ...members.flatMap(([key, member]) => placesOf(member, [...at, key]))];
}

function replaced(tree: Tree, path: Path, change: (old: Tree) => Tree | undefined): Tree | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return change(tree);
  if (tree instanceof Map) {
    const copy = new Map(tree);
    const member = replaced(copy.get(String(key)) ?? null, rest, change);
    if (member === undefined) copy.delete(String(key));
    else copy.set(String(key), member);
    return copy;
  }
  if (Array.isArray(tree)) {
    const member = replaced(tree[Number(key)] ?? null, rest, change);
    return tree.flatMap((item, index) => (index === key ? (member === undefined ? [] : [member]) : [item]));
  }
  return tree;
}

const NUMBERS = [
  '1e999',
  '-1e999',
  '1e-400',
  '99999999999999999999999999',
  '0.10',
  '-0',
  '-0.5',
  '12345678901234567.8901234567890123456789',
  '1.7976931348623157e308',
  `1${'0'.repeat(200)}`,
  '0',
];

const TEXTS = [
  '',
  ' ',
  'NaN',
  'Infinity',
  '-0',
  '1e5',
  '1e999',
  '0x10',
  '1,5',
  '１',
  '12.',
  '.5',
  '+1',
  ' 1',
  '0.000000000000000000000000000000000000000000001',
  `9${'9'.repeat(59)}.${'1'.repeat(59)}`,
  '9'.repeat(3000),
  'null',
  'LONG',
  'CANCELLED',
  'DELETED',
  '\u0000\u001b[31m',
  '[object Object]',
  'constructor',
];

const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'polluted',
  '',
  'a'.repeat(500),
  'extra',
];

const wrongValue: fc.Arbitrary<Tree> = fc.oneof(
  fc.constantFrom(...NUMBERS).map((source) => new Digits(source)),
  fc.constantFrom(...TEXTS),
  fc.constantFrom<Tree>(null, true, false),
  fc.constantFrom<Tree>([], new Map(), [null], new Map([['polluted', true]]), new Map([['__proto__', 'x']])),
  fc.constantFrom(25, 1500, 20_000).map((levels) => new Deep(levels)),
  fc.string({ maxLength: 40 }),
);

/** One kind of damage, at a place chosen by a number, as places exist only once the reply is known. */
type Damage =
  | { readonly kind: 'drop' | 'duplicate' | 'quote' | 'unquote'; readonly at: number }
  | { readonly kind: 'set'; readonly at: number; readonly value: Tree }
  | { readonly kind: 'add'; readonly at: number; readonly key: string; readonly value: Tree };

const place = fc.nat({ max: 100_000 });

const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({ kind: fc.constantFrom('drop', 'duplicate', 'quote', 'unquote'), at: place }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('set' as const), at: place, value: wrongValue }) },
  fc.record({
    kind: fc.constant('add' as const),
    at: place,
    key: fc.constantFrom(...KEYS),
    value: wrongValue,
  }),
);

export const arbitraryDamages: fc.Arbitrary<readonly Damage[]> = fc.array(damage, {
  minLength: 1,
  maxLength: 3,
});

export function damaged(tree: Tree, damages: readonly Damage[]): Tree {
  return damages.reduce((current, each) => apply(current, each), tree);
}

function apply(tree: Tree, one: Damage): Tree {
  const places = placesOf(tree);
  const path = places[one.at % places.length] ?? [];
  const changed = replaced(tree, path, (old) => {
    switch (one.kind) {
      case 'drop':
        return undefined;
      case 'duplicate':
        return Array.isArray(old) ? [...old, ...old] : old;
      case 'quote':
        return old instanceof Digits ? old.source : old;
      case 'unquote':
        return typeof old === 'string' && /^-?\d+(\.\d+)?$/.test(old) ? new Digits(old) : old;
      case 'set':
        return one.value;
      case 'add':
        return old instanceof Map ? new Map([...old, [one.key, one.value]]) : old;
    }
  });
  return changed ?? null;
}
