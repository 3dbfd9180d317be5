import { Dice } from '../support/dice.ts';

/** Random changes of valid inputs: structure first, then the text itself. All randomness comes from one seed. */

export type Draw = () => number;

export function drawFrom(seed: number): Draw {
  const dice = new Dice(seed);
  return () => dice.next();
}

export const below = (draw: Draw, count: number): number => Math.floor(draw() * count);

export function oneOf<T>(draw: Draw, items: readonly T[]): T {
  if (items.length === 0) throw new RangeError('nothing to choose from');
  return items[below(draw, items.length)] as T;
}

/** Number literals that JSON.stringify cannot produce. */
class Written {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1',
  '1e308',
  '1e400',
  '-1e-400',
  '9007199254740993',
  '0.1',
  '1E5',
  '12345678901234567890',
];
const TEXTS = [
  '',
  ' ',
  '0',
  '-0',
  '00012.50',
  '1e5',
  'NaN',
  'Infinity',
  '-1.5',
  '0x10',
  '1,5',
  '\u0661\u0662',
  'BTC_PERP',
  '__proto__',
  'constructor',
  'toString',
  '\u0000',
  '\ud800',
  '\u202e',
  '2024-01-01T00:00:00Z',
];
/** Lengths around the limits of readers. */
const LENGTHS = [61, 101, 257, 1_025, 5_000, 70_000];

function oddValue(draw: Draw, depth = 0): unknown {
  switch (below(draw, depth > 2 ? 6 : 9)) {
    case 0:
      return null;
    case 1:
      return draw() < 0.5;
    case 2:
      return new Written(oneOf(draw, NUMBERS));
    case 3:
      return oneOf(draw, TEXTS);
    case 4:
      return oneOf(draw, ['1', 'x', '-', '.', '"', '\\', '\u00e9', '/']).repeat(oneOf(draw, LENGTHS));
    case 5:
      return draw() < 0.5 ? [] : {};
    case 6:
      return Array.from({ length: below(draw, 4) }, () => oddValue(draw, depth + 1));
    case 7:
      return { [oneOf(draw, TEXTS)]: oddValue(draw, depth + 1) };
    default: {
      let nested: unknown = 0;
      for (let level = oneOf(draw, [3, 40, 500]); level > 0; level -= 1)
        nested = draw() < 0.5 ? [nested] : { a: nested };
      return nested;
    }
  }
}

type Container = unknown[] | Record<string, unknown>;

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !(value instanceof Written);

/** Every place in a value: the container and the key in it. */
function places(value: unknown, found: [Container, string | number][] = []): [Container, string | number][] {
  if (!isContainer(value) || found.length > 5_000) return found;
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of keys) {
    found.push([value, key]);
    places(Reflect.get(value, key), found);
  }
  return found;
}

/** A copy of `value` with one to three changed places, as text. */
export function mutatedJson(draw: Draw, value: unknown): string {
  if (draw() < 0.02) return serialized(oddValue(draw));
  const copy: unknown = structuredClone(value);
  for (let changes = 1 + below(draw, 3); changes > 0; changes -= 1) {
    const all = places(copy);
    if (all.length === 0) return serialized(oddValue(draw));
    const [holder, key] = oneOf(draw, all);
    change(draw, holder, key);
  }
  return serialized(copy);
}

function change(draw: Draw, holder: Container, key: string | number): void {
  const kind = below(draw, 10);
  if (kind < 5) setKey(holder, key, oddValue(draw));
  else if (kind < 7) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else Reflect.deleteProperty(holder, key);
  } else if (kind < 8) {
    const value: unknown = structuredClone(Reflect.get(holder, key));
    if (Array.isArray(holder)) holder.push(...Array.from({ length: oneOf(draw, [1, 3, 300]) }, () => value));
    else setKey(holder, oneOf(draw, TEXTS), value);
  } else if (kind < 9) {
    const value: unknown = Reflect.get(holder, key);
    setKey(
      holder,
      key,
      typeof value === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value)
        ? new Written(value)
        : serialized(value ?? null),
    );
  } else setKey(holder, key, [Reflect.get(holder, key)]);
}

/** Treats `__proto__` as an ordinary key, as JSON.parse does. */
function setKey(holder: Container, key: string | number, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Limits the depth, so that the recursion does not overflow the stack. */
export function serialized(value: unknown): string {
  const parts: string[] = [];
  const open: (string | { readonly of: unknown })[] = [{ of: value }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') {
      parts.push(next);
      continue;
    }
    const { of } = next;
    if (of instanceof Written) parts.push(of.text);
    else if (!isContainer(of)) parts.push(JSON.stringify(of ?? null));
    else {
      const isList = Array.isArray(of);
      parts.push(isList ? '[' : '{');
      open.push(isList ? ']' : '}');
      const keys = isList ? [...of.keys()] : Object.keys(of);
      for (const [place, key] of keys.toReversed().entries()) {
        open.push({ of: Reflect.get(of, key) as unknown });
        if (!isList) open.push(`${JSON.stringify(key)}:`);
        if (place < keys.length - 1) open.push(',');
      }
    }
  }
  return parts.join('');
}

/** Changed bytes of a text: truncated, duplicated, replaced, inserted. */
export function mutatedText(draw: Draw, text: string, alphabet: string): string {
  let changed = text;
  for (let changes = 1 + below(draw, 4); changes > 0; changes -= 1) {
    const at = below(draw, changed.length + 1);
    const length = below(draw, oneOf(draw, [2, 10, 200]));
    switch (below(draw, 5)) {
      case 0:
        changed = changed.slice(0, at);
        break;
      case 1:
        changed = changed.slice(0, at) + changed.slice(at + length);
        break;
      case 2:
        changed =
          changed.slice(0, at) +
          changed.slice(at, at + length).repeat(oneOf(draw, [2, 5, 100])) +
          changed.slice(at);
        break;
      case 3:
        changed = changed.slice(0, at) + oneOf(draw, TEXTS) + changed.slice(at + length);
        break;
      default: {
        const put = Array.from(
          { length: 1 + below(draw, 8) },
          () => alphabet[below(draw, alphabet.length)] ?? '',
        );
        changed = changed.slice(0, at) + put.join('') + changed.slice(at);
      }
    }
  }
  return changed.slice(0, 200_000);
}
