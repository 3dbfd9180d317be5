import { findField } from '../../core/fields/field-catalogue.ts';
import type { SubjectKind } from '../../core/rules/rule.ts';
import { formatPath, type Path } from '../problem.ts';
import { problemAt, type Report, readShape } from '../shape/read.ts';
import { oneOf } from '../shape/scalars.ts';
import { nodeAt, type YamlDocument, type YamlNode } from '../yaml/document.ts';
import { type RuleDraft, ruleSchema, SUBJECT_KINDS } from './rule.ts';

/** A rule of a file: its place, and its content when that could be read. */
export interface ReadRule {
  readonly id: string;
  readonly document: YamlDocument;
  readonly path: Path;
  readonly draft?: RuleDraft;
}

/** The rules of a `rules:` list, by id; a rule with mistakes is known by its id only. */
export function readRules(document: YamlDocument, report: Report): ReadonlyMap<string, ReadRule> {
  const rules = new Map<string, ReadRule>();
  const listed = nodeAt(document.root, ['rules']);
  if (listed === undefined) return rules;
  if (!Array.isArray(listed.value)) {
    report(
      problemAt(document, ['rules'], {
        code: 'wrong-value',
        message: 'expected a list of rules, got no list',
      }),
    );
    return rules;
  }
  for (const index of listed.value.keys()) {
    const path = ['rules', index];
    const draft = readRule(document, path, report);
    const id = idAt(document, path);
    if (id === undefined) continue;
    const first = rules.get(id);
    if (first !== undefined) {
      report(
        problemAt(document, [...path, 'id'], {
          code: 'duplicate-id',
          message: `expected a different id for each rule, got ${JSON.stringify(id)} again (first at ${formatPath(first.path)})`,
        }),
      );
      continue;
    }
    rules.set(id, draft === undefined ? { id, document, path } : { id, document, path, draft });
  }
  return rules;
}

function idAt(document: YamlDocument, path: Path): string | undefined {
  const id = nodeAt(document.root, [...path, 'id'])?.value;
  return typeof id === 'string' ? id : undefined;
}

/** One rule at a path; which keys and fields it may have depends on its `on`. */
export function readRule(document: YamlDocument, path: Path, report: Report): RuleDraft | undefined {
  const node = nodeAt(document.root, path);
  if (node === undefined || !isMapping(node)) {
    readShape(ruleSchema('position'), document, path, report);
    return undefined;
  }
  const on = node.children.get('on')?.value;
  const kind = SUBJECT_KINDS.find((known) => known === on);
  if (kind === undefined) {
    readShape(oneOf(...SUBJECT_KINDS), document, [...path, 'on'], report);
    return undefined;
  }
  return readShape(ruleSchema(kind), document, path, report, (key, inRule) =>
    inRule.includes('when') ? otherSubject(key, kind) : '',
  );
}

function isMapping(node: YamlNode): boolean {
  return typeof node.value === 'object' && node.value !== null && !Array.isArray(node.value);
}

/** A field that another kind of subject has: say which. */
function otherSubject(key: string, on: SubjectKind): string {
  const kinds = SUBJECT_KINDS.filter((kind) => kind !== on && findField(kind, key) !== undefined);
  return kinds.length === 0 || findField(on, key) !== undefined
    ? ''
    : ` (a field of rules with on: ${kinds.join(' or ')})`;
}

/** A rule with some of its keys replaced by those of another mapping, each still knowing its own place. */
export function replaceKeys(base: YamlNode, changes: YamlNode): YamlNode {
  const children = new Map(base.children);
  for (const [key, child] of changes.children) children.set(key, child);
  const value = Object.create(null) as Record<string | number, unknown>;
  for (const [key, child] of children) value[key] = child.value;
  return { ...base, value, children };
}
