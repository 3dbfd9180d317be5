import { accountSchema, type WrittenAccount } from './accounts.ts';
import { formatPath, type Path } from './problem.ts';
import { ROOT_KEYS } from './root.ts';
import type { SecretContext } from './secrets.ts';
import { didYouMean, problemAt, readShape } from './shape/read.ts';
import { suggest } from './suggest.ts';
import { nodeAt } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

export interface ReadAccount {
  readonly account: WrittenAccount;
  readonly path: Path;
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
  return listed.flatMap((_, index): readonly ReadAccount[] => {
    const path = ['accounts', index];
    const account = readShape(accountSchema, document, path, report);
    const id: unknown = nodeAt(document.root, [...path, 'id'])?.value;
    const first = typeof id === 'string' ? firstOf.get(id) : undefined;
    if (typeof id === 'string' && first !== undefined) {
      const message = `expected a different id for each account, got ${describeText(id)} again (first at ${formatPath(first)})`;
      report(problemAt(document, [...path, 'id'], { code: 'duplicate-id', message }));
    } else if (typeof id === 'string') firstOf.set(id, path);
    if (account === undefined) return [];
    if (groups !== undefined && !groups.has(account.egress)) {
      const hint = didYouMean(suggest(account.egress, groups));
      const message = `expected an egress group (${[...groups].join(', ')}), got ${describeText(account.egress)}${hint}`;
      report(problemAt(document, [...path, 'egress'], { code: 'unknown-reference', message }));
    }
    return [{ account, path }];
  });
}
