import { type ReadObservation, readPositions } from '../../core/lanes/market-read.ts';
import type { PositionList } from '../../core/ports/exchange.ts';
import type { AccountDocuments } from '../../core/ports/state-store.ts';
import { PositionQuantities } from '../../core/quantities/position.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import { type AccountState, emptyAccountState } from '../../core/rules/account-state.ts';
import type { CompiledRules } from '../../core/rules/compiled-rules.ts';
import type { PipelineContext, WatchedAccount } from '../pipeline-context.ts';
import type { PositionsRead } from '../poll/observe-account.ts';

export interface MarketRecords {
  /** The read, with the forecasts of the account as stored now. */
  observationFor(documents: AccountDocuments): ReadObservation;
}

/** `evaluation`: a position that was open and is listed with nulls counts as hidden, like a record set aside. */
function howComplete(
  { complete, notOpenYet: listed = [] }: PositionList,
  evaluation: AccountState | undefined,
): Pick<ReadObservation, 'complete' | 'notOpenYet'> {
  const ids = listed.map(({ positionId }) => positionId);
  const isHidden = evaluation?.positions.some(({ positionId }) => ids.includes(positionId)) === true;
  return { complete: complete && !isHidden, ...(ids.length > 0 && { notOpenYet: ids }) };
}

function lastPricesOf({ lastPrices }: PositionList): Pick<ReadObservation, 'lastPrices'> {
  return lastPrices === undefined ? {} : { lastPrices };
}

/** Reads the positions of a lane's market; null: the read failed, or was given up. */
export async function readMarket(
  { clock, telemetry, time, memory, turns }: PipelineContext,
  account: WatchedAccount,
  market: string,
  signal: AbortSignal,
): Promise<MarketRecords | null> {
  const startedMs = clock.monotonicMs();
  const outcome = await account.exchange.openPositions({ market }, { priority: 'protective', signal });
  const about = { kind: 'step', accountId: account.id, market, step: 'readPositions' } as const;
  const durationMs = clock.monotonicMs() - startedMs;
  if (outcome.kind === 'failed') {
    telemetry.emit({ ...about, outcome: 'failed', error: outcome.error.name, durationMs });
    return null;
  }
  telemetry.emit({ ...about, outcome: 'read', durationMs });
  const { value, timing } = outcome;
  memory.falls.note(account.id, value, timing.sentAtMs, market);
  const snapshot: Snapshot = {
    version: 1,
    accountId: account.id,
    at: time.instant(),
    sources: { positions: { kind: 'read', value, ageMs: 0 } },
    ownStops: [],
  };
  // Rounded up like the lane's clock: a read sent after an event never appears to precede it.
  const sentAtMs = Math.ceil(time.ofMonotonic(timing.sentAtMs));
  const receivedAtMs = Math.ceil(time.ofMonotonic(timing.receivedAtMs));
  return {
    observationFor: ({ evaluation }) => ({
      sentAtMs,
      receivedAtMs,
      ofMarket: true,
      sizesBefore: turns.sizesBefore(account.id),
      ...howComplete(value, evaluation),
      ...lastPricesOf(value),
      byMarket: readPositions(snapshot, evaluation ?? emptyAccountState(account.id), account.rules, true),
    }),
  };
}

/** Earlier marks of these positions, from the reads of this process. */
function marksOf(
  { earlier }: PositionsRead,
  byMarket: ReadObservation['byMarket'],
  settings: AccountSettings,
): NonNullable<ReadObservation['earlierMarks']> {
  return (market, isMissing) => {
    // What those reads alone did not tell of a side, a later one may have.
    const sides = new Map(
      [...byMarket.values()].flat().map(({ positionId, direction }) => [positionId, direction ?? undefined]),
    );
    return earlier().flatMap(({ list, sentAtMs }) => {
      if (!isMissing(sentAtMs)) return [];
      return list.records.flatMap((record) => {
        if (record.market !== market || !sides.has(record.positionId)) return [];
        const { markPrice } = new PositionQuantities(record, settings, sides.get(record.positionId));
        return markPrice.kind === 'value' ? [{ atMs: sentAtMs, mark: markPrice.value }] : [];
      });
    });
  };
}

/** The account's own read, with the forecasts of its evaluation. */
export function readOf(
  positions: PositionsRead,
  snapshot: Snapshot,
  evaluated: AccountState,
  rules: CompiledRules,
): ReadObservation {
  const { sentAtMs, receivedAtMs, list, sizesBefore } = positions;
  const byMarket = readPositions(snapshot, evaluated, rules);
  return {
    sentAtMs,
    receivedAtMs,
    sizesBefore,
    ...howComplete(list, evaluated),
    ...lastPricesOf(list),
    byMarket,
    earlierMarks: marksOf(positions, byMarket, rules.settings),
  };
}
