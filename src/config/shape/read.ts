import type { z } from 'zod';
import { formatPath, type Path, type Problem, type ProblemCode } from '../problem.ts';
import { suggest } from '../suggest.ts';
import { nodeAt, placeOf, type YamlDocument } from '../yaml/document.ts';
import { describeValue, looksSecret } from '../yaml/value.ts';
import type { ScalarIssue } from './scalars.ts';

export type Report = (problem: Problem) => void;

/** Reads the part of a document at a path by a schema; `undefined` when anything in it is wrong (reported). */
export function readShape<T>(
  schema: z.ZodType<T>,
  document: YamlDocument,
  path: Path,
  report: Report,
  explain: (key: string, path: Path) => string = () => '',
): T | undefined {
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
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const issuePath = [
      ...path,
      ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
    ];
    if (issue.code === 'unrecognized_keys') {
      const known = knownKeys.get(formatPath(issue.path as Path)) ?? [];
      for (const key of issue.keys) {
        const problem = unknownKey(document, issuePath, key, known);
        report({ ...problem, message: `${problem.message}${explain(key, issuePath)}` });
      }
    } else {
      report(toProblem(document, issuePath, issue));
    }
  }
  return undefined;
}

/** The keys of the object schema that raised an issue. */
function keysOf(schema: unknown): readonly string[] {
  const definition = (schema as { _zod?: { def?: { shape?: object } } } | undefined)?._zod?.def;
  return Object.keys(definition?.shape ?? {});
}

export function unknownKey(
  document: YamlDocument,
  path: Path,
  key: string,
  known: readonly string[],
): Problem {
  const secret = looksSecret(key);
  const meant = secret ? undefined : suggest(key, known);
  const expected = meant === undefined ? knownKeysInWords(known) : 'a known key';
  const shown = secret ? 'another one (not repeated here)' : JSON.stringify(key);
  return {
    severity: 'error',
    code: 'unknown-key',
    place: placeOf(document.root, [...path, key], 'key'),
    path: formatPath([...path, secret ? '...' : key]),
    message: `expected ${expected}, got ${shown}${didYouMean(meant)}`,
  };
}

function knownKeysInWords(known: readonly string[]): string {
  if (known.length === 1) return `the key ${known.join('')}`;
  if (known.length > 20) return `a known key such as ${known.slice(0, 3).join(', ')}`;
  return `one of the keys ${known.join(', ')}`;
}

export function didYouMean(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

function toProblem(document: YamlDocument, path: Path, issue: z.core.$ZodIssue): Problem {
  const { expected, got, hint, code }: ScalarIssue =
    issue.code === 'custom' ? (issue.params as unknown as ScalarIssue) : { expected: expectedInWords(issue) };
  const missing = issue.input === undefined;
  const place = missing ? path : existing(document, path);
  return {
    severity: 'error',
    code: (code as ProblemCode | undefined) ?? (missing ? 'missing-key' : 'wrong-value'),
    place: placeOf(document.root, place),
    path: formatPath(place),
    message: `expected ${expected}, got ${got ?? describeValue(issue.input)}${didYouMean(hint)}`,
  };
}

/** A short form was read as the long one (`market: X` as a list of one): the path that is in the file. */
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

/** For checks that look across keys: the same wording, without a schema. */
export function problemAt(
  document: YamlDocument,
  path: Path,
  problem: { severity?: 'warning'; code: ProblemCode; message: string; at?: 'key' },
): Problem {
  return {
    severity: problem.severity ?? 'error',
    code: problem.code,
    place: placeOf(document.root, path, problem.at ?? 'value'),
    path: formatPath(path),
    message: problem.message,
  };
}
