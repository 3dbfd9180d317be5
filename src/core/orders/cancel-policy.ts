import { isCancelHeldBack, isPresumedClosed } from '../lanes/absence.ts';
import type { LaneState, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition, roundTripOf } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import type { OrderType } from '../ports/exchange.ts';
import { toNumber, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { orderTypesOf } from './order-request.ts';
import { isSentFor, offsetFromActivation, standsUnreached } from './outstanding.ts';
import { adverseSpeed, nearestDistance, SHORT_HORIZON_MS, speedTowards } from './way-to-liquidation.ts';

/** How long an accepted order proves that orders can be placed again after a cancel. */
export const PROOF_MS = 10_000;

/** Times of the newest accepted (or, for lack of room, judged) and the newest refused order, on the lanes' clock; -Infinity if there was none. */
export interface OrderRecord {
  readonly acceptedMs: number;
  readonly refusedMs: number;
  readonly unechoedMs?: number;
}

/** Returns the record of several lanes taken together. */
export function orderRecordOf(lanes: Iterable<LaneState>): OrderRecord {
  let acceptedMs = Number.NEGATIVE_INFINITY;
  let refusedMs = Number.NEGATIVE_INFINITY;
  let unechoedMs: number | undefined;
  for (const lane of lanes) {
    for (const atMs of [lane.orderAcceptedMs, lane.roomTaken?.atMs, lane.coverRoomTakenMs])
      acceptedMs = Math.max(acceptedMs, atMs ?? Number.NEGATIVE_INFINITY);
    refusedMs = Math.max(refusedMs, lane.orderRefusedMs ?? Number.NEGATIVE_INFINITY);
    unechoedMs = Math.max(unechoedMs ?? 0, lane.unechoedMs ?? 0) || undefined;
  }
  return { acceptedMs, refusedMs, ...(unechoedMs === undefined ? {} : { unechoedMs }) };
}

/**
 * Whether the exchange can be asked for an order by sending it again under its id. After a reply without the id that
 * was sent, only for orders sent since, and once ids are repeated again: otherwise the question is a second order.
 */
export function isKnownById(
  { sentMs }: Pick<OwnOrder, 'sentMs'>,
  { unechoedMs, orderAcceptedMs = 0 }: Pick<LaneState, 'unechoedMs' | 'orderAcceptedMs'>,
): boolean {
  return unechoedMs === undefined || Math.min(sentMs, orderAcceptedMs) > unechoedMs;
}

/** Whether orders are accepted at present: one was within the last seconds, and none has been refused since. */
export function areOrdersTaken({ acceptedMs, refusedMs }: OrderRecord, nowMs: number): boolean {
  return acceptedMs > refusedMs && Math.abs(nowMs - acceptedMs) <= PROOF_MS;
}

/**
 * Whether a cancel that reaches stops may be sent. `unproven`: not before an order has been accepted. `barred`: not
 * now, as a cancel failed a moment ago or a stop may be needed. `forbidden`: never, by config.
 */
export type CancelVerdict = 'may' | 'unproven' | 'barred' | 'forbidden';

/**
 * Judges whether a cancel may be sent. A crashing exchange refuses orders and still accepts cancels, so a cancel needs
 * proof that orders can be placed again.
 */
export function judgeCancel(
  state: LaneState,
  { settings, orders }: { readonly settings: AccountSettings; readonly orders?: OrderRecord | undefined },
  nowMs: number,
): CancelVerdict {
  if (settings.cancel === 'never') return 'forbidden';
  if (isNeededNow(state, 'reduce')) return 'barred';
  return judgeAnyCancel(state, orders, nowMs);
}

/** The same for a rule's own cancel, which `cancel: never` does not forbid. */
export function judgeAnyCancel(
  state: LaneState,
  orders: OrderRecord | undefined,
  nowMs: number,
): Exclude<CancelVerdict, 'forbidden'> {
  if (nowMs < state.retryAtMs.cancel || isCancelHeldBack(state)) return 'barred';
  if (isMarketEmpty(state)) return 'may';
  if (isNeededNow(state, 'cover')) return 'barred';
  const own = orderRecordOf([state]);
  const record = {
    acceptedMs: Math.max(own.acceptedMs, orders?.acceptedMs ?? own.acceptedMs),
    refusedMs: Math.max(own.refusedMs, orders?.refusedMs ?? own.refusedMs),
  };
  return areOrdersTaken(record, nowMs) ? 'may' : 'unproven';
}

/** Explains to people why no cancel is ever sure to remove an order; `undefined` if one may be. */
export function whyNeverCancelled(
  { activatedMs }: OwnOrder,
  { cancel, cancelCoversStops }: AccountSettings,
): string | undefined {
  if (cancel === 'never') return 'acting.cancel is never';
  if (cancelCoversStops || activatedMs !== null) return undefined;
  return 'exchange.cancelCoversStops is no: a cancel may leave it where it is';
}

/** Explains to people why an order is not cancelled now. */
export function whyNotCancelled(
  { arrivedByMs }: OwnOrder,
  verdict: CancelVerdict,
  state: LaneState,
  { nowMs }: { readonly nowMs: number },
): string {
  const inS = (atMs: number): string => `tried again in ${Math.ceil((atMs - nowMs) / 1_000)} s`;
  if (state.retryAtMs.cancel > nowMs) {
    return `the last cancel was refused or not answered; ${inS(state.retryAtMs.cancel)}`;
  }
  if (verdict === 'may') return 'the cancels so far did not take it away; another one goes now';
  if (arrivedByMs > nowMs)
    return `it may still be on its way, and would arrive after the cancel; ${inS(arrivedByMs)}`;
  if (verdict === 'unproven') {
    return `no order was accepted in the last ${PROOF_MS / 1_000} s, so what else a cancel takes down might not be put up again; tried again once one is`;
  }
  return isCancelHeldBack(state)
    ? 'the exchange does not list a position that orders of ours stand for; tried again with every read'
    : 'the market runs towards liquidation, and this order may be needed; tried again with every read';
}

/** How often room is made by a cancel for a reduction that others' orders leave none. */
const ROOM_MADE_EVERY_MS = 60_000;

/** Whether a reduction that is still needed was refused for lack of room, and none of our orders takes it. */
export function needsRoom(state: LaneState, nowMs: number): boolean {
  const { roomTaken, cancelledMs, intents, orders } = state;
  if (roomTaken === undefined || nowMs - roomTaken.atMs > PROOF_MS) return false;
  if (Math.abs(nowMs - (cancelledMs?.room ?? Infinity)) <= ROOM_MADE_EVERY_MS) return false;
  return intents.some(
    ({ end, refusedBy, hasCleared, positionId }) =>
      (end ?? refusedBy) === null &&
      hasCleared !== true &&
      positionId === roomTaken.positionId &&
      !orders.some((order) => order.positionId === positionId),
  );
}

/** Time that a cancel, the read after it and the new stop may take in a crash, with failures and pauses. */
export const REPLACED_WITHIN_MS = 30_000;

const LEAST_RACE_MS = 3_000;
/** A cancel, a read and two orders, half of them twice. */
const RACE_ROUND_TRIPS = 6;

/** If the market reaches a stop or liquidation within this time, a cancelled order may not be up again in time. */
function raceMs(state: LaneState): number {
  return Math.max(LEAST_RACE_MS, RACE_ROUND_TRIPS * knownRoundTripMs(state));
}

/** Whether the market reaches liquidation before an order that does not fill can have been replaced. */
export function isLastChance(position: ReadPosition, state: LaneState): boolean {
  const distance = nearestDistance(position, state);
  if (position.direction === null || distance === undefined) return false;
  return speedTowards(position.direction, state) * raceMs(state) >= distance;
}

/** How long a request takes at present; 0 if unknown. */
function knownRoundTripMs(state: LaneState): number {
  return state.latestRead === null ? (state.roundTripMs ?? 0) : roundTripOf(state, state.latestRead);
}

/**
 * Whether an order of ours of this role stands, or may stand, between the market and a liquidation, and the market runs
 * towards both. Not if liquidation stays out of reach until another stop stands: it would only close what a reduction has
 * just saved. A reduction may be moved nearer as soon as the market stands again.
 */
function isNeededNow(state: LaneState, role: OwnOrder['role']): boolean {
  return openPositions(state).some((position) => {
    const { direction } = position;
    const distance = nearestDistance(position, state);
    if (direction === null || distance === undefined) return false;
    const speed = speedTowards(direction, state);
    const run = speed * raceMs(state);
    if (run === 0 || Math.max(run, speed * REPLACED_WITHIN_MS) < distance) return false;
    const now = adverseSpeed(state.marks ?? [], direction, SHORT_HORIZON_MS);
    const reach = role === 'cover' ? run : now * raceMs(state);
    return state.orders.some(
      (order) =>
        order.role === role &&
        mayStandInTheWay(order, position) &&
        reach >= Math.min(distance, partTo(order, position)),
    );
  });
}

/** Positions as last seen: a newest read that was not used for sizing proves no closing of one that it lacks. */
function openPositions({ latestRead, read }: LaneState): readonly ReadPosition[] {
  const shown = latestRead?.positions ?? [];
  const unseen = read?.positions.filter(({ positionId }) => !findPosition(latestRead, positionId)) ?? [];
  return [...shown, ...unseen];
}

/** Whether the market has yet to reach an order, which is there unless its request or a cancel was lost. */
function mayStandInTheWay(order: OwnOrder, position: ReadPosition): boolean {
  const { trial, presumedFilled, ambiguous, mayHaveVanished, activatedMs, reachedMs, request } = order;
  const isOther = order.positionId !== position.positionId || !isSentFor(order, position);
  if (isOther || trial === true || request.inFavour === true) return false;
  if (presumedFilled || ambiguous || mayHaveVanished === true) return false;
  const isUnreached = activatedMs === null && reachedMs === null;
  return isUnreached && offsetFromActivation(order, position)?.gt(ZERO) === true;
}

/** How far the market is from an activation, a fraction of the mark. */
function partTo(order: OwnOrder, position: ReadPosition): number {
  const offset = offsetFromActivation(order, position);
  return offset === undefined ? Number.POSITIVE_INFINITY : toNumber(offset) / Number(position.markPrice);
}

/** Whether an order is a stop that certainly stands and that the market has not reached yet. */
export function standsInTheWay(order: OwnOrder, position: ReadPosition): boolean {
  const isCertain = order.role === 'cover' && standsUnreached(order);
  return isCertain && offsetFromActivation(order, position)?.gt(ZERO) === true;
}

/** Whether no position is open, so that no stop protects anything. */
function isMarketEmpty(state: LaneState): boolean {
  const { latestRead, readAfterMs, absent = [] } = state;
  const isGone = ({ phase, positionId }: (typeof absent)[number]): boolean =>
    phase === 'closed' || isPresumedClosed(state, positionId);
  if (!absent.every(isGone)) return false;
  return latestRead !== null && latestRead.sentAtMs >= readAfterMs && openPositions(state).length === 0;
}

/** Whether a cancel of these types reaches stops of positions in the market. */
export function reachesStops(types: readonly OrderType[], market: string): boolean {
  return orderTypesOf(market).some((type) => types.includes(type));
}

const MOST_ANSWER_MS = 1_000;
/** A short pause of the process must not pass for a lost answer. */
const LEAST_ANSWER_MS = 250;
/** Slower round trips get half as long again: timing out before any answer would put every cancel in doubt. */
const SLOW_ROUND_TRIPS = 1.5;
const LONGEST_ANSWER_MS = 4_500;

/** How long to wait for the answer to a cancel: two round trips, at most a second, more if one takes that long. */
export function cancelAnswerMs(state: LaneState): number {
  const knownMs = knownRoundTripMs(state);
  if (knownMs <= 0) return MOST_ANSWER_MS;
  const mostMs = Math.max(MOST_ANSWER_MS, Math.min(LONGEST_ANSWER_MS, SLOW_ROUND_TRIPS * knownMs));
  return Math.min(mostMs, Math.max(LEAST_ANSWER_MS, 2 * knownMs));
}
