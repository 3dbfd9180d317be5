import { Redis } from 'ioredis';
import { type LaneState, newLane } from '../../../src/core/lanes/lane-state.ts';
import type { AccountCommit, CommitResult, StoredAccount } from '../../../src/core/ports/state-store.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import type { Backend } from '../../../src/state/account/account-backend.ts';
import { RedisBackend } from '../../../src/state/account/backend-redis.ts';
import {
  createMemoryPlace,
  createMemoryState,
  createRedisState,
  type State,
  type StateOptions,
} from '../../../src/state/state.ts';
import { type PrivateRedis, startPrivateRedis } from '../../support/redis.ts';

/** One place of state that several processes share; each `State` stands for one process. */
export interface Place {
  open(options?: Partial<StateOptions>): State;
  /** The stored data, as texts. */
  readonly raw: Backend;
}

export interface Places {
  open(): Place;
  close(): Promise<void>;
}

/** The number of history samples that every place keeps. */
export const HISTORY_SAMPLES = 200;

export type PlaceKind = 'memory' | 'redis';
export const PLACE_KINDS: readonly PlaceKind[] = ['memory', 'redis'];

export async function openPlaces(kind: PlaceKind): Promise<Places> {
  return kind === 'memory' ? memoryPlaces() : redisPlaces();
}

function memoryPlaces(): Places {
  return {
    open() {
      const place = createMemoryPlace({ clock: systemClock, historySamples: HISTORY_SAMPLES });
      return {
        raw: place.backend,
        open: (options = {}) => createMemoryState({ clock: systemClock, ...options }, place),
      };
    },
    close: () => Promise.resolve(),
  };
}

async function redisPlaces(): Promise<Places> {
  const server: PrivateRedis = await startPrivateRedis();
  const connections: Redis[] = [];
  const states: { close(): void }[] = [];
  const connect = (): Redis => {
    const redis = connectTo(server.url);
    connections.push(redis);
    return redis;
  };
  let places = 0;
  return {
    open() {
      places += 1;
      const prefix = `${server.prefix}${places}`;
      const raw = new RedisBackend({
        redis: connect(),
        prefix,
        timeoutMs: 5_000,
        historySamples: HISTORY_SAMPLES,
      });
      states.push(raw);
      return {
        raw,
        open(options = {}) {
          const state = createRedisState({
            redis: connect(),
            prefix,
            clock: systemClock,
            historySamples: HISTORY_SAMPLES,
            timeoutMs: 30_000,
            ...options,
          });
          states.push(state);
          return state;
        },
      };
    },
    async close() {
      for (const state of states) state.close();
      for (const redis of connections) redis.disconnect();
      await server.stop();
    },
  };
}

export function connectTo(url: string): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  return redis;
}

export async function load(state: State, accountId: string): Promise<StoredAccount> {
  const { load: found } = await state.store.read(accountId);
  if (found.kind !== 'loaded') throw new Error(found.problem.message);
  return found.account;
}

export async function commit(state: State, change: AccountCommit): Promise<StoredAccount> {
  const result = await commitOne(state, change);
  if (result.kind !== 'committed') throw new Error(`the commit ended as ${result.kind}`);
  return result.account;
}

export async function commitOne(state: State, change: AccountCommit): Promise<CommitResult> {
  const [result] = await state.store.commit([change]);
  if (result === undefined) throw new Error('no answer');
  return result;
}

/** An evaluation state that counts its episodes. */
export const evaluation = (accountId: string, nextEpisode: number) => ({
  ...emptyAccountState(accountId),
  nextEpisode,
});

export const episodeOf = (account: StoredAccount): number => account.documents.evaluation?.nextEpisode ?? 0;

export const lane = (account: StoredAccount, market: string, attempt = 0): LaneState => ({
  ...newLane(account.accountId, market, account.epoch.id, 0),
  attempt,
});

export const note = (words: string) => ({ kind: 'note', atMs: 0, about: 'test', words }) as const;

/** The parts of a raw change that change nothing. */
export const NO_CHANGE = {
  remove: [],
  dueInMs: null,
  records: [],
  lanes: [],
  lastNumber: 0,
  files: [],
  removeFiles: [],
  trimBefore: 0,
  history: [],
  lease: null,
  stamp: null,
};
