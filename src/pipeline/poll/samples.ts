import type { HistorySample } from '../../core/ports/history-reader.ts';
import { CreditLineQuantities } from '../../core/quantities/credit-line.ts';
import { PositionQuantities } from '../../core/quantities/position.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { CompiledRules } from '../../core/rules/compiled-rules.ts';
import { creditLineKey } from '../../core/rules/memory.ts';
import { positionKey } from '../../core/rules/subjects.ts';

/** The figures of each subject that curves are drawn from, and that rules can be judged on afterwards. */
export function samplesOf({ sources }: Snapshot, { settings }: CompiledRules): readonly HistorySample[] {
  const samples: HistorySample[] = [];
  if (sources.positions?.kind === 'read') {
    for (const record of sources.positions.value.records) {
      const { direction, markPrice, liquidationDistance } = new PositionQuantities(record, settings);
      const values: Record<string, number | string> = { market: record.market, amount: record.amount };
      if (direction.kind === 'value') values['direction'] = direction.value;
      if (markPrice.kind === 'value') values['markPrice'] = markPrice.value;
      if (liquidationDistance.kind === 'value') values['liquidationDistance'] = liquidationDistance.value;
      samples.push({ subject: positionKey(record.positionId), values });
    }
  }
  if (sources.creditLine?.kind === 'read') {
    for (const record of sources.creditLine.value.records) {
      const ltv = new CreditLineQuantities(record, settings).ltv('currentLtv');
      const values: Record<string, number | string> = { amount: record.amount };
      if (ltv.kind === 'value') values['currentLtv'] = ltv.value;
      samples.push({ subject: creditLineKey(record), values });
    }
  }
  return samples;
}
