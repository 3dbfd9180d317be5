import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import { readVersion } from './read-version.ts';

export type Ways = Pick<CompiledConfig, 'exchange' | 'egress'>;

/** Address of the proxy of an egress group; may hold a password. */
export function proxyOf(group: string, { exchange, egress }: Ways): string | undefined {
  return (egress[group]?.proxy ?? exchange.proxy)?.reveal();
}

/** Public data need no key, nor does a client that is never used. */
export const NO_KEY = { apiKey: 'none', apiSecret: 'none' };

export function hasKey({ apiKey, apiSecret }: CompiledAccount): boolean {
  return apiKey.reveal() !== '' && apiSecret.reveal() !== '';
}

/** How an account's client reaches the exchange. Has its key in the clear: do not keep. */
export function clientAccess(account: CompiledAccount, config: Ways) {
  const { baseUrls, dialect, attemptTimeoutMs, callTimeoutMs, certificateAuthorities } = config.exchange;
  const proxy = proxyOf(account.egress, config);
  return {
    baseUrls,
    credentials: { apiKey: account.apiKey.reveal(), apiSecret: account.apiSecret.reveal() },
    version: readVersion(),
    dialect,
    timeouts: { attemptMs: attemptTimeoutMs, callMs: callTimeoutMs },
    ...(proxy === undefined ? {} : { proxy }),
    ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
  };
}
