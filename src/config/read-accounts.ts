import { suggest } from '../core/text/suggest.ts';
import { accountSchema, type RuleUse, ruleUseSchema, type WrittenAccount } from './accounts.ts';
import { formatPath, type Path } from './problem.ts';
import { ROOT_KEYS } from './root.ts';
import type { SecretContext } from './secrets.ts';
import { complain, didYouMean, readShape, readSound } from './shape/read.ts';
import { isMapping, nodeAt, type YamlDocument } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

export interface ReadAccount {
  readonly path: Path;
  /** Absent if it has a mistake. */
  readonly account?: WrittenAccount;
  /** The entries of its `rules` that could be read, by index. */
  readonly uses: ReadonlyMap<number, RuleUse>;
  /** Whether every entry could be read; an entry may lack keys that had mistakes. */
  readonly allUsesRead: boolean;
}

/**
 * Reads the accounts one by one, so that a mistake in one does not hide others. `groups` are the egress groups;
 * undefined if they could not be read.
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
      complain({ document, report }, [...path, 'id'], 'duplicate-id', message);
    } else if (typeof id === 'string') firstOf.set(id, path);
    const group = account?.egress ?? nodeAt(document.root, [...path, 'egress'])?.value;
    if (groups !== undefined && typeof group === 'string' && !groups.has(group)) {
      const hint = didYouMean(suggest(group, groups));
      const message = `expected an egress group (${[...groups].join(', ')}), got ${describeText(group)}${hint}`;
      complain({ document, report }, [...path, 'egress'], 'unknown-reference', message);
    }
    const { uses, allUsesRead } = readUses(document, path);
    return account === undefined ? { path, uses, allUsesRead } : { path, account, uses, allUsesRead };
  });
}

/** Reads the entries one by one without reporting: their mistakes are reported with the account. */
function readUses(document: YamlDocument, path: Path): Pick<ReadAccount, 'uses' | 'allUsesRead'> {
  const uses = new Map<number, RuleUse>();
  const account = nodeAt(document.root, path);
  const listed = account?.children.get('rules');
  if (listed === undefined) return { uses, allUsesRead: account !== undefined && isMapping(account) };
  if (!Array.isArray(listed.value)) return { uses, allUsesRead: false };
  for (const index of listed.value.keys()) {
    const use = readSound(ruleUseSchema, document, [...path, 'rules', index]);
    if (use !== undefined) uses.set(index, use);
  }
  return { uses, allUsesRead: uses.size === listed.value.length };
}
