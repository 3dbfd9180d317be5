import type { StoredAccount } from '../ports/state-store.ts';
import type { OwnStop } from '../quantities/snapshot.ts';
import { standingStops } from './protective-stop.ts';

/** Our protective stops in all markets of an account, as far as its lanes know. */
export function ownStopsOf({ lanes, epoch }: Pick<StoredAccount, 'lanes' | 'epoch'>): readonly OwnStop[] {
  return [...lanes.values()].flatMap((lane) => standingStops(lane, epoch.id));
}
