import { processTroubles } from '../core/lines/process-troubles.ts';
import { within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { type Desk, type DeskReason, idsOf, knownAccount } from './desk.ts';
import { type DoorPlace, openDoor } from './door/open-door.ts';
import type { PlaceConfig } from './place-config.ts';

/** What a daemon on this machine shows, for when Redis does not answer. @throws DoorError */
export async function openDaemonDesk(
  place: DoorPlace,
  { config, fault, ...found }: PlaceConfig,
  why: DeskReason,
): Promise<Desk> {
  const door = await openDoor(place);
  // A daemon that does not say must not keep from what it shows.
  const said = async () => (await door.rows().catch(() => undefined))?.map(({ accountId }) => accountId);
  const accountIds = idsOf({ ...found, ...(config === undefined ? {} : { config }) }) ?? (await said());
  return {
    accounts: config?.accounts.map(knownAccount),
    accountIds,
    ...(fault === undefined ? {} : { fault }),
    through: { base: door.base, why },
    controls: {
      async list() {
        const { pauses, silences, acknowledgements } = await door.overview();
        return [...pauses, ...silences, ...acknowledgements];
      },
    },
    // Queues and the newest records are in Redis; the daemon goes on without queues.
    pausedQueues: async () => [],
    watchers: async () => 1,
    records: async () => [],
    troubles: async () => processTroubles(await door.overview()),
    quietHours: async () => (await door.overview()).quietHours,
    wasWatched: async (accountId) => accountIds?.includes(accountId) ?? true,
    view: (accountId) => door.view(accountId),
    close: async () => undefined,
  };
}

const TROUBLES_MS = 2_000;

/** Failures that the daemon on this machine reports; none if no daemon answers, or it does not say. */
export async function troublesOf(place: DoorPlace): Promise<readonly string[]> {
  const asked = openDoor(place).then((door) => door.overview());
  return await within(systemTimers, TROUBLES_MS, asked).then(processTroubles, () => []);
}
