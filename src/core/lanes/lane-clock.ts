import type { Approvals } from '../approvals/question.ts';
import type { LimitLedger } from '../intents/gate.ts';
import type { StoredAccount } from '../ports/state-store.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { type LaneState, newLane } from './lane-state.ts';
import { rebase, startEpoch } from './recover-lane.ts';

/** A step ahead of the lanes' clock while this process was running, measured by its monotonic clock. */
export interface ClockStep {
  readonly byMs: number;
  /** On the clock after the step: times up to this may have been written before the step. */
  readonly untilMs: number;
}

export interface LaneMoment {
  readonly nowMs: number;
  /** The last step ahead; null: none was seen. */
  readonly step: ClockStep | null;
}

/** Differences up to this are measurement errors; a time further ahead was written before a step back. */
export const CLOCK_TOLERANCE_MS = 1_000;

/**
 * Adapts a lane to clock steps. A lane dated ahead was written before the clock stepped back: its pauses begin anew.
 * After a step ahead all its times move along, so that the step ends no fence, pause or deadline.
 */
export function onClock(lane: LaneState, settings: AccountSettings, { nowMs, step }: LaneMoment): LaneState {
  const latestMs = latestOf(lane);
  if (latestMs > nowMs + CLOCK_TOLERANCE_MS) return rebase(lane, settings, nowMs);
  if (step === null || Math.max(latestMs, lane.rebasedMs ?? 0) > step.untilMs) return lane;
  return { ...(moved(lane, step.byMs) as LaneState), rebasedMs: nowMs };
}

/** Returns the lane in this store epoch and on this clock. A new or earlier-epoch lane trusts only new reads. */
export function inEpoch(
  stored: StoredAccount,
  market: string,
  settings: AccountSettings,
  moment: LaneMoment,
): LaneState {
  const { id } = stored.epoch;
  const lane = stored.lanes.get(market);
  if (lane === undefined) return newLane(stored.accountId, market, id, moment.nowMs);
  if (lane.epoch !== id) return startEpoch(lane, id, settings, moment.nowMs);
  return onClock(lane, settings, moment);
}

/** The same for the episodes that cooldown and perHour are counted from. */
export function ledgerOnClock(ledger: LimitLedger, moment: LaneMoment): LimitLedger {
  const { admitted } = ledger;
  if (admitted.length === 0) return ledger;
  const latestMs = Math.max(...admitted.map(({ atMs, endedMs }) => Math.max(atMs, endedMs ?? atMs)));
  return documentOnClock(ledger, latestMs, moment);
}

/** The same for approval questions: a step of the clock makes no answer late and ends no wait. */
export function approvalsOnClock(approvals: Approvals, moment: LaneMoment): Approvals {
  const { questions } = approvals;
  if (questions.length === 0) return approvals;
  const latestMs = Math.max(
    ...questions.map(({ openedMs, askedMs }) => Math.max(openedMs, askedMs ?? openedMs)),
  );
  return documentOnClock(approvals, latestMs, moment);
}

/** `latestMs`: newest time of a past event in it. After a step back that event counts as of now. */
function documentOnClock<T extends LimitLedger | Approvals>(
  document: T,
  latestMs: number,
  { nowMs, step }: LaneMoment,
): T {
  const { rebasedMs = 0, ...times } = document;
  const movedBy = (byMs: number): T => ({ ...document, ...(moved(times, byMs) as typeof times) });
  if (latestMs > nowMs + CLOCK_TOLERANCE_MS) return movedBy(nowMs - latestMs);
  if (step === null || Math.max(latestMs, rebasedMs) > step.untilMs) return document;
  return { ...movedBy(step.byMs), rebasedMs: nowMs };
}

/** Newest time of a past event in the lane: none can be later than now. */
function latestOf(lane: LaneState): number {
  return Math.max(
    lane.read?.sentAtMs ?? 0,
    lane.latestRead?.sentAtMs ?? 0,
    lane.doubt?.sinceMs ?? 0,
    lane.change?.startedMs ?? 0,
    lane.inProgress?.startedMs ?? 0,
    ...lane.orders.map(({ sentMs }) => sentMs),
    ...lane.intents.map(({ openedMs, endedMs }) => Math.max(openedMs, endedMs ?? 0)),
    ...lane.cancels.map(({ openedMs }) => openedMs),
  );
}

/** Members that are durations. Every other member whose name ends in `Ms` is a point in time. */
const DURATIONS: ReadonlySet<string> = new Set(['roundTripMs', 'answerWithinMs', 'continuesForMs']);

/** Returns plain data with all its points in time moved; `retryAtMs` holds several, by kind, and `addsMs` a list. */
function moved(value: unknown, byMs: number, isMoment = false): unknown {
  if (typeof value === 'number') return isMoment ? value + byMs : value;
  if (Array.isArray(value)) return value.map((one) => moved(one, byMs, isMoment));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isNamedSo = name.endsWith('Ms') && !DURATIONS.has(name);
      return [name, moved(member, byMs, isMoment || isNamedSo)];
    }),
  );
}
