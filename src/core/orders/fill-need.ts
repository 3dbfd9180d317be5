import type { BlockReason, RemovalReason } from '../audit/audit-event.ts';
import { slippageOf } from '../intents/intent.ts';
import { asOneOrder, leastAmount, MOST_PARTS } from '../intents/targets.ts';
import { contestOf } from '../lanes/contest.ts';
import type { Intent, ReadPosition } from '../lanes/lane-state.ts';
import { isAtMarginCall } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type Decimal,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { Direction } from '../rules/subject.ts';
import { awaitsLastPrice, gapInFavour, hasMovedAway, placingGap } from './activation-gap.ts';
import { canRemove, isBeyondAsking, isSpent, mayAddUp, resendUnsure, roomTakers } from './beside.ts';
import { isLastChance, standsInTheWay } from './cancel-policy.ts';
import {
  CRASH_BASIS,
  isTight,
  type Shape,
  shapeBeforeLiquidation,
  shapeInFavour,
  shapeReduce,
} from './order-prices.ts';
import { outstandingBase, standsForCertain } from './outstanding.ts';
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
  const slippage = slippageNow(need, scene);
  const isTrimmed = need.budget === undefined && need.winner.targetBase === '0' && !isCut;
  const spent = own.filter((order) => isSpent(order, need.position, scene));
  const mayAdd = isTrimmed || mayAddUp(need.position, scene);
  const counted = mayAdd ? own.filter((order) => !spent.includes(order)) : own;
  const outstanding = outstandingBase(counted);
  if (hasEnough(need)) {
    const exceeds = [counted, spent].some((orders) => outstandingBase(orders).gt(amount));
    if (exceeds) for (const order of own) plan.remove.push({ order, why: 'exceedsTarget' });
    return;
  }
  const missing = maxDecimal(amount.minus(outstanding), ZERO);
  // For little more than what stands, nothing that stands is cancelled.
  const isLittle =
    missing.lte(ZERO) || (counted.length > 0 && missing.lt(worthReplacing(outstanding, scene)));
  const takers = isLittle ? [] : roomTakers(need.position, scene);
  const held = isLittle ? undefined : heldForLastPrice(need, scene);
  if (held !== undefined) {
    // Said as long as it lasts, also while the exchange is asked again.
    plan.blocked.push({ key: need.winner.key, why: 'stopNotCancellable' });
    if (held === 'known') return;
  } else if (takers.some((order) => canRemove(order, scene))) {
    if (closesAsMuch(need, takers, scene))
      plan.blocked.push({ key: need.winner.key, why: 'stopNotCancellable' });
    else for (const order of takers) plan.remove.push({ order, why: 'noRoom' });
    return;
  }
  const sized = { ...need, isTrimmed, mayAdd, spent, counted, missing };
  const why = own.some((order) => canRemove(order, scene)) ? removalReason(sized, own, scene) : undefined;
  if (why === undefined || isBetterBeside(why, sized, scene)) addBeside(sized, slippage, scene, plan);
  else for (const order of own) plan.remove.push({ order, why });
}

/** The slippage of the next order. One that none could follow before liquidation gets what the basis of a crash takes. */
function slippageNow({ group, position }: ReduceNeed, { state }: SetScene): number {
  const next = Math.max(...group.map(slippageOf));
  if (!isLastChance(position, state)) return next;
  const last = Math.max(...group.map(({ slippageSteps }) => slippageSteps.at(-1) ?? 0));
  return Math.max(next, Math.min(last, CRASH_BASIS));
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

/** How often the exchange is asked whether another order has room by now beside one that waits for the last price. */
const ASKED_BESIDE_EVERY_MS = 60_000;

/**
 * Whether a reduction that left no room for another one waits for the last price, and is large enough; `known`: the
 * other was refused a short time ago. Each that is refused counts against the brake of the market.
 */
function heldForLastPrice(need: ReduceNeed, scene: SetScene): 'known' | 'asked' | undefined {
  const isHeld = roomTakers(need.position, scene, Number.POSITIVE_INFINITY).some(
    (order) => order.role === 'reduce' && canRemove(order, scene) && waitsWithEnough(order, need, scene),
  );
  if (!isHeld) return undefined;
  return roomTakers(need.position, scene, ASKED_BESIDE_EVERY_MS).length > 0 ? 'known' : 'asked';
}

function waitsWithEnough(order: OwnOrder, { position, amount }: ReduceNeed, scene: SetScene): boolean {
  const enough = amount.times(decimalFromNumber(order.role === 'cover' ? 1 : 1 - REPLACE_SHARE));
  return toDecimal(order.amount).gte(enough) && awaitsLastPrice(order, position, scene);
}

/**
 * Whether a standing stop will close the whole position anyway, or an order, passed by the mark, what is needed as soon as
 * the last price follows: it is not cancelled for one that the market would reach later, or a little earlier.
 */
function closesAsMuch(need: ReduceNeed, takers: readonly OwnOrder[], scene: SetScene): boolean {
  const { winner, position } = need;
  return takers.some((order) => {
    if (waitsWithEnough(order, need, scene)) return true;
    const isWhole = winner.targetBase === '0' && toDecimal(order.amount).gte(toDecimal(position.sizeBase));
    const isSure = standsInTheWay(order, position) && !isTight(order.request, order.slippage);
    return isWhole && (isSure || awaitsLastPrice(order, position, scene));
  });
}

/** Up to this many of our orders on one position can be told apart by their fills. */
const MOST_BESIDE = 8;

/**
 * Whether a full close gets another order beside: the exchange trims it. So it is moved nearer, and so it goes on while
 * cancels have no answer: each of them may have taken down what was placed before. Not if no room is left.
 */
function isBetterBeside(
  why: RemovalReason,
  { own, position, isTrimmed, counted, amount }: SizedNeed,
  scene: SetScene,
): boolean {
  const isUnanswered = why === 'ambiguousMove' && scene.state.cancelRefusals !== undefined;
  if (!isTrimmed || !(why === 'marketMovedAway' || isUnanswered)) return false;
  if (asOneOrder(amount, scene.market).lt(amount) && areParts(counted, position, scene)) return false;
  return own.length < MOST_BESIDE && roomTakers(position, scene).length === 0;
}

function worthReplacing(outstanding: Decimal, { market }: SetScene): Decimal {
  return maxDecimal(leastAmount(market), outstanding.times(decimalFromNumber(REPLACE_SHARE)));
}

interface SizedNeed extends ReduceNeed {
  readonly isTrimmed: boolean;
  readonly mayAdd: boolean;
  /** Those of `own` that the market has passed. */
  readonly spent: readonly OwnOrder[];
  /** Those that may still fill: all, where orders must not add up. */
  readonly counted: readonly OwnOrder[];
  readonly missing: Decimal;
}

/**
 * Adds what is missing beside the standing orders: what waits for a lagging last price is not taken down for another
 * one, which the price would reach later.
 */
function addBeside(need: SizedNeed, slippage: number, scene: SetScene, plan: SetPlan): void {
  const { own, counted, isTrimmed } = need;
  const why = removalReason(need, own.slice(-1), scene);
  const spent = need.spent.length;
  // The exchange trims a full close: it may be sent again beside orders that should go.
  const missing = isTrimmed && why !== undefined ? need.amount : need.missing;
  const fitting = minDecimal(missing, roomBesideTakers(need, scene) ?? missing);
  const part = partOf(fitting, counted, scene);
  const hasParts = part.lt(fitting) && areParts(counted, need.position, scene);
  const isFull = own.length >= MOST_BESIDE || hasParts;
  const addition = isFull ? ZERO : part;
  const least =
    own.length === 0 ? leastAmount(scene.market) : worthReplacing(outstandingBase(counted), scene);
  if (addition.gte(least)) {
    // Each spent order was an attempt: the next one takes more slippage.
    const steps = need.group.map((intent) => slippageOf({ ...intent, failures: intent.failures + spent }));
    const added = {
      amount: addition,
      slippage: Math.max(slippage, ...steps),
      isTrimmed,
      addsUp: counted.length < own.length,
    };
    pushReduce(need, added, scene, plan);
    return;
  }
  const isShort = isFull && !hasParts && missing.gte(least);
  if (resend(need, scene, plan) || (why === undefined && !isShort)) return;
  const blocked = scene.settings.cancel === 'never' ? 'cancelForbidden' : 'stopNotCancellable';
  plan.blocked.push({ key: need.winner.key, why: blocked });
}

/** What one order may have of an amount; each part a step smaller than those that stand, to tell fills apart. */
function partOf(amount: Decimal, standing: readonly OwnOrder[], { market }: SetScene): Decimal {
  const most = asOneOrder(amount, market);
  if (most.gte(amount)) return amount;
  const smaller = toDecimal(market.amountStep).times(decimalFromNumber(standing.length));
  const isFine = smaller.lte(most.times(decimalFromNumber(REPLACE_SHARE)));
  return isFine ? maxDecimal(most.minus(smaller), minDecimal(most, leastAmount(market))) : most;
}

/** Whether as many parts stand as may; after one has filled, which a cancel has to prove, the others fill first. */
function areParts(standing: readonly OwnOrder[], { positionId }: ReadPosition, { state }: SetScene): boolean {
  const hasFilled = state.orders.some((one) => one.positionId === positionId && one.presumedFilled);
  return standing.length >= (hasFilled ? 1 : MOST_PARTS);
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

/** Whether nothing new is needed: the rule's condition is gone, and orders do not trail a recovering market. */
function hasEnough({ winner: { target, hasCleared }, own }: ReduceNeed): boolean {
  return hasCleared === true && (target.kind === 'untilDistance' || own.length > 0);
}

interface Addition {
  readonly amount: Decimal;
  readonly slippage: number;
  readonly isTrimmed: boolean;
  /** Orders beside it may fill as well. */
  readonly addsUp?: boolean;
}

function pushReduce(need: ReduceNeed, addition: Addition, scene: SetScene, plan: SetPlan): void {
  const { winner, position } = need;
  const { slippage } = addition;
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
    pushShape(need, { ...addition, shape }, plan);
    return;
  }
  const view = { direction, markPrice, markError };
  if (need.inFavour === true) {
    const gap = gapInFavour({ ...position, markPrice }, direction, scene);
    pushShape(need, { ...addition, shape: shapeInFavour(view, slippage, scene.market, gap) }, plan);
    return;
  }
  const gap = placingGap({ ...position, markPrice }, direction, scene);
  pushShape(need, { ...addition, shape: shapeReduce(view, slippage, scene.market, gap) }, plan);
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

interface ShapedAddition extends Addition {
  readonly shape: Shape;
}

function pushShape({ winner, position }: ReduceNeed, addition: ShapedAddition, plan: SetPlan): void {
  const { amount, slippage, isTrimmed, shape } = addition;
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
    coverBasis: null,
    anchor: null,
    resend: null,
    mayAddUp: addition.addsUp === true,
  });
}

/** Why orders have to go before another is placed; `undefined` if they may stay beside it. */
function removalReason(
  need: SizedNeed,
  judged: readonly OwnOrder[],
  scene: SetScene,
): RemovalReason | undefined {
  const { position, amount, counted, missing, spent, isTrimmed, mayAdd } = need;
  // Beside a full close that stands for certain, what may stand adds nothing, and a cancel would take down both.
  const isClosed = isTrimmed && outstandingBase(counted, standsForCertain).gte(amount);
  if (judged.some((order) => order.ambiguous) && !isClosed) return 'ambiguousMove';
  // What the market has passed may still fill. Once another one beside it has filled, it takes more than is wanted now.
  const isTooLarge = ({ status, amount: left }: OwnOrder): boolean =>
    status === 'open' && toDecimal(left).gt(amount);
  if (!isTrimmed && (outstandingBase(counted).gt(amount) || spent.some(isTooLarge))) return 'exceedsTarget';
  const passed = judged.filter((order) => spent.includes(order));
  // Where no more fit beside those that the market has passed, they go.
  const isFull = judged.length >= MOST_BESIDE && missing.gt(ZERO);
  if (passed.length > 0 && (!mayAdd || isFull))
    return passed.some(({ inverted }) => inverted === true) ? 'inverted' : 'notFilled';
  if (judged.some((order) => !passed.includes(order) && isBeyondAsking(order, position, scene)))
    return 'ambiguousMove';
  const isAged = ({ sentMs }: OwnOrder): boolean => scene.nowMs - sentMs >= scene.settings.fillWithinMs;
  const waiting = judged.filter((order) => isAged(order) && !passed.includes(order));
  return waiting.some((order) => hasMovedAway(order, position, scene)) ? 'marketMovedAway' : undefined;
}
