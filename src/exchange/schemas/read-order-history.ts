import type { ReadOutcome, RecordList, ReplyTiming, SpotOrderRecord } from '../../core/ports/exchange.ts';
import type { Caller } from '../call/caller.ts';
import { type HistoryPlan, joinTimings, readHistory } from './read-history.ts';
import { SetAside } from './set-aside.ts';

const DAY_S = 86_400;
/** Below the 31 days that the live service allows in one request. */
const WINDOW_S = 30 * DAY_S;
/** The live service shows no orders older than six months. */
const REACH_S = 180 * DAY_S;

/**
 * Reads the order history of the live service window by window, newest first, back to `since`. Without dates in the
 * request the service shows only one month. A list that ends where the service shows no more is marked as cut.
 */
export async function readDatedOrders(
  caller: Caller,
  plan: HistoryPlan<SpotOrderRecord>,
): Promise<ReadOutcome<RecordList<SpotOrderRecord>>> {
  const { since, maxRecords = Infinity } = plan.query;
  if (since === undefined) {
    const outcome = await readHistory(caller, plan);
    if (outcome.kind === 'failed') return outcome;
    const { value } = outcome;
    return { ...outcome, value: { ...value, complete: false, cut: value.cut ?? 'period' } };
  }
  const { clock } = caller;
  const deadlineMs = clock.monotonicMs() + (plan.options?.timeoutMs ?? caller.callTimeoutMs);
  const nowS = Math.floor(clock.nowMs() / 1000);
  const oldestS = Math.max(Math.floor(since), nowS - REACH_S);
  const byId = new Map<string, SpotOrderRecord>();
  const aside = new SetAside();
  let cut: RecordList<unknown>['cut'] = oldestS > since ? 'period' : undefined;
  let complete = cut === undefined;
  let before: ReplyTiming | undefined;
  for (let endS = nowS; ; ) {
    const startDate = Math.max(oldestS, endS - WINDOW_S);
    const outcome = await readHistory(caller, {
      ...plan,
      params: { ...plan.params, startDate, ...(endS === nowS ? {} : { endDate: endS }) },
      options: { ...plan.options, timeoutMs: Math.max(1, deadlineMs - clock.monotonicMs()) },
      query: { since, maxRecords: maxRecords - byId.size },
    });
    if (outcome.kind === 'failed') {
      return { ...outcome, attempts: outcome.attempts + (before?.attempts ?? 0) };
    }
    const timing = joinTimings(before, outcome.timing);
    before = timing;
    for (const record of outcome.value.records) byId.set(plan.idOf(record) ?? '', record);
    aside.addAll(outcome.value);
    complete &&= outcome.value.complete;
    cut = outcome.value.cut ?? cut;
    const full = byId.size >= maxRecords;
    if (startDate <= oldestS || full) {
      // More may lie in windows that were not read.
      if (full && startDate > oldestS) cut = 'limit';
      const records = [...byId.values()];
      const list = { ...aside.asList(), records, complete: complete && cut === undefined };
      return { kind: 'ok', value: cut === undefined ? list : { ...list, cut }, timing };
    }
    endS = startDate;
  }
}
