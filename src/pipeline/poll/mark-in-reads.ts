import type { PositionList } from '../../core/ports/exchange.ts';
import type { DecimalString } from '../../core/quantities/decimal.ts';
import { MARK_FRESH_MS, markOf } from '../act/follow-lane-costs.ts';
import type { PipelineContext } from '../pipeline-context.ts';

/** The mark of a market by the newest reads of this process, from any account. */
export function markInReads(
  { memory, accounts, clock }: PipelineContext,
  market: string,
): DecimalString | undefined {
  for (const [accountId, { at, reading }] of memory.positions()) {
    if (reading.kind !== 'read' || clock.monotonicMs() - at.monotonicMs > MARK_FRESH_MS) continue;
    const settings = accounts.get(accountId)?.rules.settings;
    if (settings === undefined) continue;
    const mark = markOf(market, (reading.value as PositionList).records, settings);
    if (mark !== undefined) return mark;
  }
  return undefined;
}
