import type { BlockReason, RemovalReason } from '../audit/audit-event.ts';
import { slippageOf } from '../intents/intent.ts';
import { leastAmount } from '../intents/targets.ts';
import { contestOf } from '../lanes/contest.ts';
import type { Intent, ReadPosition } from '../lanes/lane-state.ts';
import { isAtMarginCall } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type Decimal,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  roundToStep,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { Direction } from '../rules/subject.ts';
import {
  asLearned,
  awaitsLastPrice,
  gapInFavour,
  hasMovedAway,
  isNearlyReached,
  placingGaps,
} from './activation-gap.ts';
import { canRemove, isSpent, resendUnsure, roomTakers } from './beside.ts';
import { standsInTheWay } from './cancel-policy.ts';
import { closesAsOne } from './net-exposure.ts';
import { type Shape, shapeBeforeLiquidation, shapeInFavour, shapeReduce } from './order-prices.ts';
import { isWellPast, offsetFromActivation, outstandingBase } from './outstanding.ts';
import type { Removal, SetScene, Want } from './want.ts';

export interface SetPlan {
  place: Want[];
  remove: Removal[];
  blocked: { key: string; why: BlockReason }[];
  hedged: string[];
}

export interface ReduceNeed {
  readonly winner: Intent;
  readonly group: readonly Intent[];
  readonly position: ReadPosition;
  readonly amount: Decimal;
  readonly own: readonly OwnOrder[];
  /** With both sides open: the most that may be taken away. */
  readonly budget: Decimal | undefined;
  /** For the stop on the other side of the market, which closes the same amount again: reduce-only trims it. */
  readonly inFavour?: true;
}

/** A need that grew by less than this share of the standing order is left to the next follow-up. */
const REPLACE_SHARE = 0.1;

export function fillNeed(asked: ReduceNeed, scene: SetScene, plan: SetPlan): void {
  const roomBase = roomBesideTakers(asked, scene);
  const mostBase = roomBase && outstandingBase(asked.own).plus(roomBase);
  const isCut = mostBase !== undefined && asked.amount.gt(mostBase);
  const need = isCut ? { ...asked, amount: mostBase } : asked;
  const { own, amount } = need;
  const contest =
    need.winner.source === 'rule' ? contestOf(scene.state, need.position, scene.nowMs) : undefined;
  if (contest !== undefined) {
    plan.blocked.push({ key: need.winner.key, why: contest });
    return;
  }
  const slippage = Math.max(...need.group.map(slippageOf));
  const outstanding = outstandingBase(own);
  if (hasEnough(need.winner)) {
    if (outstanding.gt(amount)) for (const order of own) plan.remove.push({ order, why: 'exceedsTarget' });
    return;
  }
  const missing = maxDecimal(amount.minus(outstanding), ZERO);
  const isTrimmed = need.budget === undefined && need.winner.targetBase === '0' && !isCut;
  const takers = missing.gt(ZERO) ? roomTakers(need.position, scene) : [];
  if (takers.some((order) => canRemove(order, scene)) && !closesAsMuch(need, takers)) {
    for (const order of takers) plan.remove.push({ order, why: 'noRoom' });
    return;
  }
  if (own.length === 0) {
    if (missing.gt(ZERO)) pushReduce(need, { amount: missing, slippage, isTrimmed }, scene, plan);
    return;
  }
  const removable = own.filter((order) => canRemove(order, scene));
  // Orders that may still arrive are left out: otherwise the near one would be cancelled again and again.
  const isHalfPlaced = removable.every(({ part }) => part === 'near');
  if (removable.length > 0) {
    // Cancelling the others would not remove an order that may still arrive.
    const stale = staleReason(need, removable, slippage, scene);
    if (stale === undefined && isHalfPlaced && missing.gte(leastAmount(scene.market))) {
      pushReduce(need, { amount: missing, slippage, isTrimmed, part: 'far' }, scene, plan);
      return;
    }
    const why = stale ?? (missing.gte(worthReplacing(outstanding, scene)) ? 'needGrew' : undefined);
    if (why === undefined) resend({ ...need, isTrimmed }, scene, plan);
    else if (isBetterBeside(why, need, isTrimmed, scene))
      addBeside({ ...need, isTrimmed }, slippage, scene, plan);
    else if (isTooLate(why, removable, need, scene)) {
      if (missing.gte(leastAmount(scene.market)))
        pushReduce(need, { amount: missing, slippage, isTrimmed }, scene, plan);
    } else for (const order of own) plan.remove.push({ order, why });
    return;
  }
  addBeside({ ...need, isTrimmed }, slippage, scene, plan);
}

/** Gives an urgent close a second stop on the other side of the market, unless the exchange has no room for two. */
export function fillInFavour(need: ReduceNeed, scene: SetScene, plan: SetPlan): void {
  const { winner, group, position, own, budget } = need;
  const isUrgent =
    winner.targetBase === '0' && budget === undefined && group.some(({ urgent }) => urgent === true);
  if (!isUrgent) for (const order of own) plan.remove.push({ order, why: 'resolved' });
  else if (roomTakers(position, scene).length === 0) fillNeed({ ...need, inFavour: true }, scene, plan);
}

/** Room at the exchange beside our orders that cannot be cancelled now; undefined if unknown. */
function roomBesideTakers({ position }: ReduceNeed, scene: SetScene): Decimal | undefined {
  const takers = roomTakers(position, scene);
  if (takers.length === 0 || takers.some((order) => canRemove(order, scene))) return undefined;
  const roomBase = toDecimal(position.sizeBase).minus(outstandingBase(takers));
  return roomBase.gte(leastAmount(scene.market)) ? roomBase : undefined;
}

/** Whether a standing stop will close the whole position anyway: it is not cancelled to close a little earlier. */
function closesAsMuch({ winner, position }: ReduceNeed, takers: readonly OwnOrder[]): boolean {
  const sizeBase = toDecimal(position.sizeBase);
  return takers.some(
    (order) =>
      winner.targetBase === '0' &&
      toDecimal(order.amount).gte(sizeBase) &&
      (standsInTheWay(order, position) || awaitsLastPrice(order, position)),
  );
}

/** Up to this many of our orders on one position can be told apart by their fills. */
const MOST_BESIDE = 5;

/** Whether a full close is priced anew beside the standing orders: the exchange trims it. Not if no room is left. */
function isBetterBeside(why: RemovalReason, need: ReduceNeed, isTrimmed: boolean, scene: SetScene): boolean {
  const { own, position } = need;
  if (!isTrimmed || why === 'ambiguousMove' || why === 'exceedsTarget') return false;
  if (closesAsMuch(need, own)) return true;
  return own.length < MOST_BESIDE && roomTakers(position, scene).length === 0;
}

/** Whether a standing order is reached before a replacement could be, as the replacement lies nearer to liquidation. */
function isTooLate(
  why: RemovalReason,
  removable: readonly OwnOrder[],
  { position }: ReduceNeed,
  scene: SetScene,
): boolean {
  if (why !== 'needGrew' && why !== 'slippageRose') return false;
  return removable.some((order) => isNearlyReached(order, position, scene));
}

function worthReplacing(outstanding: Decimal, { market }: SetScene): Decimal {
  return maxDecimal(leastAmount(market), outstanding.times(decimalFromNumber(REPLACE_SHARE)));
}

type SizedNeed = ReduceNeed & { readonly isTrimmed: boolean };

/** Adds what is missing beside the standing orders, as none can be cancelled now. A full close may be sent again. */
function addBeside(need: SizedNeed, slippage: number, scene: SetScene, plan: SetPlan): void {
  const { own, amount, isTrimmed } = need;
  const counted = own.filter((order) => !isSpent(order, need, scene));
  const spent = own.length - counted.length;
  const outstanding = outstandingBase(counted);
  const missing = maxDecimal(amount.minus(outstanding), ZERO);
  const stale = staleReason(need, own.slice(-1), slippage, scene);
  const wished = isTrimmed && stale !== undefined ? amount : missing;
  const addition = minDecimal(wished, roomBesideTakers(need, scene) ?? wished);
  const isHalfPlaced = counted.length > 0 && counted.every(({ part }) => part === 'near');
  const least = isHalfPlaced ? leastAmount(scene.market) : worthReplacing(outstanding, scene);
  if (addition.gte(least)) {
    // Each spent order was an attempt: the next one takes more slippage.
    const steps = need.group.map((intent) => slippageOf({ ...intent, failures: intent.failures + spent }));
    const added = { amount: addition, slippage: Math.max(...steps), isTrimmed, addsUp: spent > 0 };
    pushReduce(need, { ...added, ...(isHalfPlaced && { part: 'far' }) }, scene, plan);
    return;
  }
  if (resend(need, scene, plan) || stale === undefined) return;
  const why = scene.settings.cancel === 'never' ? 'cancelForbidden' : 'stopNotCancellable';
  plan.blocked.push({ key: need.winner.key, why });
}

function resend(need: SizedNeed, scene: SetScene, plan: SetPlan): boolean {
  const { winner, position, own } = need;
  const targetBase = toDecimal(winner.targetBase ?? position.sizeBase);
  const want = resendUnsure(
    own,
    { ...need, episode: winner.episode, stage: winner.stage, targetBase },
    scene,
  );
  if (want !== undefined) plan.place.push(want);
  return want !== undefined;
}

/** Whether a distance target needs nothing new: its rule's condition is gone, and orders do not trail the market. */
function hasEnough({ target, hasCleared }: Intent): boolean {
  return hasCleared === true && target.kind === 'untilDistance';
}

interface Addition {
  readonly amount: Decimal;
  readonly slippage: number;
  readonly isTrimmed: boolean;
  /** Takes the amount that the nearer order did not. */
  readonly part?: 'far';
  /** Orders beside it may fill as well. */
  readonly addsUp?: boolean;
}

function pushReduce(need: ReduceNeed, addition: Addition, scene: SetScene, plan: SetPlan): void {
  const { winner, position } = need;
  const { amount, slippage } = addition;
  const { markPrice, markError, liquidationPrice } = position;
  const direction = position.direction ?? triedSide(winner, position);
  if (direction === null) {
    plan.blocked.push({ key: winner.key, why: 'directionUnknown' });
    return;
  }
  if (markPrice === null) {
    const isBeforeLiquidation =
      isAtMarginCall(position) && liquidationPrice !== null && liquidationPrice !== 'none';
    const shape: Shape = isBeforeLiquidation
      ? shapeBeforeLiquidation({ direction, liquidationPrice }, slippage, scene.market)
      : { ok: false, why: 'markUnknown' };
    pushShape(need, { ...addition, part: undefined, shape }, plan);
    return;
  }
  const view = { direction, markPrice, markError };
  if (need.inFavour === true) {
    const gap = gapInFavour({ ...position, markPrice }, direction, scene);
    pushShape(need, { ...addition, shape: shapeInFavour(view, slippage, scene.market, gap) }, plan);
    return;
  }
  const gaps = placingGaps({ ...position, markPrice }, direction, scene);
  const isWhole = closesAsOne(need.budget, scene.read, scene.settings);
  const share = addition.part === undefined && !isWhole ? nearShare(amount, gaps, scene) : undefined;
  const gap = share === undefined ? (gaps.far ?? gaps.near) : gaps.near;
  const part = share === undefined ? addition.part : 'near';
  const shape = shapeReduce(view, slippage, scene.market, gap);
  pushShape(need, { ...addition, amount: share ?? amount, part, shape }, plan);
}

/**
 * At a margin call an unknown direction blocks nothing: both sides are tried in turn, and the exchange refuses the wrong
 * one (116). First the one whose loss would explain the margin call.
 */
function triedSide({ failures }: Intent, position: ReadPosition): Direction | null {
  if (!isAtMarginCall(position)) return null;
  const isBelow = Number(position.liquidationPrice) < Number(position.basePrice ?? 'Infinity');
  return isBelow === (failures % 2 === 0) ? 'long' : 'short';
}

interface ShapedAddition extends Omit<Addition, 'part'> {
  readonly part?: OwnOrder['part'];
  readonly shape: Shape;
}

function pushShape({ winner, position }: ReduceNeed, addition: ShapedAddition, plan: SetPlan): void {
  const { amount, slippage, isTrimmed, part, shape } = addition;
  if (!shape.ok) {
    plan.blocked.push({ key: winner.key, why: shape.why });
    return;
  }
  plan.place.push({
    role: 'reduce',
    position,
    amount,
    prices: shape.prices,
    slippage,
    key: winner.key,
    ruleId: winner.ruleId,
    episode: winner.episode,
    stage: winner.stage,
    targetBase: toDecimal(winner.targetBase ?? position.sizeBase),
    isTrimmed,
    ...(part === undefined ? {} : { part }),
    coverBasis: null,
    anchor: null,
    resend: null,
    mayAddUp: addition.addsUp === true,
  });
}

/** Amount of the nearer of two orders; undefined if there is only one gap, or too little for two. */
function nearShare(
  amount: Decimal,
  { far }: ReturnType<typeof placingGaps>,
  { market, settings }: SetScene,
): Decimal | undefined {
  // If cancels are not sure to reach orders, the order that stands already is the nearer one.
  const isRemoved = settings.cancelCoversStops && settings.cancel !== 'never';
  if (far === undefined || !isRemoved) return undefined;
  const near = roundToStep(amount.times(decimalFromNumber(NEAR_PART)), toDecimal(market.amountStep), 'down');
  const least = leastAmount(market);
  return near.gte(least) && amount.minus(near).gt(near) ? near : undefined;
}

/** Not half of it, so that a fall of the position shows which of the two filled. */
const NEAR_PART = 0.45;

/** Why the standing orders no longer serve a need; `undefined` if they do. */
function staleReason(
  need: ReduceNeed,
  own: readonly OwnOrder[],
  slippage: number,
  scene: SetScene,
): RemovalReason | undefined {
  const { position, amount, winner } = need;
  if (own.some((order) => order.ambiguous)) return 'ambiguousMove';
  const mayExceed = winner.targetBase === '0' && need.budget === undefined;
  // An order added beside a spent one is not cancelled because of their sum.
  const isCounted = (order: OwnOrder): boolean =>
    canRemove(order, scene) || !isSpent(order, { position, isTrimmed: mayExceed }, scene);
  if (!mayExceed && outstandingBase(need.own, isCounted).gt(amount)) return 'exceedsTarget';
  if (own.every((order) => order.slippage < slippage)) return 'slippageRose';
  if (wasPassedOnArrival(own, scene)) return 'inverted';
  const aged = own.filter((order) => scene.nowMs - order.sentMs >= scene.settings.fillWithinMs);
  for (const order of aged) {
    const offset = offsetFromActivation(order, position);
    if (offset === undefined) continue;
    if (offset.lte(ZERO) && wasPassedLongEnough(order, offset, position, scene)) return 'notFilled';
    if (hasMovedAway(order, offset, position, scene)) return 'marketMovedAway';
  }
  return undefined;
}

function wasPassedOnArrival(own: readonly OwnOrder[], scene: SetScene): boolean {
  // The nearer of two is left alone while the farther one may still be activated.
  const judged = own.some(({ part }) => part === 'far') ? own.filter(({ part }) => part !== 'near') : own;
  return judged.some((order) => order.inverted === true && canRemove(order, scene));
}

/**
 * Whether the time to fill has passed since the market reached the activation. Right at it, the order may only just
 * have triggered.
 */
function wasPassedLongEnough(
  order: OwnOrder,
  offset: Decimal,
  position: ReadPosition,
  scene: SetScene,
): boolean {
  const { nowMs, settings } = scene;
  if (order.activatedMs !== null) return nowMs - order.activatedMs >= settings.fillWithinMs;
  const learned = asLearned(scene.market, scene.state);
  if (isWellPast(offset, position, learned)) return true;
  // The last price may lag behind the mark by more than was allowed for, and the stop waits for it.
  if (learned !== scene.market) return false;
  return order.reachedMs !== null && nowMs - order.reachedMs >= settings.fillWithinMs;
}
