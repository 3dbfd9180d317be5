import { ALL_MARKETS } from '../../core/digest/sighting.ts';
import type { HistorySample } from '../../core/ports/history-reader.ts';
import type { Quantity } from '../../core/quantities/quantity.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';
import type { Instant, Snapshot } from '../../core/quantities/snapshot.ts';
import type { AccountState } from '../../core/rules/account-state.ts';
import { creditLineKey } from '../../core/rules/memory.ts';
import { evaluatedAccount, positionKey } from '../../core/rules/subjects.ts';

/** The figures of each subject that curves, digests and later rule checks use. */
export function historySamples(
  snapshot: Snapshot,
  state: AccountState,
  now: Instant,
  settings: AccountSettings,
): readonly HistorySample[] {
  const account = evaluatedAccount(snapshot, settings, now, state);
  const samples: HistorySample[] = account.positions.map((position) => {
    const { direction, markPrice, liquidationDistance, record } = position;
    const { market, amount } = record;
    const values = { market, amount, ...known({ direction, markPrice, liquidationDistance }) };
    return { subject: positionKey(record.positionId), values };
  });
  // For a single position the joint distance equals its own distance.
  if (samples.length > 1) {
    const { jointDistance } = account;
    if (jointDistance.kind === 'value')
      samples.push({ subject: ALL_MARKETS, values: { jointDistance: jointDistance.value } });
  }
  for (const creditLine of account.creditLines) {
    const [currentLtv, marginCallLtv] = [creditLine.ltv('currentLtv'), creditLine.ltv('marginCallLtv')];
    samples.push({
      subject: creditLineKey(creditLine.record),
      values: { amount: creditLine.record.amount, ...known({ currentLtv, marginCallLtv }) },
    });
  }
  return samples;
}

function known(quantities: Readonly<Record<string, Quantity<number | string>>>): HistorySample['values'] {
  return Object.fromEntries(
    Object.entries(quantities).flatMap(([name, one]) => (one.kind === 'value' ? [[name, one.value]] : [])),
  );
}
