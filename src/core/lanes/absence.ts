import type { Recorder } from '../audit/audit-event.ts';
import type { RecentCost } from '../costs/action-cost.ts';
import { isOpen } from '../intents/intent.ts';
import { marketOf } from '../orders/market-steps.ts';
import { coverOrders, mayHaveFilled, outstandingBase } from '../orders/outstanding.ts';
import { CLOSURE_EXPLAINED_MS, isConfirmedClosed } from '../quantities/closure.ts';
import { toDecimal } from '../quantities/decimal.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { LaneScene } from './lane-change.ts';
import type { Absence, LaneState, MarketRead, ReadPosition } from './lane-state.ts';
import { findPosition, isEndangered, type ReadObservation } from './market-read.ts';
import type { OwnOrder } from './own-order.ts';

/** If a position with an open intent is not shown for this long, an alarm is raised. */
const TELL_AFTER_MS = 30_000;

function absenceOf(state: LaneState, positionId: string): Absence | undefined {
  return state.absent?.find((absence) => absence.positionId === positionId);
}

export function lastSeen(state: LaneState, positionId: string): ReadPosition | undefined {
  return findPosition(state.read, positionId) ?? absenceOf(state, positionId)?.last ?? undefined;
}

/** Whether a position that the newest read does not show may still be open; its orders then stay. */
export function isUncertain(state: LaneState, positionId: string): boolean {
  const absence = absenceOf(state, positionId);
  return absence !== undefined && absence.phase !== 'closed';
}

/** Whether a position counts as open although the newest read does not show it. */
export function isHeld(state: LaneState, positionId: string): boolean {
  return absenceOf(state, positionId)?.phase === 'held';
}

/** Whether a held position is missing from complete lists; it counts as closed in time. */
export function isPresumedClosed(state: LaneState, positionId: string): boolean {
  const absence = absenceOf(state, positionId);
  return absence?.phase === 'held' && absence.sinceMs !== null;
}

/** Returns the read with the held positions as last seen: for net exposures, never for prices. */
export function withHeld(read: MarketRead, { absent = [] }: LaneState): MarketRead {
  const held = absent.flatMap(({ last, phase }) => (last === null || phase !== 'held' ? [] : [last]));
  return held.length === 0 ? read : { ...read, positions: [...read.positions, ...held] };
}

/** Whether a cancel must wait: it would remove orders of a position not shown now, and no visible one needs it. */
export function isCancelHeldBack(state: LaneState): boolean {
  const isStanding = state.orders.some(({ positionId, presumedFilled, role, amount, baseSizeBase }) => {
    const absence = absenceOf(state, positionId);
    // After a restart nothing has been read.
    const isMissed = absence?.phase === 'held' && (state.read !== null || absence.reads > 0);
    // A reduction of the whole position has probably closed it.
    const isDone = role === 'reduce' && absence?.sinceMs !== null && toDecimal(amount).gte(baseSizeBase);
    return !presumedFilled && isMissed && !isDone;
  });
  return (
    isStanding &&
    !state.intents.some(
      (intent) => isOpen(intent) && findPosition(state.read, intent.positionId) !== undefined,
    )
  );
}

export function judgeAbsences(
  state: LaneState,
  read: MarketRead,
  observation: ReadObservation,
  scene: LaneScene,
): readonly Absence[] {
  const absent: Absence[] = [];
  for (const positionId of knownIds(state, read, scene.settings)) {
    const before = absenceOf(state, positionId);
    if (findPosition(read, positionId) !== undefined) {
      if (before !== undefined && before.reads > 0) tell(state, before, 'backAgain', scene.audit);
      continue;
    }
    const next = judgeAbsence(state, positionId, { ...scene, read, observation });
    // A closed position is remembered while an order, a cover or an intent refers to it.
    if (next.phase !== 'closed' || hasOurs(state, positionId)) absent.push(next);
  }
  return absent;
}

export function oursOf({ orders, covers, intents }: LaneState): readonly { readonly positionId: string }[] {
  return [...orders, ...covers, ...intents.filter(isOpen)];
}

function hasOurs(state: LaneState, positionId: string): boolean {
  return oursOf(state).some((ours) => ours.positionId === positionId);
}

/** Positions that may be open: an order, a cover or an intent refers to them, or they were seen a moment ago. */
function knownIds(state: LaneState, read: MarketRead, settings: AccountSettings): ReadonlySet<string> {
  const isRecent = state.read !== null && read.sentAtMs - state.read.sentAtMs <= settings.maxSnapshotAgeMs;
  const seen = isRecent ? (state.read?.positions ?? []) : [];
  return new Set([...seen, ...oursOf(state), ...(state.absent ?? [])].map(({ positionId }) => positionId));
}

/** The absence of a position about which no read has said anything. */
export function unseen(positionId: string, last: ReadPosition | null = null): Absence {
  return { positionId, last, sinceMs: null, reads: 0, phase: 'held', told: false };
}

interface AbsenceScene extends LaneScene {
  readonly read: MarketRead;
  readonly observation: ReadObservation;
}

function judgeAbsence(state: LaneState, positionId: string, scene: AbsenceScene): Absence {
  const { read, observation, settings, audit } = scene;
  const last = lastSeen(state, positionId) ?? null;
  const before = absenceOf(state, positionId) ?? unseen(positionId);
  // A position listed with nulls is there.
  if (observation.notOpenYet?.includes(positionId) === true)
    return { ...before, last, sinceMs: null, reads: 0 };
  if (!observation.complete) return { ...before, last };
  const sinceMs = before.sinceMs ?? read.sentAtMs;
  const next = { ...before, last, sinceMs, reads: before.reads + 1 };
  if (before.phase === 'closed') return next;
  if (hasSuccessor(state, next, read)) {
    tell(state, next, 'newPosition', audit);
    return { ...next, phase: 'closed' };
  }
  const forMs = read.sentAtMs - sinceMs;
  if (isConfirmedClosed({ reads: next.reads, forMs })) {
    if (before.phase === 'held') tell(state, next, 'confirmed', audit);
    return { ...next, phase: 'closed' };
  }
  const closers = closersOf(state, positionId, settings);
  const isByOurs = closers.length > 0;
  // In a crash the exchange hides positions by an empty list: only a list that shows others proves what is gone.
  if (before.phase === 'explained' || (isByOurs && observation.byMarket.size > 0)) {
    const isCertain = before.phase === 'explained' && showsOthers(observation);
    if (isCertain) tell(state, next, 'closedByOurs', audit);
    else if (before.phase !== 'explained' && leavesOrders(state, positionId)) {
      tell(state, next, 'explained', audit);
    }
    return { ...next, phase: isCertain ? 'closed' : 'explained' };
  }
  if (isByOurs) tellProbable(next, closers, audit);
  else if (before.reads === 0) tell(state, next, 'presumedClosed', audit);
  const isBlind = !isByOurs && forMs >= TELL_AFTER_MS;
  const isTold = before.told || (isBlind && (tellStop(state, next, audit) || tellBlind(state, next, audit)));
  return { ...next, told: isTold };
}

function leavesOrders({ orders }: LaneState, positionId: string): boolean {
  return orders.filter((order) => order.positionId === positionId && !order.presumedFilled).length > 1;
}

function showsOthers({ ofMarket, byMarket }: ReadObservation): boolean {
  return ofMarket !== true && byMarket.size > 0;
}

/** Whether another position has appeared on its side of the market. */
function hasSuccessor(state: LaneState, { positionId, last }: Absence, read: MarketRead): boolean {
  const beside = findPosition(state.read, positionId) === undefined ? [] : (state.read?.positions ?? []);
  return read.positions.some(
    (other) =>
      (last === null || other.positionSide === last.positionSide) &&
      !beside.some((known) => known.positionId === other.positionId),
  );
}

/** Between two reads the market may jump by this fraction; beyond it, an owner who closes is likelier. */
const JUMP = 0.05;

/** A stop that stood and closes the position, alone or with others, where a jump of the price may have filled it. */
export function standingStopFor(state: LaneState, position: ReadPosition): OwnOrder | undefined {
  const mark = Number(position.markPrice ?? Number.NaN);
  const stops = coverOrders(state, position).filter(
    ({ status, mayHaveVanished, request }) =>
      status === 'open' &&
      mayHaveVanished !== true &&
      Math.abs(mark - Number(request.activationPrice)) <= JUMP * mark,
  );
  return outstandingBase(stops).gte(toDecimal(position.sizeBase)) ? stops[0] : undefined;
}

export function explainsClosure(state: LaneState, positionId: string, settings: AccountSettings): boolean {
  return closersOf(state, positionId, settings).length > 0;
}

/** Our orders that stood when the position was last shown and may have closed it; a stop must have been reached. */
function closersOf(state: LaneState, positionId: string, settings: AccountSettings): readonly OwnOrder[] {
  const position = lastSeen(state, positionId);
  const market = marketOf(state, settings);
  const mayClose = (order: OwnOrder): boolean =>
    order.positionId === positionId &&
    !order.presumedFilled &&
    (order.role === 'reduce' || mayHaveFilled(order, position, market));
  const orders = [...state.orders, ...(state.ended ?? [])].filter(mayClose);
  const newest = orders.at(-1);
  if (newest === undefined) return [];
  const size = toDecimal(position?.sizeBase ?? newest.baseSizeBase);
  const isWhole = orders.some(({ amount }) => toDecimal(amount).gte(size));
  const isEnough = isWhole || outstandingBase(orders, (order) => mayLeaveNothing(state, order)).gte(size);
  return isEnough ? orders : [];
}

/** Orders of a reduction that leaves something replace one another: together they do not close the position. */
function mayLeaveNothing({ intents }: LaneState, { role, key }: OwnOrder): boolean {
  return role === 'cover' || intents.find((intent) => intent.key === key)?.targetBase === '0';
}

const WORDS = {
  presumedClosed:
    'not in the list any more: presumed closed; its targets and stops stay until three reads and 3 minutes agree',
  explained:
    'not in the list any more: an order of ours has probably closed it. What is left of its orders can only reduce; it is cancelled once a list shows another position, or after 3 minutes',
  closedByOurs:
    'closed by an order of ours: two lists show other positions, not this one; what stands for it is cancelled',
  confirmed: 'closed: no list has shown it for 3 minutes; what stands for it is cancelled',
  newPosition: 'closed: another position is open in its market; what stands for it is cancelled',
  backAgain: 'in the list again: its targets and stops are still there',
} as const;

function tell(state: LaneState, absence: Absence, reason: keyof typeof WORDS, audit: Recorder): void {
  const { positionId } = absence;
  if (!hasOurs(state, positionId)) return;
  audit.emit({
    kind: 'positionAbsent',
    positionId,
    reason,
    words: `position ${positionId} is ${WORDS[reason]}`,
  });
}

/** A standing stop raises an alarm once two lists agree; for a reduction the notice of its rule was enough. */
function tellProbable({ positionId, reads }: Absence, closers: readonly OwnOrder[], audit: Recorder): void {
  const stop = closers.find(({ role }) => role === 'cover');
  if (reads !== (stop === undefined ? 1 : 2)) return;
  const closer = stop === undefined ? 'an order of ours' : `our stop at ${stop.request.activationPrice}`;
  const words = `position ${positionId} is not in the list any more, which is empty: ${closer} has probably closed it. An empty list proves nothing: its targets and stops stay until a list shows another position, or three reads and 3 minutes agree`;
  audit.emit({
    kind: 'positionAbsent',
    ...(stop && { key: stop.key, ruleId: stop.ruleId, alarm: true }),
    positionId,
    reason: 'probablyClosedByOurs',
    words,
  });
}

/** A jump of the price may have filled a standing stop between two reads. */
function tellStop(state: LaneState, { positionId, last }: Absence, audit: Recorder): boolean {
  const stop = last === null || isEndangered(last) ? undefined : standingStopFor(state, last);
  if (stop === undefined) return false;
  const { key, ruleId, request } = stop;
  const words = `position ${positionId} has not been in the list for ${TELL_AFTER_MS / 1_000} s: our stop at ${request.activationPrice} has probably closed it, unless you did; its targets and stops stay until three reads and 3 minutes agree`;
  audit.emit({ kind: 'positionAbsent', key, ruleId, positionId, reason: 'stopOrOwner', words, alarm: true });
  return true;
}

function tellBlind(state: LaneState, { positionId }: Absence, audit: Recorder): boolean {
  const intent = state.intents.find(
    (one) => isOpen(one) && one.positionId === positionId && one.refusedBy === null,
  );
  if (intent === undefined) return false;
  const { key, ruleId } = intent;
  const words = `position ${positionId} has not been in the list for ${TELL_AFTER_MS / 1_000} s while its rule acts: unless you closed it, the exchange shows too little; its targets and stops stay`;
  audit.emit({ kind: 'positionAbsent', key, ruleId, positionId, reason: 'notShown', words, alarm: true });
  return true;
}

/** Long enough for a later confirmation of the closing to find here that it was ours. */
const CLOSING_KNOWN_MS = 2 * CLOSURE_EXPLAINED_MS;

/** Positions that our orders may have closed, so that time need not confirm the closing. Those in `shown` are open. */
export function explainedClosures(
  lanes: Iterable<LaneState>,
  shown: ReadonlySet<string>,
  settings: AccountSettings,
  nowMs: number,
): readonly string[] {
  return [...lanes].flatMap((lane) => {
    const known = (lane.absent ?? [])
      .filter(({ phase, sinceMs }) => phase !== 'held' && nowMs - (sinceMs ?? nowMs) <= CLOSURE_EXPLAINED_MS)
      .map(({ positionId }) => positionId);
    const ids = new Set([...lane.orders, ...(lane.ended ?? [])].map(({ positionId }) => positionId));
    const possible = [...ids].filter((id) => explainsClosure(lane, id, settings));
    const certain = (lane.costs ?? [])
      .filter((closing) => closing.closed === true && isNewestClosing(lane, closing, nowMs))
      .map(({ positionId }) => positionId);
    return [...new Set([...known, ...possible, ...certain])].filter((id) => !shown.has(id));
  });
}

/** Whether the position was not reopened since: one reopened under its id was not closed by this order. */
function isNewestClosing(lane: LaneState, { positionId, cost }: RecentCost, nowMs: number): boolean {
  const sinceMs = absenceOf(lane, positionId)?.sinceMs ?? 0;
  const isShown = findPosition(lane.read, positionId) !== undefined;
  return !isShown && sinceMs <= cost.filledMs && nowMs - cost.filledMs <= CLOSING_KNOWN_MS;
}

/** Keeps removed orders as ended: they may have filled before, and explain why reads lack their position. */
export function withLeft(state: LaneState, left: readonly OwnOrder[]): LaneState {
  const ids = new Set(left.map(({ request }) => request.clientOrderId));
  const ended = state.orders.filter(({ request }) => !ids.has(request.clientOrderId));
  return ended.length === 0
    ? { ...state, orders: left }
    : { ...state, orders: left, ended: [...(state.ended ?? []), ...ended] };
}
