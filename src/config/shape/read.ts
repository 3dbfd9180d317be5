import type { z } from 'zod';
import { suggest } from '../../core/text/suggest.ts';
import { formatPath, type Path, type Problem, type ProblemCode } from '../problem.ts';
import { changeAt, isMapping, nodeAt, placeOf, withChildren, type YamlDocument } from '../yaml/document.ts';
import { describeValue, looksSecret } from '../yaml/value.ts';
import type { ScalarIssue } from './scalars.ts';

export type Report = (problem: Problem) => void;

/** Explains an unknown key; empty: no explanation. An explained key does not count as misspelt. */
export type Explain = (key: string, path: Path) => string;

interface Telling {
  readonly report: Report;
  readonly explain?: Explain | undefined;
}

/** Reads the part of a document at a path by a schema and reports its mistakes; see `readMeant`. */
export function readShape<T>(
  schema: z.ZodType<T>,
  document: YamlDocument,
  path: Path,
  report: Report,
): T | undefined {
  return readMeant(schema, document, path, { report }).data;
}

export interface MeantReading<T> {
  /** The document with misspelt keys corrected. */
  readonly document: YamlDocument;
  readonly data?: T | undefined;
}

/**
 * Reads the part of a document at a path by a schema and reports all mistakes. A misspelt key is reported and read as
 * the key that was probably meant. `data` is absent if there is any other mistake.
 */
export function readMeant<T>(
  schema: z.ZodType<T>,
  written: YamlDocument,
  path: Path,
  { report, explain = () => '' }: Telling,
): MeantReading<T> {
  const { document, result, unknown } = parseMeant(schema, written, path, { report, explain });
  if (result.success) return { document, data: result.data };
  for (const { at, key, known } of unknown) {
    const problem = unknownKey(document, at, key, known);
    report({ ...problem, message: `${problem.message}${explain(key, at)}` });
  }
  for (const issue of result.error.issues) {
    if (issue.code === 'unrecognized_keys') continue;
    const problem = toProblem(document, [...path, ...pathOf(issue)], issue);
    if (problem !== undefined) report(problem);
  }
  return { document };
}

/** Returns the whole document with misspelt keys corrected; they are reported. */
export function withMeantKeys(schema: z.ZodType, document: YamlDocument, report: Report): YamlDocument {
  return parseMeant(schema, document, [], { report }).document;
}

/** Reads a mapping without the keys that have mistakes, and reports nothing. */
export function readSound<T>(schema: z.ZodType<T>, document: YamlDocument, path: Path): T | undefined {
  const { result, unknown } = parse(schema, document, path);
  const node = nodeAt(document.root, path);
  if (result.success || node === undefined || !isMapping(node)) return result.data;
  const wrong = new Set([
    ...result.error.issues.map((issue) => issue.path[0]),
    ...unknown.filter(({ at }) => at.length === path.length).map(({ key }) => key),
  ]);
  const sound = new Map([...node.children].filter(([key]) => !wrong.has(key)));
  return parse(schema, { ...document, root: withChildren(node, sound) }, []).result.data;
}

function parseMeant<T>(schema: z.ZodType<T>, written: YamlDocument, path: Path, telling: Telling) {
  const { report, explain = () => '' } = telling;
  for (let document = written; ; ) {
    const { result, unknown } = parse(schema, document, path);
    let meant = document;
    for (const { at, key, known } of unknown) {
      const name = explain(key, at) === '' ? meantKey(key, known) : undefined;
      const taken = name === undefined || nodeAt(meant.root, [...at, name]) !== undefined;
      if (taken || nodeAt(meant.root, [...at, key]) === undefined) continue;
      report(unknownKey(document, at, key, known));
      meant = renameKey(meant, at, key, name);
    }
    if (meant === document) return { document, result, unknown };
    // Read again: nothing below a misspelt key has been read so far.
    document = meant;
  }
}

export function renameKey(document: YamlDocument, path: Path, key: string, name: string): YamlDocument {
  return changeAt(document, path, (node) =>
    withChildren(node, new Map([...node.children].map(([own, child]) => [own === key ? name : own, child]))),
  );
}

function parse<T>(schema: z.ZodType<T>, document: YamlDocument, path: Path) {
  const knownKeys = new Map<string, readonly string[]>();
  const result = schema.safeParse(nodeAt(document.root, path)?.value, {
    reportInput: true,
    error: (issue) => {
      if (issue.code === 'unrecognized_keys') {
        knownKeys.set(formatPath((issue.path ?? []) as Path), keysOf(issue.inst));
      }
      return undefined;
    },
  });
  const unknown = (result.error?.issues ?? []).flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [];
    const known = knownKeys.get(formatPath(issue.path as Path)) ?? [];
    return issue.keys.map((key) => ({ at: [...path, ...pathOf(issue)], key, known }));
  });
  return { result, unknown };
}

function pathOf(issue: z.core.$ZodIssue): Path {
  return issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
}

function keysOf(schema: unknown): readonly string[] {
  const definition = (schema as { _zod?: { def?: { shape?: object } } } | undefined)?._zod?.def;
  return Object.keys(definition?.shape ?? {});
}

function meantKey(key: string, known: readonly string[]): string | undefined {
  return looksSecret(key) ? undefined : suggest(key, known);
}

export function unknownKey(
  document: YamlDocument,
  path: Path,
  key: string,
  known: readonly string[],
): Problem {
  const secret = looksSecret(key);
  const meant = meantKey(key, known);
  const expected = meant === undefined ? knownKeysInWords(known) : 'a known key';
  const shown = secret ? 'another one (not repeated here)' : JSON.stringify(key);
  const message = `expected ${expected}, got ${shown}${didYouMean(meant)}`;
  const problem = problemAt(document, [...path, key], { code: 'unknown-key', message, at: 'key' });
  return secret ? { ...problem, path: formatPath([...path, '...']) } : problem;
}

function knownKeysInWords(known: readonly string[]): string {
  if (known.length === 1) return `the key ${known.join('')}`;
  if (known.length > 20) return `a known key such as ${known.slice(0, 3).join(', ')}`;
  return `one of the keys ${known.join(', ')}`;
}

export function didYouMean(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** Returns undefined at an incomplete node: the YAML problem that was reported there may be the only cause. */
function toProblem(document: YamlDocument, path: Path, issue: z.core.$ZodIssue): Problem | undefined {
  const found = existing(document, path);
  if (nodeAt(document.root, found)?.incomplete === true) return undefined;
  const { expected, got, hint }: ScalarIssue =
    issue.code === 'custom' ? (issue.params as ScalarIssue) : { expected: expectedInWords(issue) };
  const missing = issue.input === undefined;
  return problemAt(document, missing ? path : found, {
    code: missing ? 'missing-key' : 'wrong-value',
    message: `expected ${expected}, got ${got ?? describeValue(issue.input)}${didYouMean(hint)}`,
  });
}

/** Returns the existing part of a path: a short form is read as the long one (`market: X` as a list of one). */
function existing(document: YamlDocument, path: Path): Path {
  let found = path;
  while (found.length > 0 && nodeAt(document.root, found) === undefined) found = found.slice(0, -1);
  return found;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  object: 'a mapping (key: value)',
  record: 'a mapping (key: value)',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  number: 'a number',
};

function expectedInWords(issue: Exclude<z.core.$ZodIssue, { code: 'custom' }>): string {
  if (issue.code === 'invalid_type') return TYPE_WORDS[issue.expected] ?? issue.expected;
  if (issue.code === 'too_small')
    return `a list with at least ${issue.minimum} item${issue.minimum === 1 ? '' : 's'}`;
  if (issue.code === 'too_big') return `a list with at most ${issue.maximum} items`;
  if (issue.code === 'invalid_key') return 'a valid name as the key';
  return issue.message;
}

export interface Reporting {
  readonly document: YamlDocument;
  readonly report: Report;
}

/** Reports an error at a value, for checks across keys. */
export function complain(
  { document, report }: Reporting,
  path: Path,
  code: ProblemCode,
  message: string,
): void {
  report(problemAt(document, path, { code, message }));
}

export function warningAt(document: YamlDocument, path: Path, code: ProblemCode, message: string): Problem {
  return problemAt(document, path, { severity: 'warning', code, message });
}

export function problemAt(
  document: YamlDocument,
  path: Path,
  problem: { severity?: 'warning'; code: ProblemCode; message: string; at?: 'key' | 'value' },
): Problem {
  const { severity = 'error', code, message, at = 'value' } = problem;
  return { severity, code, place: placeOf(document.root, path, at), path: formatPath(path), message };
}
