import { followCosts } from '../../core/costs/follow-costs.ts';
import type { PositionRecord } from '../../core/ports/exchange.ts';
import { type DecimalString, decimalFromNumber, formatDecimal } from '../../core/quantities/decimal.ts';
import { PositionQuantities, type PositionReading } from '../../core/quantities/position.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { ActingInputs } from './lane-at-rest.ts';
import type { Acted } from './route-decisions.ts';

/** The mark of an older read does not count as the current price. */
export const MARK_FRESH_MS = 60_000;

/** Adds what orders of the last hour have cost and kept, as far as this poll shows it; usually nothing. */
export function withCosts(acted: Acted, inputs: ActingInputs, snapshot: Snapshot): Acted {
  const { stored, account, moment } = inputs;
  const changes = [...stored.lanes].flatMap(([market, before]) => {
    const lane = acted.lanes.get(market) ?? before;
    if (lane.costs === undefined || lane.epoch !== stored.epoch.id) return [];
    const change = followCosts(lane, {
      accountId: account.id,
      nowMs: moment.nowMs,
      markOf: (name) => markIn(name, inputs, snapshot),
      orders: freshOf(snapshot.sources.spotOrders)?.records ?? [],
    });
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

/** Takes the mark from this account's positions, else from other accounts that this process reads. */
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
    if (markPrice.kind === 'value')
      return formatDecimal(decimalFromNumber(Number(markPrice.value.toPrecision(MARK_DIGITS))));
  }
  return undefined;
}

const MARK_DIGITS = 12;

function freshOf<T>(
  reading:
    | { readonly kind: 'read'; readonly value: T; readonly ageMs: number }
    | { readonly kind: 'notRead'; readonly ageMs: number }
    | undefined,
): T | undefined {
  return reading?.kind === 'read' && reading.ageMs <= MARK_FRESH_MS ? reading.value : undefined;
}
