import { followCosts } from '../../core/costs/follow-costs.ts';
import type { LaneState } from '../../core/lanes/lane-state.ts';
import type { PositionRecord } from '../../core/ports/exchange.ts';
import { type DecimalString, decimalFromNumber, formatDecimal } from '../../core/quantities/decimal.ts';
import { PositionQuantities, type PositionReading } from '../../core/quantities/position.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { ActingInputs } from './lane-at-rest.ts';
import type { Acted } from './route-decisions.ts';

/** A mark from a read older than this is not the price of now. */
const FRESH_MS = 60_000;

/** What orders of the last hour have cost and kept, as far as this poll shows. With nearly every poll: nothing. */
export function withCosts(acted: Acted, inputs: ActingInputs, snapshot: Snapshot): Acted {
  const { stored, account, moment } = inputs;
  let followed = acted;
  for (const [market, before] of stored.lanes) {
    const lane: LaneState | null | undefined = acted.lanes.get(market) ?? before;
    if (lane.costs === undefined || lane.epoch !== stored.epoch.id) continue;
    const change = followCosts(lane, {
      accountId: account.id,
      nowMs: moment.nowMs,
      markOf: (name) => markIn(name, inputs, snapshot),
      orders: freshOf(snapshot.sources.spotOrders)?.records ?? [],
    });
    if (change === undefined) continue;
    followed = {
      ...followed,
      lanes: new Map([...followed.lanes, [market, change.lane]]),
      separable: new Set([...followed.separable, ...(acted.lanes.has(market) ? [] : [market])]),
      audit: [...followed.audit, ...change.events.map((event) => ({ kind: 'action' as const, event }))],
      events: [...followed.events, ...change.events],
    };
  }
  return followed;
}

/** By this account's positions, else by those of others that this process reads. */
function markIn(
  market: string,
  { account, markElsewhere }: ActingInputs,
  { sources }: Snapshot,
): DecimalString | undefined {
  const records = freshOf(sources.positions)?.records ?? [];
  return markOf(market, records, account.rules.settings) ?? markElsewhere?.(market);
}

export function markOf(
  market: string,
  records: readonly PositionRecord[],
  settings: PositionReading,
): DecimalString | undefined {
  for (const record of records) {
    if (record.market !== market) continue;
    const { markPrice } = new PositionQuantities(record, settings);
    if (markPrice.kind === 'value') return formatDecimal(decimalFromNumber(rounded(markPrice.value)));
  }
  return undefined;
}

const MARK_DIGITS = 12;

function rounded(price: number): number {
  return Number(price.toPrecision(MARK_DIGITS));
}

function freshOf<T>(
  reading:
    | { readonly kind: 'read'; readonly value: T; readonly ageMs: number }
    | { readonly kind: 'notRead'; readonly ageMs: number }
    | undefined,
): T | undefined {
  return reading?.kind === 'read' && reading.ageMs <= FRESH_MS ? reading.value : undefined;
}
