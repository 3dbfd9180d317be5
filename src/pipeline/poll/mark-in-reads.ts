import type { PositionList } from '../../core/ports/exchange.ts';
import type { DecimalString } from '../../core/quantities/decimal.ts';
import { markOf } from '../act/follow-lane-costs.ts';
import type { PipelineContext } from '../pipeline-context.ts';

/** The mark of an older read does not count as the current price. */
const FRESH_MS = 60_000;

/** The mark of a market by the newest reads of this process, from any account. */
export function markInReads(
  { memory, accounts, clock }: PipelineContext,
  market: string,
): DecimalString | undefined {
  for (const [accountId, { at, reading }] of memory.positions()) {
    if (reading.kind !== 'read' || clock.monotonicMs() - at.monotonicMs > FRESH_MS) continue;
    const settings = accounts.get(accountId)?.rules.settings;
    if (settings === undefined) continue;
    const mark = markOf(market, (reading.value as PositionList).records, settings);
    if (mark !== undefined) return mark;
  }
  return undefined;
}
