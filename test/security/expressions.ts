import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

export interface Written {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Every regular expression in the files of a folder, and the files that build expressions from texts. */
export function expressionsIn(folder: string): { written: readonly Written[]; builders: readonly string[] } {
  const files = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const found = files
    .filter((file) => /\.(ts|js|mjs)$/.test(file) && !file.endsWith('.d.ts'))
    .map((file) => {
      const name = path.join(folder, file);
      const text = readFileSync(path.join(ROOT, name), 'utf8');
      const nodes = nodesOf(parseAst(text, { lang: name.endsWith('.ts') ? 'ts' : 'js' }));
      const literals = nodes.flatMap(({ regex }) => (regex === undefined ? [] : [regex as Literal]));
      const builds = nodes.some(({ callee }) => (callee as Node | undefined)?.['name'] === 'RegExp');
      return {
        written: literals.map(({ pattern, flags }) => ({ file: name, source: pattern, flags })),
        builders: builds ? [name] : [],
      };
    });
  return {
    written: found.flatMap(({ written }) => written),
    builders: found.flatMap(({ builders }) => builders).sort(),
  };
}

interface Literal {
  readonly pattern: string;
  readonly flags: string;
}
type Node = Readonly<Record<string, unknown>>;

/** A syntax tree as a list. */
function nodesOf(node: unknown): readonly Node[] {
  if (typeof node !== 'object' || node === null) return [];
  return [node as Node, ...Object.values(node).flatMap(nodesOf)];
}

/** One character of each kind that expressions distinguish. */
const KINDS = ['a', 'A', '0', ' ', '\n', '.', '-', '_', '/', ':', '@', '"', '\u0001', 'é'];
const LENGTH = 6_000;

/**
 * Texts on which an expression may try every start and every end: each short piece that it matches, repeated, after its
 * prefix and before an unwanted suffix.
 */
export function hostileTexts(source: string, length: number): readonly string[] {
  const words = [...source.matchAll(/(?:[A-Za-z0-9]|\\?[ /:@"<>#=.,;&!{}|+*-])+/g)].map(([word]) =>
    word.replaceAll('\\', ''),
  );
  const phrases = words.flatMap((_, index) =>
    [2, 3].map((count) => words.slice(index, index + count).join('')),
  );
  const characters = new Set([...KINDS, ...(words.join('').match(/[^A-Za-z0-9]/g) ?? [])]);
  const pairs = [...characters].flatMap((one) => [...characters].map((other) => one + other));
  const pumps = new Set([...characters, ...pairs, ...words.filter((word) => word !== ''), ...phrases]);
  return [...pumps].flatMap((pump) => {
    const body = pump.repeat(Math.ceil(length / pump.length)).slice(0, length);
    const starts = ['', ...words.filter((word) => word.length > 1 && word.length < 20)];
    return starts.flatMap((start) => [`${start}${body}\u0000`, `${start}${body}\n!`]);
  });
}

/**
 * The shortest time of a search through a text, in milliseconds. Other load only makes a search longer, so the shortest
 * of many is the true one; stops at the first below `enoughMs`. Processor time is too coarse: on some systems it
 * advances in steps of 4 ms, and an empty search may catch one.
 */
function costMs(expression: RegExp, text: string, enoughMs = 0): number {
  let shortestMs = Number.POSITIVE_INFINITY;
  for (let search = 0; search < SEARCHES && shortestMs >= enoughMs; search += 1) {
    const startMs = performance.now();
    text.replace(expression, '');
    shortestMs = Math.min(shortestMs, performance.now() - startMs);
  }
  return shortestMs;
}

/** How often a search is repeated: longer than a busy machine takes its time. */
const SEARCHES = 30;
/** A search below this for the longest text is indistinguishable from noise, and blocks nothing. */
const NOTICEABLE_MS = 3;
/** How much shorter the reference text is. */
const SHORTER = 16;
/** A linear search takes 16 times as long for 16 times the text, a quadratic one 256 times: this is between. */
const MOST_TIMES = 64;

/** The text on which an expression takes more than linear time; `undefined` if there is none. */
export function worstText(
  { source, flags }: Pick<Written, 'source' | 'flags'>,
  length = LENGTH,
): string | undefined {
  const expression = new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
  const short = hostileTexts(source, length / SHORTER);
  return hostileTexts(source, length).find((long, index) => {
    const longMs = costMs(expression, long, NOTICEABLE_MS);
    if (longMs < NOTICEABLE_MS) return false;
    return longMs / Math.max(costMs(expression, short[index] ?? ''), 0.001) > MOST_TIMES;
  });
}
