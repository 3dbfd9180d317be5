import type { CompiledConfig } from '../config/compiled-config.ts';
import type { RedisSettings } from '../config/redis.ts';
import { meantOr } from '../core/text/suggest.ts';
import type { ExchangeClientOptions } from '../exchange/client.ts';
import { clientAccess } from './client-access.ts';
import { cardProvidersOf, limitsFor } from './configured-accounts.ts';
import { problem, readConfig } from './place-config.ts';

/** An account's access to the exchange, for single calls by a person. Has its keys in the clear: do not keep. */
export interface ConfiguredAccess
  extends Required<Pick<ExchangeClientOptions, 'baseUrls' | 'credentials' | 'dialect' | 'cardProviders'>>,
    Pick<ExchangeClientOptions, 'proxy' | 'ca'> {
  readonly nonceMode: ExchangeClientOptions['nonce']['mode'];
  readonly nonceStart?: number;
  readonly limiter: Pick<ExchangeClientOptions['limiter'], 'egress' | 'limits'>;
  /** Absent: nonces are counted in this process alone. */
  readonly redis?: RedisSettings;
}

/** @throws an Error with a `cure`: `config-refused`, `account-unknown` or `secret-missing` */
export function accountAccess(
  file: string,
  accountId: string,
  env: Readonly<Record<string, string | undefined>>,
): ConfiguredAccess {
  const config = readConfig(file, env);
  const account = config.accounts.find(({ id }) => id === accountId);
  if (account === undefined) throw unknownAccount(config, accountId);
  const { version: _, timeouts: __, ...access } = clientAccess(account, config);
  const missing = Object.entries(access.credentials).flatMap(([name, value]) => (value === '' ? name : []));
  if (missing.length > 0) {
    const words = `${missing.join(' and ')} of account ${accountId} cannot be read here`;
    throw problem(
      'secret-missing',
      words,
      'Run it as the user of the daemon, with the environment of the daemon.',
    );
  }
  const { nonceStart, settings } = account;
  return {
    ...access,
    cardProviders: cardProvidersOf(account),
    nonceMode: settings.nonceMode,
    ...(nonceStart === undefined ? {} : { nonceStart }),
    limiter: { egress: account.egress, limits: limitsFor(account, config) },
    ...(config.redis === undefined ? {} : { redis: config.redis }),
  };
}

function unknownAccount({ accounts }: CompiledConfig, accountId: string): Error {
  const ids = accounts.map(({ id }) => id);
  const cure = meantOr(accountId, ids, `Accounts: ${ids.join(', ')}.`);
  return problem('account-unknown', `the config has no account ${JSON.stringify(accountId)}`, cure);
}
