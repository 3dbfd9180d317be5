import type { BlockReason, RemovalReason } from '../audit/audit-event.ts';
import { isOpen, slippageOf } from '../intents/intent.ts';
import { reductionAmount } from '../intents/targets.ts';
import { isHeld, isUncertain, withHeld } from '../lanes/absence.ts';
import { findPosition, type Intent, type OwnOrder, type ReadPosition } from '../lanes/lane-state.ts';
import {
  type Decimal,
  decimalFromNumber,
  formatDecimal,
  maxDecimal,
  minDecimal,
  roundToStep,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import { hasMovedAway, placingGap } from './activation-gap.ts';
import { isHedged, leastAmount, netExposure } from './net-exposure.ts';
import { shapeReduce } from './order-prices.ts';
import { isRemovable, isSentFor, isWellPast, offsetFromActivation, outstandingBase } from './outstanding.ts';
import { coverOrders, desiredStop, judgeCovers } from './protective-stop.ts';
import type { Removal, SetDifference, SetScene, Want } from './want.ts';

interface Plan {
  place: Want[];
  remove: Removal[];
  blocked: { key: string; why: BlockReason }[];
  hedged: string[];
}

/** Compares what is wanted in a market with what of ours may be open there. */
export function orderSetDifference(scene: SetScene): SetDifference {
  const plan: Plan = { place: [], remove: [], blocked: [], hedged: [] };
  removeOrphans(scene, plan);
  for (const position of scene.read.positions) differOne(position, scene, plan);
  blockUnseen(scene, plan);
  trimToNet(scene, plan);
  removeUnproven(scene, plan);
  return separateStanding(plan, scene);
}

/** Before anything is placed for a position, what is only presumed to have filled there is cancelled. */
function removeUnproven(scene: SetScene, plan: Plan): void {
  for (const order of scene.state.orders) {
    const isConcerned = plan.place.some((want) => want.position.positionId === order.positionId);
    if (order.presumedFilled && isConcerned) plan.remove.push({ order, why: 'fillUnproven' });
  }
}

/** What no cancel of ours can remove stays, and is said to. */
function separateStanding(plan: Plan, { settings, nowMs }: SetScene): SetDifference {
  const remove: Removal[] = [];
  const standing: Removal[] = [];
  for (const removal of plan.remove) {
    (isRemovable(removal.order, settings, nowMs) ? remove : standing).push(removal);
  }
  return { ...plan, remove, standing };
}

/** Nothing is placed for a position that the read does not show, and nothing taken away. */
function blockUnseen({ state, admitted }: SetScene, plan: Plan): void {
  for (const { key, positionId } of [...admitted.intents, ...admitted.covers]) {
    if (isHeld(state, positionId)) plan.blocked.push({ key, why: 'positionNotSeen' });
  }
}

/** Orders for positions that are gone: left standing, they would hit whatever is built there next. */
function removeOrphans(scene: SetScene, plan: Plan): void {
  for (const order of scene.state.orders) {
    const position = findPosition(scene.read, order.positionId);
    const isGone =
      position === undefined ? !isUncertain(scene.state, order.positionId) : !isSentFor(order, position);
    if (isGone) plan.remove.push({ order, why: 'positionGone' });
  }
}

function differOne(position: ReadPosition, scene: SetScene, plan: Plan): void {
  const budget = exposureBudget(position, scene);
  const reduce = differReduce(position, budget, scene, plan);
  const reduceAmount = reduce ?? ZERO;
  differCover(position, budget === undefined ? undefined : budget.minus(reduceAmount), scene, plan);
}

/** In a market with both sides open: how much of this position may be taken away at all. */
function exposureBudget(position: ReadPosition, scene: SetScene): Decimal | undefined {
  if (scene.settings.hedge === 'perLeg') return undefined;
  const flatten = scene.admitted.intents.some(
    (intent) => intent.positionId === position.positionId && intent.perLeg,
  );
  const exposure = withHeld(scene.read, scene.state);
  if (flatten || !isHedged(exposure)) return undefined;
  return maxDecimal(netExposure(position, exposure), ZERO);
}

/** Returns what reducing orders will take, or have already been sent to take. */
function differReduce(
  position: ReadPosition,
  budget: Decimal | undefined,
  scene: SetScene,
  plan: Plan,
): Decimal | undefined {
  const id = position.positionId;
  const open = scene.state.intents.filter((intent) => isOpen(intent) && intent.positionId === id);
  const triggered = open.some((intent) => intent.source === 'cover');
  const own = scene.state.orders.filter(
    (order) => order.positionId === id && !order.presumedFilled && (order.role === 'reduce' || triggered),
  );
  if (open.length === 0) {
    for (const order of own) plan.remove.push({ order, why: 'resolved' });
    return undefined;
  }
  const group = scene.admitted.intents.filter(
    (intent) => intent.positionId === id && intent.targetBase !== null,
  );
  const winner = smallestTarget(group);
  if (winner === undefined) return keepForUntargeted(own, open, plan);
  const amount = wantedAmount(winner, position, budget, group, scene, plan);
  if (amount === undefined) {
    for (const order of own) plan.remove.push({ order, why: 'exceedsNetExposure' });
    return undefined;
  }
  fill({ winner, group, position, amount, own, budget }, scene, plan);
  return amount;
}

/**
 * Intents are open and none has a target, for want of a sound mark, say. Their own orders stay as they are; where
 * only orders of intents that have ended are left, nobody wants those any more.
 */
function keepForUntargeted(
  own: readonly OwnOrder[],
  open: readonly Intent[],
  plan: Plan,
): Decimal | undefined {
  const isOwned = (order: OwnOrder): boolean => open.some((intent) => intent.key === order.key);
  if (own.some(isOwned)) return outstandingBase(own, () => true);
  for (const order of own) plan.remove.push({ order, why: 'resolved' });
  return undefined;
}

function wantedAmount(
  winner: Intent,
  position: ReadPosition,
  budget: Decimal | undefined,
  group: readonly Intent[],
  scene: SetScene,
  plan: Plan,
): Decimal | undefined {
  const target = toDecimal(winner.targetBase ?? position.sizeBase);
  const amount = reductionAmount(toDecimal(position.sizeBase), target, scene.market);
  if (budget === undefined || amount.lte(budget)) return amount;
  const allowed = roundToStep(budget, toDecimal(scene.market.amountStep), 'down');
  if (allowed.gte(leastAmount(scene.market))) return allowed;
  for (const intent of group) plan.hedged.push(intent.key);
  return undefined;
}

function smallestTarget(group: readonly Intent[]): Intent | undefined {
  let winner: Intent | undefined;
  for (const intent of group) {
    const isSmaller = winner === undefined || targetOf(intent).lt(targetOf(winner));
    if (isSmaller) winner = intent;
  }
  return winner;
}

function targetOf(intent: Intent): Decimal {
  return intent.targetBase === null ? ZERO : toDecimal(intent.targetBase);
}

interface ReduceNeed {
  readonly winner: Intent;
  readonly group: readonly Intent[];
  readonly position: ReadPosition;
  readonly amount: Decimal;
  readonly own: readonly OwnOrder[];
  readonly budget: Decimal | undefined;
}

/** A need that grew by less than this share of the order that stands is left to the next follow-up. */
const REPLACE_SHARE = 0.1;

function fill(need: ReduceNeed, scene: SetScene, plan: Plan): void {
  const { own, amount } = need;
  const slippage = Math.max(...need.group.map(slippageOf));
  const outstanding = outstandingBase(own, () => true);
  const missing = maxDecimal(amount.minus(outstanding), ZERO);
  const isTrimmed = need.budget === undefined && need.winner.targetBase === '0';
  if (own.length === 0) {
    if (missing.gt(ZERO)) pushReduce(need, missing, slippage, isTrimmed, scene, plan);
    return;
  }
  const least = leastAmount(scene.market);
  if (own.some((order) => isRemovable(order, scene.settings, scene.nowMs))) {
    const threshold = maxDecimal(least, outstanding.times(decimalFromNumber(REPLACE_SHARE)));
    const why = staleReason(need, own, slippage, scene) ?? (missing.gte(threshold) ? 'needGrew' : undefined);
    if (why !== undefined) for (const order of own) plan.remove.push({ order, why });
    return;
  }
  // Nothing of ours can be taken back here: what is missing is added, and a full close may be sent again.
  const stale = staleReason(need, own.slice(-1), slippage, scene);
  const addition = isTrimmed && stale !== undefined ? amount : missing;
  if (addition.gte(least)) pushReduce(need, addition, slippage, isTrimmed, scene, plan);
  else if (stale !== undefined) {
    const why = scene.settings.cancel === 'never' ? 'cancelForbidden' : 'stopNotCancellable';
    plan.blocked.push({ key: need.winner.key, why });
  }
}

function pushReduce(
  need: ReduceNeed,
  amount: Decimal,
  slippage: number,
  isTrimmed: boolean,
  scene: SetScene,
  plan: Plan,
): void {
  const { winner, position } = need;
  const why = priceBlock(position);
  if (why !== undefined || position.direction === null || position.markPrice === null) {
    plan.blocked.push({ key: winner.key, why: why ?? 'markUnknown' });
    return;
  }
  const { direction, markPrice, markError } = position;
  const gap = placingGap({ ...position, markPrice }, direction, scene);
  const shape = shapeReduce({ direction, markPrice, markError }, slippage, scene.market, gap);
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
  });
}

export function priceBlock(position: ReadPosition): BlockReason | undefined {
  if (position.direction === null) return 'directionUnknown';
  return position.markPrice === null ? 'markUnknown' : undefined;
}

/** Why the orders that stand for a need are no good any more; `undefined` when they are. */
function staleReason(
  need: ReduceNeed,
  own: readonly OwnOrder[],
  slippage: number,
  scene: SetScene,
): RemovalReason | undefined {
  const { position, amount, winner } = need;
  if (own.some((order) => order.ambiguous)) return 'ambiguousMove';
  const mayExceed = winner.targetBase === '0' && need.budget === undefined;
  if (!mayExceed && outstandingBase(need.own, () => true).gt(amount)) return 'exceedsTarget';
  if (own.every((order) => order.slippage < slippage)) return 'slippageRose';
  const aged = own.filter((order) => scene.nowMs - order.sentMs >= scene.settings.fillWithinMs);
  for (const order of aged) {
    const offset = offsetFromActivation(order, position);
    if (offset === undefined) continue;
    if (offset.lte(ZERO) && wasPassedLongEnough(order, offset, position, scene)) return 'notFilled';
    if (hasMovedAway(offset, position, scene)) return 'marketMovedAway';
  }
  const isLate = (order: OwnOrder): boolean =>
    order.inverted === true && isRemovable(order, scene.settings, scene.nowMs);
  return own.some(isLate) ? 'inverted' : undefined;
}

/**
 * The market reached the activation, and the time to fill has passed since. Well past it, the order was triggered
 * as soon as it came; beside it, within the gap between mark and last price, it may only just have been.
 */
function wasPassedLongEnough(
  order: OwnOrder,
  offset: Decimal,
  position: ReadPosition,
  scene: SetScene,
): boolean {
  const { nowMs, settings } = scene;
  if (order.activatedMs !== null) return nowMs - order.activatedMs >= settings.fillWithinMs;
  if (isWellPast(offset, position, scene.market)) return true;
  return order.reachedMs !== null && nowMs - order.reachedMs >= settings.fillWithinMs;
}

function differCover(position: ReadPosition, budget: Decimal | undefined, scene: SetScene, plan: Plan): void {
  const id = position.positionId;
  const isClosing = scene.state.intents.some(
    (intent) => isOpen(intent) && intent.source === 'cover' && intent.positionId === id,
  );
  // The triggered stop itself is one of the orders that close the position.
  if (isClosing) return;
  const own = coverOrders(scene.state, position);
  if (!scene.state.covers.some((cover) => cover.positionId === id)) {
    for (const order of own) plan.remove.push({ order, why: 'resolved' });
    return;
  }
  const stop = desiredStop(position, budget, scene);
  if (stop === undefined) return;
  if ('blocked' in stop) {
    plan.blocked.push({ key: stop.key, why: stop.blocked });
    if (stop.blocked !== 'netExposure') return;
    for (const order of own) plan.remove.push({ order, why: 'exceedsNetExposure' });
    return;
  }
  const judged = judgeCovers(stop, own, scene);
  plan.place.push(...judged.place);
  plan.remove.push(...judged.remove);
}

function countedOrders(scene: SetScene, position: ReadPosition): readonly OwnOrder[] {
  return scene.state.orders.filter(
    (order) => order.positionId === position.positionId && !order.presumedFilled,
  );
}

/** With both sides open all our orders together, covers included, stay within the net exposure. */
function trimToNet(scene: SetScene, plan: Plan): void {
  const exposure = withHeld(scene.read, scene.state);
  if (scene.settings.hedge === 'perLeg' || !isHedged(exposure)) return;
  if (scene.admitted.intents.some((intent) => intent.perLeg)) return;
  for (const position of scene.read.positions) {
    const own = countedOrders(scene, position);
    const allowed = maxDecimal(netExposure(position, exposure), ZERO);
    if (!outstandingBase(own, () => true).gt(allowed)) continue;
    for (const order of own) plan.remove.push({ order, why: 'exceedsNetExposure' });
  }
  plan.place = withinNet(scene, plan.place);
}

/** An addition that only fits once something else has gone makes that go first. */
function withinNet(scene: SetScene, place: readonly Want[]): Want[] {
  const left = new Map<string, Decimal>();
  for (const position of scene.read.positions) {
    const own = countedOrders(scene, position);
    const net = maxDecimal(netExposure(position, withHeld(scene.read, scene.state)), ZERO);
    left.set(position.positionId, net.minus(outstandingBase(own, () => true)));
  }
  return place.flatMap((want) => {
    const room = left.get(want.position.positionId) ?? ZERO;
    const step = toDecimal(scene.market.amountStep);
    const amount = roundToStep(minDecimal(want.amount, maxDecimal(room, ZERO)), step, 'down');
    if (amount.lt(leastAmount(scene.market))) return [];
    left.set(want.position.positionId, room.minus(amount));
    return [{ ...want, amount: toDecimal(formatDecimal(amount)) }];
  });
}
