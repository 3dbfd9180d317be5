import { processTroubles } from '../core/lines/process-troubles.ts';
import type { Door } from './door/open-door.ts';
import { idsOf, knownAccount, type Operations, type OperationsPlace } from './operations.ts';
import { readForUrl } from './place-config.ts';

/** What a person can view from a shell. */
export type Desk = Omit<Operations, 'prefix' | 'fault' | 'audit' | 'history' | 'digest'>;

/** What a daemon shows. `isElsewhere`: the config here may be of another one. Rejects with a DoorError. */
export async function askDaemon(
  door: Door,
  { config, env }: Pick<OperationsPlace, 'config' | 'env'>,
  isElsewhere: boolean,
): Promise<Desk> {
  const overview = await door.ask('overview');
  const { pauses, silences, acknowledgements, refusedControls, queues, polling, quietHours } = overview;
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
    quietHours: async () => quietHours,
    // It says so of an account that it does not watch.
    wasWatched: async () => true,
    view: (accountId) => door.ask('account', { params: { id: accountId } }),
    async story(accountId, count) {
      return (await door.ask('story', { params: { id: accountId }, query: { limit: count } })).entries;
    },
    close: async () => undefined,
  };
}
