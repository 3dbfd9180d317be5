import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import { Secret } from '../config/secret.ts';
import type { Digest, Period } from '../core/digest/digest.ts';
import { processTroubles } from '../core/lines/process-troubles.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import { type OperatorTrust, TRUSTING } from '../core/ports/operator-trust.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import { moneyOf } from '../core/quantities/units.ts';
import { compileRules } from '../core/rules/compiled-rules.ts';
import { modeOf } from '../core/rules/rule-parts.ts';
import { storyOf } from '../core/view/story.ts';
import { viewAccount } from '../core/view/view-account.ts';
import { systemClock } from '../exchange/system-clock.ts';
import { pausedQueues } from '../queues/redis-sanity.ts';
import { createOperatorTrust } from '../state/controls/operator-seal.ts';
import { createRedisState, type State } from '../state/state.ts';
import { readSigns } from './daemon-signs.ts';
import type { Door } from './door/open-door.ts';
import { connectRedisOnce } from './first-contact.ts';
import { readOwnDirectory } from './own-directory.ts';
import { type PlaceConfig, problem, readConfig, readForUrl, readPlaceConfig } from './place-config.ts';
import { prefixOf, redisTarget } from './redis-target.ts';
import { stateDirectoryOf } from './state-directory.ts';

/** Where the shared state is: a config file, a Redis server, or both, in which case the server wins. */
export interface OperationsPlace {
  readonly config?: string;
  readonly redisUrl?: string;
  /** Default: the config's, else `breakwater`. */
  readonly redisPrefix?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** All of the shared state for a person. Its functions reject if Redis is lost. */
export type Operations = Awaited<ReturnType<typeof openOperations>>;

const DEFAULT_PREFIX = 'breakwater';

/** Opens the shared state. @throws an Error with a `cure`: `config-refused`, `redis-unknown` or `redis-unreachable` */
export async function openOperations(place: OperationsPlace) {
  const needsRedis = place.redisUrl === undefined;
  const found = place.config === undefined ? undefined : readPlaceConfig(place.config, place.env, needsRedis);
  const { config, redis: server, operators: { key: ownKey } = {}, fault } = found ?? {};
  const key = ownKey?.reveal();
  const { state, ...stored } =
    found?.isWithoutRedis === true && place.redisUrl === undefined
      ? await openOwn(place, found.stateDir, key)
      : await openShared(place, server, key);
  return {
    /** In the order of the config; absent without one, or if it has a mistake. */
    accounts: config?.accounts.map(knownAccount),
    /** Ids alone, also from a config with a mistake elsewhere; absent without one. */
    accountIds: found && idsOf(found),
    /** Why the config as a whole is unusable, for people. */
    fault,
    audit: state.audit as Omit<AuditReader, 'prune'>,
    controls: state.controls as Pick<OperatorControls, 'list'>,
    history: state.history,
    /** All accounts over a period; absent without a config. */
    digest: config === undefined ? undefined : gatherer(config, state),
    ...stored,
    /** Failures that a daemon reports: none says so here. */
    troubles: async (): Promise<readonly string[]> => [],
    /** One account as everybody sees it; of an account that is not in the config, only what is stored. */
    view: (accountId: string) => viewOf(state.store, config, accountId),
    /** What the newest audit records of an account say, newest first. */
    story: async (accountId: string, count: number) => storyOf(await state.audit.tail(accountId, count), {}),
    async wasWatched(accountId: string) {
      const { load } = await state.store.read(accountId);
      return load.kind === 'refused' || load.account.version > 0;
    },
  };
}

/** What is stored, as a command without a daemon reads it. */
interface Stored {
  readonly state: State;
  /** First part of the keys in Redis; absent: it is in no Redis. */
  readonly prefix?: string;
  /** Queues that somebody has paused as a whole: their jobs stand still. */
  pausedQueues(): Promise<readonly string[]>;
  /** Number of running daemons that poll. */
  watchers(): Promise<number>;
  close(): Promise<void>;
}

async function openShared(
  place: OperationsPlace,
  server: PlaceConfig['redis'],
  key: string | undefined,
): Promise<Stored> {
  const url = place.redisUrl === undefined ? server?.url : new Secret(place.redisUrl);
  if (url === undefined || url.reveal() === '') {
    throw problem('redis-unknown', 'the address of Redis is not known here', 'Name it with --redis.');
  }
  const written = place.redisPrefix ?? server?.prefix ?? DEFAULT_PREFIX;
  const prefix = prefixOf({ url, prefix: written });
  const redis = await connectRedisOnce(redisTarget({ ...server, url, prefix }));
  const operators = createOperatorTrust({ key: () => key, isGuarded: false });
  const state = createRedisState({ redis, prefix, clock: systemClock, operators });
  return {
    state,
    prefix,
    pausedQueues: () => pausedQueues(redis, prefix),
    watchers: async () => (await readSigns(redis, prefix)).filter(({ takesOrders }) => takesOrders).length,
    async close() {
      state.close();
      redis.disconnect();
    },
  };
}

async function openOwn(
  { config = '', env }: OperationsPlace,
  stateDir: string | undefined,
  key: string | undefined,
): Promise<Stored> {
  const { state, isHeld } = await readOwnDirectory(
    stateDirectoryOf({ configFile: config, stateDir, env }),
    key,
  );
  return {
    state,
    pausedQueues: async () => [],
    watchers: async () => (isHeld ? 1 : 0),
    close: async () => undefined,
  };
}

/** undefined: there is no config, or only a broken one that names no accounts. */
function idsOf({ accountIds, config }: PlaceConfig): readonly string[] | undefined {
  return accountIds.length === 0 && config === undefined ? undefined : accountIds;
}

/** The config's settings of an account; no secrets. */
function knownAccount({ id, settings, rules }: CompiledAccount) {
  return {
    id,
    mode: settings.mode,
    rules: rules.map((rule) => ({ id: rule.id, mode: modeOf(rule, settings) })),
    calmMs: settings.cadence.calmMs,
    moneyOf: (market: string) => moneyOf(market, settings),
  };
}

/** Loads the digest's code on first use. */
function gatherer(
  { accounts }: CompiledConfig,
  { audit, history, store }: State,
): (period: Period, signal: AbortSignal) => Promise<Digest> {
  return async (period, signal) => {
    const { gatherDigest } = await import('./digest/gather-digest.ts');
    const digested = accounts.map(({ id, rules, settings }) => ({
      id,
      rules: compileRules(rules, settings),
    }));
    const nowMs = systemClock.nowMs();
    return await gatherDigest({ audit, history, store, accounts: digested, nowMs, signal }, period);
  };
}

async function viewOf(store: StateStore, config: CompiledConfig | undefined, accountId: string) {
  const { load, controls } = await store.read(accountId);
  const known = config?.accounts.find(({ id }) => id === accountId);
  return viewAccount({
    load,
    controls,
    nowMs: systemClock.nowMs(),
    ...(known && { rules: compileRules(known.rules, known.settings), balances: known.watch.balances }),
  });
}

/** Distinguishes sealed records by the key of a config file; without a file or a key all records look alike. */
export function operatorTrustOf(file: string | undefined, env: OperationsPlace['env']): OperatorTrust {
  if (file === undefined) return TRUSTING;
  const key = readConfig(file, env).operators.key?.reveal();
  return createOperatorTrust({ key: () => key, isGuarded: false });
}

/** What a person can view from a shell. */
export type Desk = Omit<Operations, 'prefix' | 'fault' | 'audit' | 'history' | 'digest'>;

/** What a daemon shows. `isElsewhere`: the config here may be of another one. Rejects with a DoorError. */
export async function askDaemon(
  door: Door,
  { config, env }: Pick<OperationsPlace, 'config' | 'env'>,
  isElsewhere: boolean,
): Promise<Desk> {
  const overview = await door.ask('overview');
  const { pauses, silences, acknowledgements, refusedControls, queues, polling } = overview;
  const found = readForUrl(isElsewhere ? undefined : config, env);
  const said = async () => (await door.ask('rows')).rows.map(({ accountId }) => accountId);
  return {
    accounts: found.config?.accounts.map(knownAccount),
    accountIds: idsOf(found) ?? (await said()),
    controls: {
      async list(onRefused) {
        for (const words of refusedControls) onRefused?.(words);
        return [...pauses, ...silences, ...acknowledgements];
      },
    },
    pausedQueues: async () => queues.flatMap(({ queue, isPaused }) => (isPaused ? [queue] : [])),
    watchers: async () => polling,
    troubles: async () => processTroubles(overview),
    // It says so of an account that it does not watch.
    wasWatched: async () => true,
    view: (accountId) => door.ask('account', { params: { id: accountId } }),
    async story(accountId, count) {
      return (await door.ask('story', { params: { id: accountId }, query: { limit: count } })).entries;
    },
    close: async () => undefined,
  };
}
