import type { Recorder } from '../audit/audit-event.ts';
import { lastSeen } from '../lanes/absence.ts';
import type { LaneScene } from '../lanes/lane-change.ts';
import type { LaneState, MarketRead, ReadPosition, RequestStep } from '../lanes/lane-state.ts';
import { findPosition, isSameHolding } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import { marketOf } from '../orders/market-steps.ts';
import { activationGap } from '../orders/order-prices.ts';
import { isRemovable } from '../orders/outstanding.ts';
import type { Want } from '../orders/want.ts';
import { speedTowards } from '../orders/way-to-liquidation.ts';
import { type Decimal, formatDecimal, maxDecimal, toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import type { Brake, BrakeCount, UnclosedOrder } from './brake-count.ts';
import { leastTarget } from './intent.ts';
import { MOST_PARTS } from './targets.ts';

/** A set is forgotten after this time: the rate at which sets go on without a visible change. */
export const REFILL_MS = 60_000;
/** A longer set counts as several: a list that names other positions each time would never end one. */
const MOST_PLACES = 16;

type SendingStep = Exclude<RequestStep, { readonly kind: 'readPositions' }>;

/** Until when a request has to wait; undefined: it may go now. */
export function brakedUntilMs(
  state: LaneState,
  step: SendingStep,
  { mostSets }: AccountSettings,
  nowMs: number,
): number | undefined {
  const { brake } = state;
  const count =
    brake === undefined || continues(brake, placeOf(step, state)) ? undefined : brake[countOf(step)];
  const spent = count !== undefined && isSpent(count, mostSets, nowMs) ? [count.lastMs] : [];
  const sent = exceeded(state, step).map(({ sentMs }) => sentMs);
  const untilMs = Math.max(...spent, ...sent) + paceMs(state);
  return nowMs < untilMs ? untilMs : undefined;
}

/**
 * An order in doubt that holds back all that is wanted: the sum of amounts counts it until a cancel takes it down. What
 * was accepted is left out: an accepted cancel would prove as little as those replies. Near liquidation the next order
 * goes in a moment anyway, and a cancel must not come before it.
 */
export function heldByDoubt(
  state: LaneState,
  wants: readonly Want[],
  { settings, nowMs }: Pick<LaneScene, 'settings' | 'nowMs'>,
): OwnOrder | undefined {
  const isHeld = ({ role, resend, position, amount }: Want): boolean => {
    if (role !== 'reduce' || resend !== null) return false;
    const sent = beyondSum(state, position, amount).map(({ sentMs }) => sentMs);
    return nowMs < Math.max(...sent) + REFILL_MS;
  };
  if (paceMs(state) < REFILL_MS || !wants.every(isHeld)) return undefined;
  return state.orders.find(
    (order) =>
      order.status === 'unsure' &&
      wants.some(({ position }) => position.positionId === order.positionId) &&
      isRemovable(order, settings, nowMs),
  );
}

/** How many sets are not forgotten yet. */
function setsAt({ sets, lastMs }: BrakeCount, nowMs: number): number {
  return Math.max(0, sets - Math.max(0, nowMs - lastMs) / REFILL_MS);
}

export function isSpent(count: BrakeCount, mostSets: number, nowMs: number): boolean {
  return setsAt(count, nowMs) + 1 > mostSets;
}

export function countSet(count: BrakeCount | undefined, nowMs: number): BrakeCount {
  const sets = count === undefined ? 0 : setsAt(count, nowMs);
  return { sets: sets + 1, lastMs: nowMs, isTold: sets > 0 && count?.isTold === true };
}

/** Counts a request before it is sent. A reduction sent again under its own id adds no amount. */
export function countSent(state: LaneState, step: SendingStep, nowMs: number): LaneState {
  const { unclosed = [], brake = { sent: [], seen: seenIn(state.latestRead ?? state.read) } } = state;
  const name = countOf(step);
  const place = placeOf(step, state);
  const places = place === undefined ? [] : [place];
  // The orders behind a cancel are another set than those before it.
  const counted: Brake = continues(brake, place)
    ? { ...brake, sent: [...brake.sent, ...places] }
    : { ...brake, [name]: countSet(brake[name], nowMs), sent: places };
  if (step.kind !== 'place' || step.order.role !== 'reduce') return { ...state, brake: counted };
  const { positionId, amount, request } = step.order;
  const { clientOrderId } = request;
  const isKnown = unclosed.some((one) => one.clientOrderId === clientOrderId);
  const added = isKnown ? [] : [{ positionId, clientOrderId, amount, sentMs: nowMs }];
  return { ...state, brake: counted, unclosed: [...unclosed, ...added] };
}

const RATE_WORDS =
  'from now on one a minute, near liquidation one every 1 to 10 s. Look at the exchange for what stands there, and for what it answers';

/** Holds a request back, and tells people the first time. */
export function held(state: LaneState, step: SendingStep, audit: Recorder): LaneState {
  const { brake, unclosed = [] } = state;
  const over = exceeded(state, step);
  const count = brake?.[countOf(step)];
  if (step.kind === 'place' && over.length > 0) {
    if (over.some(({ isTold }) => isTold)) return state;
    const { key, positionId, ruleId, placedSizeBase } = step.order;
    const words = `orders for ${formatDecimal(sumOf(over))} of ${placedSizeBase} were sent, and no read shows what became of them: ${RATE_WORDS}`;
    audit.emit({ kind: 'braked', key, positionId, ruleId, reason: 'sumOfAmounts', words, alarm: true });
    const told = over.map((one) => ({ ...one, isTold: true as const }));
    return { ...state, unclosed: [...unclosed.filter((one) => !over.includes(one)), ...told] };
  }
  if (brake === undefined || count === undefined || count.isTold) return state;
  const what = step.kind === 'place' ? 'sets of orders' : 'cancels';
  return { ...state, brake: { ...brake, [countOf(step)]: told(count, what, audit) } };
}

/** Tells people, once, that further sets are held back. */
export function told(count: BrakeCount, what: 'sets of orders' | 'cancels', audit: Recorder): BrakeCount {
  const words = `${Math.floor(count.sets)} ${what} changed neither a position nor the market: ${RATE_WORDS}`;
  if (!count.isTold) audit.emit({ kind: 'braked', reason: 'nothingChanges', words, alarm: true });
  return { ...count, isTold: true };
}

function exceeded(state: LaneState, step: SendingStep): readonly UnclosedOrder[] {
  if (step.kind !== 'place' || step.isResend || step.order.role !== 'reduce') return [];
  const { positionId, amount, placedSizeBase: sizeBase } = step.order;
  return beyondSum(state, { positionId, sizeBase }, toDecimal(amount));
}

/**
 * What may still fill for the position of a reduction that would let it exceed what is to be closed by more than one
 * order; else nothing. The exchange trims a full close.
 */
function beyondSum(
  { unclosed = [], intents }: LaneState,
  { positionId, sizeBase }: Pick<ReadPosition, 'positionId' | 'sizeBase'>,
  amount: Decimal,
): readonly UnclosedOrder[] {
  const target = leastTarget(intents, positionId);
  if (target === undefined || target.eq(ZERO)) return [];
  const sent = unclosed.filter((one) => one.positionId === positionId);
  const toClose = toDecimal(sizeBase).minus(target);
  return sumOf(sent).plus(amount).gt(toClose.plus(toClose)) ? sent : [];
}

function sumOf(orders: readonly UnclosedOrder[]): Decimal {
  return orders.reduce((sum, { amount }) => sum.plus(toDecimal(amount)), ZERO);
}

/** Takes what cannot fill any more out of the sum of amounts. */
export function withoutSent(state: LaneState, isGone: (order: UnclosedOrder) => boolean): LaneState {
  const { unclosed = [], ...rest } = state;
  const left = unclosed.filter((order) => !isGone(order));
  return left.length === 0 ? rest : { ...rest, unclosed: left };
}

function withAmount(order: UnclosedOrder, amount: Decimal): UnclosedOrder {
  return { ...order, amount: formatDecimal(amount) };
}

/** Takes what a read shows as closed out of the sum, from the oldest orders. */
export function withoutClosed(state: LaneState, read: MarketRead): LaneState {
  const falls = new Map<string, Decimal>();
  const unclosed = (state.unclosed ?? []).flatMap((order) => {
    const { positionId } = order;
    const [was, is] = [lastSeen(state, positionId), findPosition(read, positionId)];
    if (was === undefined || is === undefined) return order;
    if (!isSameHolding(was, is)) return [];
    const fall = falls.get(positionId) ?? toDecimal(was.sizeBase).minus(toDecimal(is.sizeBase));
    const left = toDecimal(order.amount).minus(maxDecimal(fall, ZERO));
    falls.set(positionId, left.neg());
    return left.gt(ZERO) ? withAmount(order, left) : [];
  });
  return withoutSent({ ...state, unclosed }, () => false);
}

/** Releases the brake once a read shows another size of a position; a moved market excuses one set. */
export function eased(state: LaneState, read: MarketRead, settings: AccountSettings): LaneState {
  const { brake, ...free } = state;
  if (brake === undefined) return state;
  const market = marketOf(state, settings);
  const now = seenIn(read);
  if (brake.seen.some((was) => now.some((is) => isChanged(was, is)))) return free;
  // A mark that was shown before explains nothing new.
  const added = now.filter((is) => !brake.seen.some((was) => isShown(was, is, market)));
  if (added.length === 0) return state;
  const hasMoved = added.some((is) => brake.seen.some(({ positionId }) => positionId === is.positionId));
  const excuse = (count: BrakeCount | undefined): BrakeCount | undefined =>
    hasMoved && count ? { ...count, sets: Math.min(count.sets, settings.mostSets) - 1 } : count;
  const seen = [...brake.seen, ...added].slice(-MOST_PLACES);
  return {
    ...state,
    brake: { ...brake, orders: excuse(brake.orders), cancels: excuse(brake.cancels), seen },
  };
}

type Seen = Brake['seen'][number];

function seenIn(read: MarketRead | null): readonly Seen[] {
  return (read?.positions ?? []).map(({ positionId, sizeBase, markPrice, markError, openDate }) => {
    return { positionId, sizeBase, markPrice, markError, openDate };
  });
}

function isChanged(was: Seen, is: Seen): boolean {
  if (is.positionId !== was.positionId) return false;
  const isReopened = is.openDate !== null && was.openDate !== null && is.openDate !== was.openDate;
  return isReopened || !toDecimal(is.sizeBase).eq(toDecimal(was.sizeBase));
}

/** A mark within the gap of an order is no other one: no order is priced anew for it. */
function isShown(was: Seen, is: Seen, market: MarketSettings | undefined): boolean {
  if (is.positionId !== was.positionId) return false;
  if (is.markPrice === null || was.markPrice === null) return is.markPrice === null;
  const movedBy = toDecimal(is.markPrice).minus(toDecimal(was.markPrice)).abs();
  const view = { markPrice: was.markPrice, markError: is.markError };
  return !movedBy.gt(market === undefined ? ZERO : activationGap(view, market));
}

function countOf(step: SendingStep): 'orders' | 'cancels' {
  return step.kind === 'place' ? 'orders' : 'cancels';
}

/** Whether an order stands beside those of the newest set. */
function continues({ sent }: Brake, place: string | undefined): boolean {
  const isOpen = sent.length > 0 && sent.length < MOST_PLACES;
  return place !== undefined && isOpen && !sent.includes(place);
}

/** Names the place of an order in a set. Not by the key: it changes with each episode, so it bounds nothing. */
function placeOf(step: SendingStep, { learned, orders }: LaneState): string | undefined {
  if (step.kind !== 'place') return undefined;
  const { role, positionId, trial = false, request, coverBasis } = step.order;
  const beside = orders.filter(
    (one) => one.positionId === positionId && one.request.clientOrderId !== request.clientOrderId,
  );
  const part = learned?.mostAmount === undefined ? [] : [beside.length % MOST_PARTS];
  return [role, positionId, trial, request.inFavour === true, coverBasis?.leave ?? '', ...part].join(' ');
}

const LEAST_PACE_MS = 1_000;
const MOST_PACE_MS = 10_000;
/** A set goes at least this often within the time that the market needs to the liquidation price. */
const SETS_TO_LIQUIDATION = 5;

/** The time between two sets while the lane holds back; shorter the nearer a liquidation is. */
export function paceMs(state: LaneState): number {
  const paces = (state.latestRead?.positions ?? []).map((position) => {
    const leftMs = timeLeftMs(position, state) / SETS_TO_LIQUIDATION;
    if (leftMs >= REFILL_MS && !isNear(position)) return REFILL_MS;
    return Math.min(MOST_PACE_MS, Math.max(LEAST_PACE_MS, leftMs));
  });
  return Math.min(REFILL_MS, ...paces);
}

/** A market that is halted stands still, and may open far away. */
const NEAR_DISTANCE = 0.1;

function isNear({ liquidationState, distance }: ReadPosition): boolean {
  const isCalled = liquidationState !== null && liquidationState !== 'none';
  return isCalled || (typeof distance === 'number' && distance < NEAR_DISTANCE);
}

function timeLeftMs({ direction, distance }: ReadPosition, state: LaneState): number {
  if (direction === null || typeof distance !== 'number') return Number.POSITIVE_INFINITY;
  const speed = speedTowards(direction, state);
  return speed === 0 ? Number.POSITIVE_INFINITY : Math.max(0, distance) / speed;
}
