import { findField } from '../../core/fields/field-catalogue.ts';
import type { SubjectKind } from '../../core/rules/rule.ts';
import { complainOfChannel } from '../channels.ts';
import { formatPath, type Path } from '../problem.ts';
import { type ByKind, readByKind } from '../shape/by-kind.ts';
import { complain, type Report } from '../shape/read.ts';
import { nodeAt, type YamlDocument, type YamlNode } from '../yaml/document.ts';
import { digitsOf } from '../yaml/value.ts';
import { channelName } from './actions.ts';
import { type RuleDraft, ruleId, ruleSchema, SUBJECT_KINDS } from './rule.ts';

/** A rule of a file. `draft` is absent if it could not be read. */
export interface ReadRule {
  readonly id: string;
  /** The file, with misspelt keys of this rule corrected. */
  readonly document: YamlDocument;
  readonly path: Path;
  readonly draft?: RuleDraft | undefined;
}

export interface ReadRules {
  /** By id, including rules with mistakes. */
  readonly rules: ReadonlyMap<string, ReadRule>;
  /** Whether every rule has a valid, unique id. If not, an unknown name may be the intended id of a rule. */
  readonly allNamed: boolean;
}

export interface RuleContext {
  readonly report: Report;
  /** Names of channels; undefined if they could not be read. */
  readonly channels: readonly string[] | undefined;
}

export function readRules(document: YamlDocument, context: RuleContext): ReadRules {
  const { report } = context;
  const rules = new Map<string, ReadRule>();
  const listed = nodeAt(document.root, ['rules']);
  if (listed === undefined) return { rules, allNamed: true };
  if (!Array.isArray(listed.value)) {
    complain({ document, report }, ['rules'], 'wrong-value', 'expected a list of rules, got no list');
    return { rules, allNamed: false };
  }
  let allNamed = true;
  for (const index of listed.value.keys()) {
    const path = ['rules', index];
    const read = readRule(document, path, context);
    const id = idAt(read.document, path);
    const first = id === undefined ? undefined : rules.get(id);
    allNamed &&= first === undefined && ruleId.safeParse(id).success;
    if (id === undefined) continue;
    if (first === undefined) {
      rules.set(id, { id, path, ...read });
      continue;
    }
    const message = `expected a different id for each rule, got ${JSON.stringify(id)} again (first at ${formatPath(first.path)})`;
    complain({ document, report }, [...path, 'id'], 'duplicate-id', message);
  }
  return { rules, allNamed };
}

/** Returns the id as written, valid or not: accounts may use it. */
function idAt(document: YamlDocument, path: Path): string | undefined {
  const id = nodeAt(document.root, [...path, 'id'])?.value;
  return typeof id === 'string' ? id : digitsOf(id);
}

/** Reads the rule at a path; its keys and fields depend on its `on`. */
export function readRule(document: YamlDocument, path: Path, context: RuleContext) {
  const { document: meant, data } = readByKind(RULE, document, path, context.report);
  checkChannels(meant, path, context);
  return { document: meant, draft: data };
}

const RULE: ByKind<SubjectKind, RuleDraft> = {
  key: 'on',
  kinds: SUBJECT_KINDS,
  schema: ruleSchema,
  explain: (kind) => (key, inRule) => (inRule.includes('when') ? otherSubject(key, kind) : ''),
};

/** Returns a hint for a field that only other kinds of subject have; otherwise an empty text. */
function otherSubject(key: string, on: SubjectKind): string {
  const kinds = SUBJECT_KINDS.filter((kind) => kind !== on && findField(kind, key) !== undefined);
  return kinds.length === 0 || findField(on, key) !== undefined
    ? ''
    : ` (a field of rules with on: ${kinds.join(' or ')})`;
}

/** Checks channel names on the YAML itself, so that other mistakes in the rule do not hide wrong ones. */
function checkChannels(document: YamlDocument, path: Path, { report, channels }: RuleContext): void {
  if (channels === undefined) return;
  for (const at of CHANNEL_PATHS.flatMap((pattern) => matching(nodeAt(document.root, path), pattern, path))) {
    const { data: channel } = channelName.safeParse(nodeAt(document.root, at)?.value);
    if (channel !== undefined) complainOfChannel({ document, report }, at, channel, channels);
  }
}

const EACH = '*';
const ACTION_PATHS: readonly Path[] = [
  ['do', EACH],
  ['escalate', EACH, 'do', EACH],
];
const CHANNEL_PATHS = ACTION_PATHS.flatMap((action) => [
  [...action, 'notify', 'channels'],
  [...action, 'notify', 'channels', EACH],
]);

/** Returns the existing paths that match a pattern below the node at `path`. */
function matching(node: YamlNode | undefined, [key, ...rest]: Path, path: Path): readonly Path[] {
  if (node === undefined) return [];
  if (key === undefined) return [path];
  const keys = key === EACH ? [...node.children.keys()] : [key];
  return keys.flatMap((own) => matching(node.children.get(own), rest, [...path, own]));
}
