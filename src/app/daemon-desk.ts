import { processTroubles } from '../core/lines/process-troubles.ts';
import { type DoorError, openDoor } from './door/open-door.ts';
import {
  doorOf,
  idsOf,
  knownAccount,
  type Operations,
  type OperationsPlace,
  openOperations,
} from './operations.ts';
import { type PlaceConfig, problem, readForUrl, readPlaceConfig } from './place-config.ts';

/** Redis does not answer, or the config does not say where it is. */
type DeskReason = 'redis-lost' | 'config';

/** What a person can view from a shell. */
export type Desk = Omit<Operations, 'prefix' | 'audit' | 'history' | 'digest'> & {
  /** The daemon that is asked in place of Redis, and why. */
  readonly through?: { readonly base: string; readonly why: DeskReason };
};

/**
 * Opens the shared state for viewing. If Redis does not answer, or no config says where it is, a daemon on this machine
 * is asked. A daemon named by its URL needs a config only for its tokens.
 */
export async function openDesk(place: OperationsPlace): Promise<Desk> {
  try {
    return await openOperations(place);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const { config, daemonUrl: url, env } = place;
    const isLost = code === 'redis-unreachable' && (config ?? url) !== undefined;
    if (!isLost && (code !== 'config-refused' || url === undefined)) throw error;
    const isEnough = config === undefined || url !== undefined;
    const found = isEnough ? readForUrl(config, env) : readPlaceConfig(config, env, false);
    try {
      return await openDaemonDesk(place, found, isLost ? 'redis-lost' : 'config');
    } catch (failure) {
      if ((failure as { readonly kind?: unknown }).kind !== 'unreachable') throw failure;
      const { message, cure } = failure as DoorError;
      const redis = isLost ? 'Start Redis, or name the right one with --redis. ' : '';
      const words = `${redis}${message[0]?.toUpperCase()}${message.slice(1)}. ${cure}`;
      throw problem(code, (error as Error).message, words);
    }
  }
}

/** What a daemon on this machine shows, for when Redis does not answer. @throws DoorError */
async function openDaemonDesk(place: OperationsPlace, found: PlaceConfig, why: DeskReason): Promise<Desk> {
  const door = await openDoor(doorOf(place));
  // A daemon that does not say must not keep from what it shows.
  const said = async () => (await door.ask('rows').catch(() => undefined))?.rows.map((row) => row.accountId);
  const accountIds = idsOf(found) ?? (await said());
  return {
    accounts: found.config?.accounts.map(knownAccount),
    accountIds,
    fault: found.fault,
    through: { base: door.base, why },
    controls: {
      async list() {
        const { pauses, silences, acknowledgements } = await door.ask('overview');
        return [...pauses, ...silences, ...acknowledgements];
      },
    },
    // Queues and the newest records are in Redis; the daemon goes on without queues.
    pausedQueues: async () => [],
    watchers: async () => 1,
    records: async () => [],
    troubles: async () => processTroubles(await door.ask('overview')),
    quietHours: async () => (await door.ask('overview')).quietHours,
    wasWatched: async (accountId) => accountIds?.includes(accountId) ?? true,
    view: (accountId) => door.ask('account', { params: { id: accountId } }),
    close: async () => undefined,
  };
}
