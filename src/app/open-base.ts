import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { openRedisLevel } from '../config/warnings/exposure.ts';
import { sha256Hex } from '../core/audit/sha256.ts';
import { companyFault, type DaemonSign, FOREIGN } from '../core/controls/daemon-sign.ts';
import type { Clock, Random } from '../core/ports/clock.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { ReadMemory } from '../pipeline/poll/read-memory.ts';
import { SharedTime } from '../pipeline/shared-time.ts';
import type { RedisTarget } from '../queues/connection.ts';
import { openQueues, type Queues } from '../queues/producers.ts';
import { examineRedis } from '../queues/redis-sanity.ts';
import { createOperatorTrust, keyMarkOf } from '../state/controls/operator-seal.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { createRedisRateLimitStore } from '../state/limits/limiter-redis.ts';
import { createRedisNonceStore, type RedisNonceStore } from '../state/nonce/nonce-redis.ts';
import { createMemoryReceiptStore } from '../state/receipts/receipts-memory.ts';
import { createRedisReceiptStore } from '../state/receipts/receipts-redis.ts';
import { createStandbyReceipts, type StandbyReceipts } from '../state/receipts/receipts-standby.ts';
import { createRedisState, type State } from '../state/state.ts';
import { hasKey } from './client-access.ts';
import { ConfiguredAccounts } from './configured-accounts.ts';
import { connectRedis, followClock, lostBy, onRedisLost, RedisUnusableError } from './connect-redis.ts';
import { readSigns, type ShownSign, showSign } from './daemon-signs.ts';
import { type AloneParts, type AloneSurroundings, openAlone } from './open-alone.ts';
import type { ProcessTelemetry } from './process-telemetry.ts';
import { redisTarget } from './redis-target.ts';

export interface Surroundings extends AloneSurroundings {
  readonly random: Random;
  readonly process: ProcessTelemetry;
  /** Treats warnings about the Redis server as errors. */
  readonly strictRedis: boolean;
  readonly roles: readonly string[];
}

/** Only a process that polls and acts can go on without the others. */
export function canGoAlone(roles: readonly string[]): boolean {
  return roles.includes('poll') && roles.includes('act');
}

/** Everything that runs independently and is closed last. */
export interface Base extends Surroundings, Omit<AloneParts, 'mirror'>, Omit<ShownSign, 'end'> {
  /** The daemon's bound on operator orders. */
  readonly maxSlippage: number;
  readonly target: RedisTarget;
  readonly receipts: StandbyReceipts;
  /** Whether `operators.key` was set at the start. */
  readonly hasOperatorsKey: boolean;
  readonly nonces: RedisNonceStore;
  readonly accounts: ConfiguredAccounts;
  readonly queues: Queues;
  readonly memory: ReadMemory;
  readonly signed: { adopt(config: CompiledConfig): void };
  /** Does the start's steps in Redis later, in a process that started while Redis was lost. */
  readonly join: () => Promise<void>;
  close(): Promise<void>;
}

/** @throws RedisUnusableError, InstanceTakenError */
export async function openBase(config: CompiledConfig, surroundings: Surroundings): Promise<Base> {
  const { clock, telemetry, ordinal, process, roles } = surroundings;
  const instance = `i${ordinal}-${randomBytes(5).toString('hex')}`;
  const target = redisTarget(config.redis);
  const { prefix, required } = config.redis;
  const goesAlone = !required && canGoAlone(surroundings.roles);
  const onError = onRedisLost(telemetry, clock);
  const connected = await connectRedis(target, { onError, mayBeLost: goesAlone, prefix });
  const { redis } = connected;
  let { lost } = connected;
  redis.on('ready', () => telemetry.emit({ kind: 'redis', available: true }));
  const closers: (() => Promise<unknown> | void)[] = [() => redis.disconnect()];
  const close = (): Promise<void> => closeAll(closers);
  try {
    let isGuarded = false;
    const signed = signing(config, roles, () => isGuarded);
    const check = async (): Promise<void> => {
      const beside = { own: signed.sign(), signs: await readSigns(redis, prefix) };
      isGuarded = await checkRedis(redis, config, { ...surroundings, ...beside }, lost !== undefined);
    };
    lost ??= await lostBy(check, goesAlone);
    const trust = trustOf(config, () => isGuarded);
    const { operators } = trust;
    const time = new SharedTime(clock, instance);
    const state: State = createRedisState({
      ...(goesAlone ? { sharedNowMs: () => time.nowMs() } : {}),
      redis,
      prefix,
      clock,
      secrets: () => process.secrets.current,
      operators,
      onRefusedControl: (words) => telemetry.emit({ kind: 'controlRefused', words }),
    });
    closers.push(() => state.close());
    if (goesAlone) {
      const held = { redis, prefix, instance, lost, mirror: config.redis.mirror };
      const opened = await openAlone(surroundings, { ...held, state, operators, time });
      closers.push(...opened.closers);
      ({ lost } = opened);
    }
    const place = { redis, prefix, instance, timers: systemTimers, state };
    const shown = await showSign({ ...surroundings, ...place, ...signed });
    closers.push(shown.end);
    const nonces = createRedisNonceStore({ redis, prefix });
    closers.push(() => nonces.close());
    const accounts = new ConfiguredAccounts({
      ...surroundings,
      nonces,
      instance,
      operators,
      limits: createRedisRateLimitStore({ redis, prefix }),
      fallbackLimits: createMemoryRateLimitStore(clock),
    });
    closers.push(() => accounts.close());
    accounts.adopt(config);
    // The watchdog repeats it.
    if (lost === undefined) await followClock(redis, clock, time).catch(onError);
    const queues = openQueues({
      target,
      prefix,
      sealOf: (notice) => operators.noticeSeal(notice),
      onError: (queue, error) => telemetry.emit({ kind: 'workerError', queue, error }),
    });
    closers.push(() => queues.close());
    const join = async (): Promise<void> => {
      if (lost === undefined) return;
      await check();
      await followClock(redis, clock, time);
    };
    const parts = { instance, target, prefix, redis, state, nonces, accounts, queues, time, signed };
    const own = { receipts: openReceipts(place, clock), memory: new ReadMemory(), lost, join, close };
    return { ...surroundings, ...trust, ...shown, ...parts, ...own };
  } catch (error) {
    await close();
    throw error;
  }
}

function openReceipts({ redis, prefix, state }: Pick<Base, 'redis' | 'prefix' | 'state'>, clock: Clock) {
  const isAlone = (): boolean => state.standby?.isAlone === true;
  const own = createMemoryReceiptStore(clock);
  return createStandbyReceipts(createRedisReceiptStore({ redis, prefix }), own, isAlone);
}

function trustOf({ operators }: CompiledConfig, isGuarded: () => boolean) {
  const key = operators.key?.reveal();
  const { maxSlippage } = operators;
  return {
    operators: createOperatorTrust({
      key: () => key,
      get isGuarded() {
        return isGuarded();
      },
      maxSlippage,
    }),
    maxSlippage,
    hasOperatorsKey: key !== undefined,
  };
}

/** The sign of this process; it follows the config. */
function signing(first: CompiledConfig, roles: readonly string[], isGuarded: () => boolean) {
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
  const sign = (): DaemonSign => ({
    takesOrders,
    acts,
    keyMark,
    isGuarded: isGuarded(),
    maxSlippage,
    ...own,
  });
  return { sign, adopt };
}

/** Closes the last opened first. */
async function closeAll(closers: (() => Promise<unknown> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  // One failure must not keep the others from being closed.
  for (const end of closers.splice(0).reverse()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed');
}

/** Resolves to whether Redis is known to ask for a password. `runs`: reports problems, but refuses nothing. */
async function checkRedis(
  redis: Redis,
  config: CompiledConfig,
  { telemetry, strictRedis, own, signs }: Surroundings & { own: DaemonSign; signs: readonly DaemonSign[] },
  runs: boolean,
): Promise<boolean> {
  if (companyFault(own, signs) === FOREIGN) throw new RedisUnusableError(FOREIGN);
  const { errors, warnings, isGuarded } = await examineRedis(redis, openRedisLevel(config));
  const refused = strictRedis ? [...errors, ...warnings] : errors;
  if (refused.length > 0 && !runs) throw new RedisUnusableError(refused.join('; '));
  telemetry.emit({ kind: 'redis', available: true });
  telemetry.emit({ kind: 'redisChecked', warnings: runs ? [...errors, ...warnings] : warnings });
  return isGuarded;
}
