import { z } from 'zod';
import { suggest } from '../../core/text/suggest.ts';
import type { Path, Problem } from '../problem.ts';
import { changeAt, isMapping, nodeAt, withChildren, type YamlDocument } from '../yaml/document.ts';
import {
  type Explain,
  type MeantReading,
  type Report,
  readMeant,
  readShape,
  renameKey,
  unknownKey,
} from './read.ts';
import { oneOf } from './scalars.ts';

/** A mapping whose keys depend on the value of one of them: `on` of a rule, `type` of a channel. */
export interface ByKind<K extends string, T> {
  readonly key: string;
  readonly kinds: readonly K[];
  readonly schema: (kind: K) => z.ZodType<T>;
  readonly explain?: (kind: K) => Explain;
}

/**
 * Reads such a mapping. A misspelt kind is reported, and the rest is read as the kind that was probably meant. If no
 * kind is likely, `data` is absent, and only mistakes in terms of every kind are reported.
 */
export function readByKind<K extends string, T>(
  by: ByKind<K, T>,
  written: YamlDocument,
  path: Path,
  report: Report,
): MeantReading<T> {
  const document = withKindKey(by.key, written, path, report);
  const node = nodeAt(document.root, path);
  const readAs = (kind: K, tell: Report): MeantReading<T> =>
    readMeant(by.schema(kind), withKind(document, path, by.key, kind), path, {
      report: tell,
      explain: by.explain?.(kind),
    });
  if (node === undefined || !isMapping(node)) {
    readShape(z.strictObject({}), document, path, report);
    return { document };
  }
  const value = node.children.get(by.key)?.value;
  const kind = readShape(oneOf(...by.kinds), document, [...path, by.key], report);
  const meant = kind ?? (typeof value === 'string' ? suggest(value, by.kinds) : undefined);
  if (meant !== undefined) return readAs(meant, report);
  const readings = by.kinds.map((one) => {
    const problems = new Map<string, Problem>();
    readAs(one, (problem) => problems.set(placeAndPath(problem), problem));
    return problems;
  });
  const [nearest, ...others] = readings.toSorted((a, b) => a.size - b.size);
  for (const [id, problem] of nearest ?? []) if (others.every((other) => other.has(id))) report(problem);
  return { document };
}

function placeAndPath({ place, path }: Problem): string {
  return JSON.stringify([place.line, place.column, path]);
}

/** Corrects a misspelt name of the key itself, which is reported. */
function withKindKey(key: string, document: YamlDocument, path: Path, report: Report): YamlDocument {
  const keys = [...(nodeAt(document.root, path)?.children.keys() ?? [])];
  const misspelt = keys.find((written) => typeof written === 'string' && suggest(written, [key]) === key);
  if (typeof misspelt !== 'string' || keys.includes(key)) return document;
  report(unknownKey(document, path, misspelt, [key]));
  return renameKey(document, path, misspelt, key);
}

function withKind(document: YamlDocument, path: Path, key: string, kind: string): YamlDocument {
  return changeAt(document, path, (node) => {
    const { place, value } = node.children.get(key) ?? node;
    if (value === kind) return node;
    return withChildren(node, new Map(node.children).set(key, { value: kind, place, children: new Map() }));
  });
}
