/** Ways in which another server may write one field. `apply` returns the fields that stand instead. */
export interface Mutation {
  readonly how: string;
  readonly apply: (name: string, value: unknown) => Readonly<Record<string, unknown>>;
}

const to =
  (change: (value: unknown) => unknown): Mutation['apply'] =>
  (name, value) => ({ [name]: change(value) });

const isNumeric = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && Number.isFinite(Number(value));

function otherType(value: unknown): unknown {
  if (isNumeric(value)) return Number(value);
  if (typeof value === 'string') return 7;
  return typeof value === 'object' ? 'text' : JSON.stringify(value);
}

function otherSpelling(name: string): string {
  if (name.includes('_')) return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A number written with other digits; what is no number stays. */
const digits =
  (change: (text: string) => string): Mutation['apply'] =>
  (name, value) => {
    const text = typeof value === 'number' ? String(value) : value;
    if (!isNumeric(text)) return { [name]: value };
    const changed = change(text);
    return { [name]: typeof value === 'number' ? Number(changed) : changed };
  };

export const MUTATIONS: readonly Mutation[] = [
  { how: 'null', apply: to(() => null) },
  { how: 'empty', apply: to(() => '') },
  { how: 'absent', apply: () => ({}) },
  { how: 'other type', apply: to(otherType) },
  { how: 'a flag', apply: to(() => true) },
  { how: 'a list', apply: to(() => []) },
  { how: 'an object', apply: to(() => ({})) },
  { how: 'in a list', apply: to((value) => [value]) },
  { how: 'a word', apply: to(() => 'n/a') },
  { how: 'other spelling', apply: (name, value) => ({ [otherSpelling(name)]: value }) },
  { how: 'other name', apply: (name, value) => ({ [`${name}New`]: value }) },
  { how: 'zero', apply: digits(() => '0') },
  { how: 'other sign', apply: digits((text) => (text.startsWith('-') ? text.slice(1) : `-${text}`)) },
  { how: 'huge', apply: digits((text) => `${text.split('.')[0]}000000000000`) },
  { how: 'not finite', apply: to(() => 'Infinity') },
  { how: 'more digits', apply: digits((text) => `${text}${text.includes('.') ? '' : '.'}000000000001`) },
  { how: 'no decimals', apply: digits((text) => text.split('.')[0] ?? text) },
  { how: 'exponent', apply: digits((text) => `${text}e0`) },
];
