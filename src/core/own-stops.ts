import type { StoredAccount } from './ports/state-store.ts';
import type { OwnStop } from './snapshot.ts';

/** Our protective stops in all markets of an account, as far as its lanes know. */
export function ownStopsOf({ lanes }: Pick<StoredAccount, 'lanes'>): readonly OwnStop[] {
  const stops: OwnStop[] = [];
  for (const lane of lanes.values()) {
    for (const order of lane.orders) {
      if (order.role !== 'cover') continue;
      const confirmed = order.status === 'open' && !order.ambiguous && lane.doubt === null;
      const { activationPrice } = order.request;
      stops.push({ positionId: order.positionId, activationPrice, amount: order.amount, confirmed });
    }
  }
  return stops;
}
