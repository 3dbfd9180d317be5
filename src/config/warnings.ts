import type { UncheckedConfig } from './compile-config.ts';
import type { Problem } from './problem.ts';
import { accountWarnings, exchangeWarnings, sharedKeys } from './warnings/accounts.ts';
import { exposureProblems, proxyWarnings, tlsProblems } from './warnings/exposure.ts';
import { marketWarnings } from './warnings/markets.ts';
import { ruleWarnings } from './warnings/rules.ts';
import { stressWarnings } from './warnings/stress.ts';

/**
 * Returns the warnings about a config that could be read as a whole, and the errors that need the whole: two accounts
 * that act with one key, missing encryption, and acting without certificate checks.
 */
export function warningsOf(
  config: UncheckedConfig,
  env: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  return [
    ...tlsProblems(config, env),
    ...sharedKeys(config),
    ...exposureProblems(config),
    ...exchangeWarnings(config),
    ...marketWarnings(config),
    ...stressWarnings(config),
    ...proxyWarnings(config),
    ...config.accounts.flatMap((account) => [
      ...accountWarnings(account, config),
      ...account.rules.flatMap((rule, index) => {
        const used = account.used[index];
        return used === undefined ? [] : ruleWarnings(rule, used, account);
      }),
    ]),
  ];
}
