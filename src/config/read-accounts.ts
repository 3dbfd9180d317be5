import { accountSchema, type RuleUse, ruleUseSchema, type WrittenAccount } from './accounts.ts';
import { formatPath, type Path } from './problem.ts';
import { ROOT_KEYS } from './root.ts';
import type { SecretContext } from './secrets.ts';
import { didYouMean, problemAt, readShape } from './shape/read.ts';
import { suggest } from './suggest.ts';
import { nodeAt, type YamlDocument } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

export interface ReadAccount {
  readonly path: Path;
  /** Absent when something in it is wrong. */
  readonly account?: WrittenAccount;
  /** What could be read of its `rules`, by index. */
  readonly uses: ReadonlyMap<number, RuleUse>;
}

/**
 * The accounts of the list, one by one, so that a mistake in one hides nothing of the others.
 * `groups` are the egress groups; `undefined` when those could not be read.
 */
export function readAccounts(
  { document, report }: SecretContext,
  groups: ReadonlySet<string> | undefined,
): readonly ReadAccount[] {
  const listed = nodeAt(document.root, ['accounts'])?.value;
  if (!Array.isArray(listed) || listed.length === 0) {
    readShape(ROOT_KEYS.accounts, document, ['accounts'], report);
    return [];
  }
  const firstOf = new Map<string, Path>();
  return [...listed.keys()].map((index): ReadAccount => {
    const path = ['accounts', index];
    const account = readShape(accountSchema, document, path, report);
    const id: unknown = nodeAt(document.root, [...path, 'id'])?.value;
    const first = typeof id === 'string' ? firstOf.get(id) : undefined;
    if (typeof id === 'string' && first !== undefined) {
      const message = `expected a different id for each account, got ${describeText(id)} again (first at ${formatPath(first)})`;
      report(problemAt(document, [...path, 'id'], { code: 'duplicate-id', message }));
    } else if (typeof id === 'string') firstOf.set(id, path);
    const group = account?.egress ?? nodeAt(document.root, [...path, 'egress'])?.value;
    if (groups !== undefined && typeof group === 'string' && !groups.has(group)) {
      const hint = didYouMean(suggest(group, groups));
      const message = `expected an egress group (${[...groups].join(', ')}), got ${describeText(group)}${hint}`;
      report(problemAt(document, [...path, 'egress'], { code: 'unknown-reference', message }));
    }
    const uses = readUses(document, path);
    return account === undefined ? { path, uses } : { path, account, uses };
  });
}

/** Entry by entry and without a word: what is wrong in them is reported with the account. */
function readUses(document: YamlDocument, path: Path): ReadonlyMap<number, RuleUse> {
  const uses = new Map<number, RuleUse>();
  for (const index of nodeAt(document.root, [...path, 'rules'])?.children.keys() ?? []) {
    if (typeof index !== 'number') continue;
    const use = readShape(ruleUseSchema, document, [...path, 'rules', index], () => undefined);
    if (use !== undefined) uses.set(index, use);
  }
  return uses;
}
