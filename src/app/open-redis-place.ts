import type { Redis } from 'ioredis';
import type { CompiledConfig } from '../config/compiled-config.ts';
import type { RedisSettings } from '../config/redis.ts';
import { openRedisLevel } from '../config/warnings/exposure.ts';
import { companyFault, type DaemonSign, FOREIGN } from '../core/controls/daemon-sign.ts';
import type { Clock } from '../core/ports/clock.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { SharedTime } from '../pipeline/shared-time.ts';
import { openQueues } from '../queues/producers.ts';
import { examineRedis } from '../queues/redis-sanity.ts';
import { createRedisUpdateCursors } from '../state/bot/update-cursor.ts';
import { createOperatorTrust } from '../state/controls/operator-seal.ts';
import { createRedisDigestClaims } from '../state/digest/digest-claims.ts';
import { createRedisRateLimitStore } from '../state/limits/limiter-redis.ts';
import { createRedisNonceStore } from '../state/nonce/nonce-redis.ts';
import { createMemoryReceiptStore } from '../state/receipts/receipts-memory.ts';
import { createRedisReceiptStore } from '../state/receipts/receipts-redis.ts';
import { createStandbyReceipts } from '../state/receipts/receipts-standby.ts';
import type { StorePlace } from '../state/redis-scripts.ts';
import { createRedisState, type State } from '../state/state.ts';
import { createRedisStressStore } from '../state/stress/stress-store.ts';
import { closeAll } from './close-all.ts';
import { connectRedis, followClock, lostBy, onRedisLost, RedisUnusableError } from './connect-redis.ts';
import { readSigns, showSign } from './daemon-signs.ts';
import { openAlone } from './open-alone.ts';
import type { PlaceParts, ProcessPlace, Surroundings } from './process-place.ts';
import { redisTarget } from './redis-target.ts';
import { namedStateDirectory } from './state-directory.ts';

/** Opens a place that other processes with the same Redis and prefix share. @throws RedisUnusableError, InstanceTakenError */
export async function openRedisPlace(
  config: CompiledConfig,
  settings: RedisSettings,
  parts: PlaceParts,
): Promise<ProcessPlace> {
  const { clock, telemetry, process, roles, instance, env } = parts;
  const target = redisTarget(settings);
  const { prefix, required } = settings;
  const goesAlone = !required && canGoAlone(roles);
  const onError = onRedisLost(telemetry, clock);
  const connected = await connectRedis(target, { onError, mayBeLost: goesAlone, prefix });
  const { redis } = connected;
  let { lost } = connected;
  redis.on('ready', () => telemetry.emit({ kind: 'redis', available: true }));
  const closers: (() => Promise<unknown> | void)[] = [() => redis.disconnect()];
  const close = (): Promise<void> => closeAll(closers);
  try {
    let isGuarded = false;
    const sign = (): DaemonSign => parts.sign(isGuarded);
    const check = async (): Promise<void> => {
      const beside = { own: sign(), signs: await readSigns(redis, prefix) };
      isGuarded = await checkRedis(redis, config, { ...parts, ...beside }, lost !== undefined);
    };
    lost ??= await lostBy(check, goesAlone);
    const operators = trustOf(config, () => isGuarded);
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
      const stateDirectory = namedStateDirectory({ stateDir: config.stateDir, env });
      const held = { redis, prefix, instance, lost, stateDirectory };
      const opened = await openAlone(parts, { ...held, state, operators, time });
      closers.push(...opened.closers);
      ({ lost } = opened);
    }
    const place = { redis, prefix, instance, timers: systemTimers, state };
    const shown = await showSign({ ...parts, ...place, sign });
    closers.push(shown.end);
    const nonces = createRedisNonceStore({ redis, prefix });
    closers.push(() => nonces.close());
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
    const stores = redisStores(place, clock);
    const shared = { redis, target, prefix, queues, receipts: stores.receipts, lost, join };
    const takesCommands = config.operators.key !== undefined;
    return { ...shown, ...stores, state, operators, takesCommands, nonces, time, shared, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What is no account's, and is kept as long as others may ask for it. */
function redisStores({ redis, prefix, state }: StorePlace & { readonly state: State }, clock: Clock) {
  const place = { redis, prefix };
  return {
    limits: createRedisRateLimitStore(place),
    receipts: createStandbyReceipts(
      createRedisReceiptStore(place),
      createMemoryReceiptStore(clock),
      () => state.standby?.isAlone === true,
    ),
    cursors: createRedisUpdateCursors(place),
    digestClaims: createRedisDigestClaims(place),
    stressStore: createRedisStressStore(place),
  };
}

function trustOf({ operators: { key, maxSlippage } }: CompiledConfig, isGuarded: () => boolean) {
  const text = key?.reveal();
  return createOperatorTrust({
    key: () => text,
    get isGuarded() {
      return isGuarded();
    },
    maxSlippage,
  });
}

/** Only a process that polls and acts can go on without the others. */
export function canGoAlone(roles: readonly string[]): boolean {
  return roles.includes('poll') && roles.includes('act');
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
