import { randomBytes } from 'node:crypto';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { sha256Hex } from '../core/audit/sha256.ts';
import type { DaemonSign } from '../core/controls/daemon-sign.ts';
import { ReadMemory } from '../pipeline/poll/read-memory.ts';
import { keyMarkOf } from '../state/controls/operator-seal.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { hasKey } from './client-access.ts';
import { closeAll } from './close-all.ts';
import { ConfiguredAccounts } from './configured-accounts.ts';
import { openOwnPlace } from './open-own-place.ts';
import { openRedisPlace } from './open-redis-place.ts';
import type { OwnSign, ProcessPlace, Surroundings } from './process-place.ts';

/** Everything that runs independently and is closed last. */
export interface Base extends Surroundings, ProcessPlace {
  readonly instance: string;
  /** The daemon's bound on operator orders. */
  readonly maxSlippage: number;
  readonly accounts: ConfiguredAccounts;
  readonly memory: ReadMemory;
  readonly signed: { adopt(config: CompiledConfig): void };
}

/** @throws RedisUnusableError, InstanceTakenError, JournalHeldError */
export async function openBase(config: CompiledConfig, surroundings: Surroundings): Promise<Base> {
  const { clock, ordinal, roles } = surroundings;
  const instance = `i${ordinal}-${randomBytes(5).toString('hex')}`;
  const { sign, adopt } = signing(config, roles);
  const parts = { ...surroundings, instance, sign };
  const place =
    config.redis === undefined
      ? await openOwnPlace(config, parts)
      : await openRedisPlace(config, config.redis, parts);
  const accounts = new ConfiguredAccounts({
    ...surroundings,
    ...place,
    instance,
    fallbackLimits: createMemoryRateLimitStore(clock),
  });
  accounts.adopt(config);
  return {
    ...surroundings,
    ...place,
    instance,
    accounts,
    maxSlippage: config.operators.maxSlippage,
    memory: new ReadMemory(),
    signed: { adopt },
    close: () => closeAll([() => place.close(), () => accounts.close()]),
  };
}

/** The sign of this process follows the config. */
function signing(first: CompiledConfig, roles: readonly string[]) {
  const keyMark = keyMarkOf(first.operators.key?.reveal()) ?? null;
  const { maxSlippage } = first.operators;
  const takesOrders = roles.includes('poll');
  const acts = takesOrders || roles.includes('act');
  let own: Pick<DaemonSign, 'apiKeys' | 'config'> = {};
  const adopt = ({ accounts, checksum: config }: CompiledConfig): void => {
    const marks = accounts
      .filter(hasKey)
      .map(({ apiKey }) => sha256Hex(`breakwater ${apiKey.reveal()}`).slice(0, 16));
    // The same few of any accounts: at least one stays when a key is changed.
    own = { apiKeys: marks.toSorted().slice(0, 8), config };
  };
  adopt(first);
  const sign: OwnSign = (isGuarded) => ({ takesOrders, acts, keyMark, isGuarded, maxSlippage, ...own });
  return { sign, adopt };
}
