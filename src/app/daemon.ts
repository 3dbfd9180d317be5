import { randomBytes } from 'node:crypto';
import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { startActWorker } from '../../workers/act.ts';
import { startNotifyWorker } from '../../workers/notify.ts';
import { startPollWorker } from '../../workers/poll.ts';
import type { CompiledConfig } from '../config/compiled.ts';
import type { ConfigChange } from '../config/reload.ts';
import type { Clock, Random } from '../core/ports/clock.ts';
import type { Deliverer } from '../core/ports/delivery.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { systemClock } from '../exchange/system-clock.ts';
import type { PipelineContext } from '../pipeline/account.ts';
import { PollGuard } from '../pipeline/poll.ts';
import { ReadMemory } from '../pipeline/read-memory.ts';
import { SharedTime } from '../pipeline/time.ts';
import { openQueues, type Queues } from '../queues/producers.ts';
import { examineRedis } from '../queues/redis-sanity.ts';
import { assertSchedules, type Schedule, tickOf } from '../queues/schedules.ts';
import type { WorkerSettings } from '../queues/worker.ts';
import { createMemoryRateLimitStore } from '../state/limiter-memory.ts';
import { createRedisRateLimitStore } from '../state/limiter-redis.ts';
import { createRedisNonceStore, type RedisNonceStore } from '../state/nonce-redis.ts';
import { createRedisReceiptStore } from '../state/receipts-redis.ts';
import { createRedisState, type State } from '../state/state.ts';
import { ConfiguredAccounts } from './accounts.ts';
import { ConfigWatch, loadOrThrow, problemWords, type ReloadResult } from './config-watch.ts';
import { delivererOf } from './deliverer.ts';
import { connectRedis, followClock, RedisUnusableError } from './redis.ts';
import { Replaceable } from './replaceable.ts';
import { tellAll } from './telemetry.ts';
import { systemTimers } from './timers.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export const ROLES = ['poll', 'act', 'notify', 'web'] as const;
export type Role = (typeof ROLES)[number];

export interface DaemonOptions {
  readonly configFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What this process does; default: everything. */
  readonly roles?: readonly Role[];
  /** Which of several processes this is, 0 to 9: tells them apart while Redis is lost. */
  readonly ordinal?: number;
  readonly telemetry?: readonly Telemetry[];
  readonly clock?: Clock;
  readonly random?: Random;
  /** Refuses what a Redis server should be, too, and not only what it must be. */
  readonly strictRedis?: boolean;
}

export interface Daemon {
  readonly instance: string;
  readonly state: State;
  readonly accounts: ConfiguredAccounts;
  readonly queues: Queues;
  readonly redis: Redis;
  config(): CompiledConfig;
  /** Reads the config and its secrets again. */
  reload(): Promise<ReloadResult>;
  /** Ends in order: no new work, what is under way ends or is handed back. False: not within the bound. */
  stop(why: string, withinMs: number): Promise<boolean>;
}

/**
 * Starts the daemon: config, Redis, state, queues, workers, schedules, watchdog.
 * @throws ConfigUnusableError (code config-refused), RedisUnusableError (code redis-unusable)
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { clock = systemClock, random = Math.random, ordinal = 0, roles = ROLES } = options;
  const telemetry = tellAll(options.telemetry ?? []);
  const loaded = loadOrThrow(options.configFile, options.env);
  const base = await openBase(options, loaded.config, { clock, random, telemetry, ordinal });
  try {
    const warnings = loaded.warnings.map(problemWords);
    const accounts = loaded.config.accounts.length;
    telemetry.emit({ kind: 'configReloaded', accounts, changed: true, warnings });
    const running = await runRoles(base, loaded.config, options, roles);
    telemetry.emit({ kind: 'started', roles, accounts, instance: base.instance });
    return running;
  } catch (error) {
    await base.close();
    throw error;
  }
}

interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly ordinal: number;
}

/** Everything that runs by itself and is closed last. */
interface Base extends Surroundings {
  readonly instance: string;
  readonly url: string;
  readonly prefix: string;
  readonly redis: Redis;
  readonly state: State;
  readonly nonces: RedisNonceStore;
  readonly accounts: ConfiguredAccounts;
  readonly queues: Queues;
  readonly memory: ReadMemory;
  readonly time: SharedTime;
  /** Of the config in force: secrets that no record may contain. */
  readonly secrets: { current: readonly string[] };
  close(): Promise<void>;
}

const REDIS_ERRORS_APART_MS = 1_000;

async function openBase(
  { strictRedis = false }: DaemonOptions,
  config: CompiledConfig,
  surroundings: Surroundings,
): Promise<Base> {
  const { clock, random, telemetry, ordinal } = surroundings;
  const instance = `i${ordinal}-${randomBytes(5).toString('hex')}`;
  const url = config.redis.url.reveal();
  const { prefix } = config.redis;
  const redis = await connectRedis(url, redisTrouble(telemetry, clock));
  redis.on('ready', () => telemetry.emit({ kind: 'redis', available: true }));
  const closers: (() => Promise<unknown> | void)[] = [() => redis.disconnect()];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    const { errors, warnings } = await examineRedis(redis);
    const refused = strictRedis ? [...errors, ...warnings] : errors;
    if (refused.length > 0) throw new RedisUnusableError(refused.join('; '));
    telemetry.emit({ kind: 'redisChecked', warnings });
    const secrets = { current: secretsOf(config) };
    const state = createRedisState({ redis, prefix, clock, secrets: () => secrets.current });
    closers.push(() => state.close());
    const nonces = createRedisNonceStore({ redis, prefix });
    closers.push(() => nonces.close());
    const accounts = new ConfiguredAccounts({
      clock,
      random,
      nonces,
      limits: createRedisRateLimitStore({ redis, prefix }),
      fallbackLimits: createMemoryRateLimitStore(clock),
      telemetry,
      ordinal,
    });
    closers.push(() => accounts.close());
    accounts.adopt(config);
    const time = new SharedTime(clock, instance);
    await followClock(redis, clock, time);
    const queues = openQueues({
      url,
      prefix,
      onError: (queue, error) => telemetry.emit({ kind: 'workerError', queue, error }),
    });
    closers.push(() => queues.close());
    const parts = { instance, url, prefix, redis, state, nonces, accounts, queues, time, secrets };
    return { ...surroundings, ...parts, memory: new ReadMemory(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** One line for an outage, not one per attempt to connect. */
function redisTrouble(telemetry: Telemetry, clock: Clock): (error: unknown) => void {
  let saidMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - saidMs < REDIS_ERRORS_APART_MS) return;
    saidMs = nowMs;
    telemetry.emit({ kind: 'redis', available: false, error });
  };
}

function secretsOf({ accounts, redis }: CompiledConfig): readonly string[] {
  const password = URL.canParse(redis.url.reveal()) ? new URL(redis.url.reveal()).password : '';
  return [
    ...accounts.flatMap(({ apiKey, apiSecret }) => [apiKey.reveal(), apiSecret.reveal()]),
    password,
  ].filter((secret) => secret !== '');
}

/** A poll whose process died is begun again after this time: no account is silent for longer than 5 s. */
const CLAIM_MS = 3_500;
const LANE_LEASE_MS = 3_000;
const LONGEST_WAIT_MS = 10_000;
const HISTORY_MS = 10_000;

function pipelineOf(base: Base, config: () => CompiledConfig): PipelineContext {
  const { accounts, state, clock, random, time, telemetry, queues, memory, instance } = base;
  return {
    accounts,
    store: state.store,
    clock,
    timers: systemTimers,
    random,
    time,
    telemetry,
    lanes: queues.lanes,
    notifier: queues.notifier,
    memory,
    settings: {
      instance,
      claimMs: CLAIM_MS,
      laneLeaseMs: LANE_LEASE_MS,
      longestWaitMs: LONGEST_WAIT_MS,
      historyMs: HISTORY_MS,
      get reminderMs() {
        return config().notify.remindEveryMs;
      },
    },
  };
}

/** Jobs at the same time, per process. A lane that waits for a fence keeps its place. */
const CONCURRENCY = { poll: 128, act: 512, notify: 16 };

async function runRoles(
  base: Base,
  config: CompiledConfig,
  options: DaemonOptions,
  roles: readonly Role[],
): Promise<Daemon> {
  const { telemetry, redis, queues, accounts, state, instance } = base;
  const deliverer = new Replaceable<Deliverer>(await openDeliverer(base, config));
  const watch = new ConfigWatch(
    {
      file: options.configFile,
      env: options.env,
      telemetry,
      adopt: (next, change) => adopt(base, deliverer, next, change),
    },
    config,
  );
  const over = new AbortController();
  const context = pipelineOf(base, () => watch.config);
  const workers = startWorkers(base, context, deliverer, roles, over.signal);
  await assertSchedules(redis, queues.poll, schedulesOf(accounts));
  telemetry.emit({ kind: 'schedulesAsserted', buckets: accounts.buckets(), why: 'start' });
  const watchdog = startWatchdog({ ...base, watch, schedules: () => schedulesOf(accounts) });
  let stopping: Promise<boolean> | undefined;
  return {
    instance,
    state,
    accounts,
    queues,
    redis,
    config: () => watch.config,
    reload: () => watch.reload(),
    stop: (why, withinMs) => (stopping ??= stop({ base, workers, watchdog, deliverer, over }, why, withinMs)),
  };
}

function startWorkers(
  base: Base,
  context: PipelineContext,
  deliverer: Replaceable<Deliverer>,
  roles: readonly Role[],
  signal: AbortSignal,
): readonly Worker<unknown>[] {
  const { url, prefix, telemetry } = base;
  const settings = (role: keyof typeof CONCURRENCY): WorkerSettings => ({
    url,
    prefix,
    telemetry,
    concurrency: CONCURRENCY[role],
  });
  const guard = new PollGuard();
  return [
    ...(roles.includes('poll') ? [startPollWorker(settings('poll'), context, guard)] : []),
    ...(roles.includes('act') ? [startActWorker(settings('act'), context, signal)] : []),
    ...(roles.includes('notify')
      ? [startNotifyWorker(settings('notify'), () => deliverer.current, signal)]
      : []),
  ];
}

function openDeliverer(base: Base, config: CompiledConfig): Promise<Deliverer> {
  const { clock, random, instance, telemetry, redis, prefix } = base;
  return delivererOf(config, {
    clock,
    random,
    instance,
    receipts: createRedisReceiptStore({ redis, prefix }),
    log: ({ message, text, insteadOf }) => telemetry.emit({ kind: 'said', message, text, insteadOf }),
    observer: {
      onDelivery: (message, report) => telemetry.emit({ kind: 'delivered', message, report }),
      onRetry: (message, channel, reason, inMs) =>
        telemetry.emit({ kind: 'deliveryRetried', message, channel, reason, inMs }),
    },
  });
}

/** Schedules of the buckets that have accounts, as often as their accounts' cadences need. */
export function schedulesOf(accounts: ConfiguredAccounts): readonly Schedule[] {
  return accounts.buckets().map((bucket) => {
    const alerts = accounts
      .inBucket(bucket)
      .map((id) => accounts.get(id)?.rules.settings.cadence.alertMs ?? Number.POSITIVE_INFINITY);
    return { bucket, everyMs: tickOf(alerts) };
  });
}

async function adopt(
  base: Base,
  deliverer: Replaceable<Deliverer>,
  config: CompiledConfig,
  change: ConfigChange,
): Promise<void> {
  const { accounts, memory, queues, redis, secrets, telemetry, state } = base;
  const next = await openDeliverer(base, config);
  // Old secrets stay out of the records as well: a reply to an earlier request may still repeat them.
  secrets.current = [...new Set([...secrets.current, ...secretsOf(config)])];
  accounts.adopt(config);
  await deliverer.replace(next);
  for (const id of change.removed) memory.forget(id);
  await assertSchedules(redis, queues.poll, schedulesOf(accounts));
  telemetry.emit({ kind: 'schedulesAsserted', buckets: accounts.buckets(), why: 'reload' });
  // What changed is judged by it at once, not when its old cadence says.
  const ids = [...change.added, ...change.changed.map(({ accountId }) => accountId)];
  await Promise.all(ids.map((id) => state.store.makeDue(id, 0)));
}

interface Running {
  readonly base: Base;
  readonly workers: readonly Worker<unknown>[];
  readonly watchdog: Watchdog;
  readonly deliverer: Replaceable<Deliverer>;
  readonly over: AbortController;
}

async function stop(running: Running, why: string, withinMs: number): Promise<boolean> {
  const { telemetry, clock } = running.base;
  const startedMs = clock.monotonicMs();
  telemetry.emit({ kind: 'stopping', why });
  const bound = new AbortController();
  const tooLong = clock.sleep(withinMs, bound.signal).then(
    () => false,
    () => true,
  );
  const inTime = await Promise.race([end(running).then(() => true), tooLong]);
  bound.abort();
  telemetry.emit({ kind: 'stopped', inTime, durationMs: clock.monotonicMs() - startedMs });
  return inTime;
}

/** Never `close(true)`: a chain of ticks would break. */
async function end({ base, workers, watchdog, deliverer, over }: Running): Promise<void> {
  await watchdog.stop();
  over.abort(new Error('the daemon is stopping'));
  await Promise.all(workers.map((worker) => worker.close()));
  base.memory.abortAll();
  await base.memory.settled();
  await deliverer.close();
  await base.close();
}
