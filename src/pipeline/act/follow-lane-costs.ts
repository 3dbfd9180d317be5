import { followCosts } from '../../core/costs/follow-costs.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { ActingInputs } from './lane-at-rest.ts';
import type { Acted } from './route-decisions.ts';

const FRESH_MS = 60_000;

/** Adds what the order history of this poll says of fills of the last hour; usually nothing. */
export function withCosts(acted: Acted, inputs: ActingInputs, snapshot: Snapshot): Acted {
  const { stored, account, moment } = inputs;
  const { spotOrders } = snapshot.sources;
  const orders = spotOrders?.kind === 'read' && spotOrders.ageMs <= FRESH_MS ? spotOrders.value.records : [];
  const changes = [...stored.lanes].flatMap(([market, before]) => {
    const lane = acted.lanes.get(market) ?? before;
    if (lane.costs === undefined || lane.epoch !== stored.epoch.id) return [];
    const change = followCosts(lane, { accountId: account.id, nowMs: moment.nowMs, orders });
    return change === undefined ? [] : [change];
  });
  if (changes.length === 0) return acted;
  const events = changes.flatMap((change) => change.events);
  const alone = changes.map(({ lane }) => lane.market).filter((market) => !acted.lanes.has(market));
  return {
    ...acted,
    lanes: new Map([...acted.lanes, ...changes.map(({ lane }) => [lane.market, lane] as const)]),
    separable: new Set([...acted.separable, ...alone]),
    audit: [...acted.audit, ...events.map((event) => ({ kind: 'action' as const, event }))],
    events: [...acted.events, ...events],
  };
}
