import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { formatPath, type Path, type Place, type Problem } from '../problem.ts';
import type { YamlDocument, YamlNode } from './document.ts';
import { looksSecret, writtenNumber } from './value.ts';

/** Bounds far above any real config; they keep hostile input cheap. */
const CONFIG_BOUNDS = { maxCharacters: 1_000_000, maxNodes: 50_000 };
const MAX_DEPTH = 40;
/** Limit of reported errors: one mistake can break all lines after it. */
const MAX_SYNTAX_ERRORS = 20;

export interface ParsedYaml {
  readonly document?: YamlDocument;
  readonly problems: readonly Problem[];
}

/**
 * Parses YAML 1.2 into plain values with places. Mappings become objects without a prototype, and numbers keep their
 * digits (`WrittenNumber`). Aliases are followed within bounds; tags, merge keys and several documents in one file are
 * refused. Never throws. Messages repeat nothing of the text except harmless keys.
 */
export function parseYaml(text: string, file: string, bounds = CONFIG_BOUNDS): ParsedYaml {
  const start: Place = { file, line: 1, column: 1 };
  const { maxCharacters, maxNodes } = bounds;
  if (text.length > maxCharacters) {
    return {
      problems: [syntaxProblem(start, `expected at most ${maxCharacters} characters, got ${text.length}`)],
    };
  }
  if (marksIn(text) > MARKS_PER_NODE * maxNodes)
    return { problems: [syntaxProblem(start, tooManyValues(maxNodes))] };
  const lineCounter = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  try {
    const parsed = withoutStacks(() =>
      parseDocument(text, {
        lineCounter,
        prettyErrors: false,
        // `silent` would also hide that there are several documents.
        logLevel: 'error',
        uniqueKeys: false,
        stringKeys: true,
        version: '1.2',
        merge: false,
        resolveKnownTags: false,
      }),
    );
    const wrong = [...parsed.errors, ...parsed.warnings];
    if (wrong.length > 0) {
      const shown = wrong.slice(0, MAX_SYNTAX_ERRORS);
      return { problems: shown.map(({ code, pos }) => syntaxProblem(placeAt(pos[0]), wordsFor(code))) };
    }
    const reader = new TreeReader(placeAt, maxNodes);
    const root = reader.read(parsed.contents, [], undefined);
    return reader.problems.length > 0 && reader.aborted
      ? { problems: reader.problems }
      : { document: { file, root }, problems: reader.problems };
  } catch (error) {
    // The parser recurses: deep nesting can overflow its stack before `MAX_DEPTH` is checked.
    if (error instanceof RangeError) return { problems: [syntaxProblem(start, TOO_DEEP)] };
    throw error;
  }
}

const tooManyValues = (maxNodes: number): string =>
  `expected at most ${maxNodes} values, got more (aliases count each time)`;

/** A real file, including its comments and texts, has fewer than two marks per value. */
const MARKS_PER_NODE = 3;

/** Counts the characters that could begin a value: the library takes a kilobyte for each value. */
function marksIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) if (MARKS.has(text.charCodeAt(at))) count += 1;
  return count;
}

const MARKS: ReadonlySet<number> = new Set(Array.from('\n,[{&?', (mark) => mark.charCodeAt(0)));

/** Runs `read` without stack traces: the library makes an error per fault, and stacks take a third of its time. */
function withoutStacks<T>(read: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return read();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const TOO_DEEP = `expected at most ${MAX_DEPTH} levels of nesting, got more`;

function wordsFor(code: string): string {
  return SYNTAX_WORDS[code as ErrorCode] ?? 'expected YAML, got something that cannot be read as such';
}

function syntaxProblem(place: Place, message: string, path: Path = []): Problem {
  return { severity: 'error', code: 'yaml-syntax', place, path: formatPath(path), message };
}

type Build = (value: unknown, children?: YamlNode['children']) => YamlNode;

/** Converts the parser's tree to `YamlNode`s; one instance per document. Circular aliases end at `MAX_DEPTH`. */
class TreeReader {
  readonly problems: Problem[] = [];
  aborted = false;
  readonly #placeAt: (offset: number) => Place;
  readonly #maxNodes: number;
  readonly #anchors = new Map<string, Node>();
  #nodes = 0;

  constructor(placeAt: (offset: number) => Place, maxNodes: number) {
    this.#placeAt = placeAt;
    this.#maxNodes = maxNodes;
  }

  read(node: Node | null, path: Path, keyPlace: Place | undefined, fallback?: Place): YamlNode {
    const offset = node?.range?.[0];
    const place = offset === undefined ? (fallback ?? keyPlace ?? this.#placeAt(0)) : this.#placeAt(offset);
    const leaf: Build = (value, children = new Map()) =>
      keyPlace === undefined ? { value, place, children } : { value, place, keyPlace, children };
    this.#nodes += 1;
    if (this.aborted) return leaf(null);
    if (this.#nodes > this.#maxNodes) {
      return this.#abort(place, path, tooManyValues(this.#maxNodes));
    }
    if (path.length > MAX_DEPTH) return this.#abort(place, path, TOO_DEEP);
    if (node === null) return leaf(null);
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (target !== undefined) return this.read(target, path, keyPlace, place);
      this.problems.push(syntaxProblem(place, SYNTAX_WORDS.BAD_ALIAS, path));
      return { ...leaf(null), incomplete: true };
    }
    if ('anchor' in node && typeof node.anchor === 'string') this.#anchors.set(node.anchor, node);
    if (isMap(node)) return this.#readMap(node, path, leaf);
    if (isSeq(node)) return this.#readList(node, path, place, leaf);
    if (!isScalar(node)) return leaf(null);
    const { value } = node;
    if (typeof value === 'number' || typeof value === 'bigint') {
      return leaf(writtenNumber(node.source ?? String(value)));
    }
    return leaf(typeof value === 'string' || typeof value === 'boolean' ? value : null);
  }

  #readMap(map: YAMLMap, path: Path, build: Build): YamlNode {
    const value = Object.create(null) as Record<string, unknown>;
    const children = new Map<string | number, YamlNode>();
    for (const pair of map.items) {
      const key = this.#readKey(pair as Pair<Node | null, Node | null>, path, children);
      if (key === undefined) continue;
      const child = this.read(key.node, [...path, key.name], key.place, key.place);
      children.set(key.name, child);
      value[key.name] = child.value;
    }
    const node = build(value, children);
    const dropped = map.items.some(({ key }) => !isScalar(key) || IMPOSSIBLE_KEYS.has(String(key.value)));
    return dropped ? { ...node, incomplete: true } : node;
  }

  #readKey(pair: Pair<Node | null, Node | null>, path: Path, siblings: YamlNode['children']) {
    const place = this.#placeAt(pair.key?.range?.[0] ?? 0);
    const name = isScalar(pair.key) ? String(pair.key.value) : undefined;
    const impossible = name === undefined ? SYNTAX_WORDS.NON_STRING_KEY : IMPOSSIBLE_KEYS.get(name);
    if (name === undefined || impossible !== undefined) {
      this.problems.push(syntaxProblem(place, impossible ?? '', path));
      return undefined;
    }
    const first = siblings.get(name);
    if (first !== undefined) {
      const where = first.keyPlace ?? first.place;
      const shown = looksSecret(name) ? 'this key' : JSON.stringify(name);
      this.problems.push({
        severity: 'error',
        code: 'duplicate-key',
        place,
        path: formatPath([...path, looksSecret(name) ? '...' : name]),
        message: `expected each key once, got ${shown} again (first in line ${where.line})`,
      });
      return undefined;
    }
    return { name, place, node: pair.value };
  }

  #readList(list: YAMLSeq, path: Path, place: Place, build: Build): YamlNode {
    const children = new Map<string | number, YamlNode>();
    const items = list.items as (Node | null)[];
    for (const [index, item] of items.entries()) {
      children.set(index, this.read(item, [...path, index], undefined, place));
    }
    const value = [...children.values()].map((child) => child.value);
    return build(value, children);
  }

  #abort(place: Place, path: Path, message: string): YamlNode {
    if (!this.aborted) this.problems.push(syntaxProblem(place, message, path.slice(0, 3)));
    this.aborted = true;
    return { value: null, place, children: new Map() };
  }
}

const IMPOSSIBLE_KEYS: ReadonlyMap<string, string> = new Map([
  ['<<', 'expected a plain key, got a merge key (<<), which is not supported: repeat the keys instead'],
  ['__proto__', 'expected a plain key, got "__proto__"'],
  ['constructor', 'expected a plain key, got "constructor"'],
  ['prototype', 'expected a plain key, got "prototype"'],
]);

type ErrorCode = YAMLError['code'];

/** Messages for the parser's errors. Its own messages quote the text around the error, which may be a secret. */
const SYNTAX_WORDS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'expected an alias (*name) alone, got one with an anchor or a tag',
  BAD_ALIAS:
    'expected an alias (*name) of an anchor (&name) that stands before it; a text that starts with * needs quotes',
  BAD_COLLECTION_TYPE: 'expected a mapping or list without a tag',
  BAD_DIRECTIVE: 'expected a YAML directive, or a text in quotes: a line must not start with %',
  BAD_DQ_ESCAPE:
    'expected a valid escape after the backslash: in double quotes write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'expected the keys of a mapping and the items of a list to start in the same column',
  BAD_PROP_ORDER: 'expected anchors and tags directly before their value',
  BAD_SCALAR_START: 'expected a text in quotes: a plain text cannot start with this character',
  BLOCK_AS_IMPLICIT_KEY: 'expected a value on the next line or in quotes, got a second "key:" in one line',
  BLOCK_IN_FLOW:
    'expected a value in [ ] or { } style, got a list or mapping over several lines inside of brackets',
  DUPLICATE_KEY: 'expected each key once',
  IMPOSSIBLE: 'expected YAML, got something that cannot be read as such',
  KEY_OVER_1024_CHARS: 'expected a key of at most 1024 characters',
  MISSING_CHAR: 'expected a closing quote, bracket, comma, or a space after ":" here',
  MULTILINE_IMPLICIT_KEY: 'expected a key in one line: is a ":" or a quote missing?',
  MULTIPLE_ANCHORS: 'expected at most one anchor',
  MULTIPLE_DOCS: 'expected one document in the file, got a second one (---)',
  MULTIPLE_TAGS: 'expected no tag, got several',
  NON_STRING_KEY: 'expected a plain key, got a list, mapping or alias',
  RESOURCE_EXHAUSTION: 'expected a simpler document, got one that is nested or aliased beyond all bounds',
  TAB_AS_INDENT: 'expected spaces for indentation, got a tab',
  TAG_RESOLVE_FAILED: 'expected no tag (!name), got one; a text that starts with ! needs quotes',
  UNEXPECTED_TOKEN: 'expected a key, a list item or the end here: check quotes, brackets and indentation',
};
