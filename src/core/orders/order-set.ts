import { isOpen } from '../intents/intent.ts';
import { hasOwnMargin } from '../intents/own-margin.ts';
import { leastAmount, reductionAmount } from '../intents/targets.ts';
import { isHeld, isUncertain, withHeld } from '../lanes/absence.ts';
import type { Intent, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
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
import { canRemove, isSpent } from './beside.ts';
import { fillInFavour, fillNeed, type SetPlan } from './fill-need.ts';
import { desiredLadder, hasLadder, leftBy } from './ladder.ts';
import { isCalm, judgeLadder } from './ladder-cover.ts';
import { closesAsOne, isHedged, mayRaiseNet, netExposure, netRoom } from './net-exposure.ts';
import { coverOrders, isSentFor, outstandingBase } from './outstanding.ts';
import { desiredStop, isAtRest, judgeCovers, type StopRoom, whyLeft } from './protective-stop.ts';
import type { Removal, SetDifference, SetScene, Want } from './want.ts';

/** Compares the orders wanted in a market with ours that may be open there. */
export function orderSetDifference(scene: SetScene): SetDifference {
  const plan: SetPlan = { place: [], remove: [], blocked: [], hedged: [] };
  removeOrphans(scene, plan);
  for (const position of scene.read.positions) differOne(position, scene, plan);
  blockUnseen(scene, plan);
  const wished = plan.place;
  trimToNet(scene, plan);
  removeUnproven(wished, scene, plan);
  removeTrials(scene, plan);
  return separateStanding(plan, scene);
}

/**
 * Cancels orders that are only presumed filled before anything is placed on their position, even if nothing has room
 * beside them. Where no cancel may be sent, both may add up.
 */
function removeUnproven(wished: readonly Want[], scene: SetScene, plan: SetPlan): void {
  // A stop that is sent again adds nothing.
  const placed = wished.filter(({ role, resend }) => role === 'reduce' || resend === null);
  const unproven = scene.state.orders.filter(
    ({ presumedFilled, positionId }) =>
      presumedFilled && placed.some((want) => want.position.positionId === positionId),
  );
  const removals = unproven.map((order): Removal => ({ order, why: 'fillUnproven' }));
  plan.remove.push(...removals);
  const staying = removals.filter((one) => !mayGo(one, scene)).map(({ order }) => order);
  if (staying.length === 0) return;
  const isBeside = ({ position, isTrimmed }: Want): boolean =>
    !isTrimmed && staying.some(({ positionId }) => positionId === position.positionId);
  plan.place = plan.place.flatMap((want) => {
    if (!isBeside(want)) return [want];
    return scene.settings.overshoot === 'never' ? [] : [{ ...want, mayAddUp: true }];
  });
}

function mayGo(removal: Removal, scene: SetScene): boolean {
  return canRemove(removal.order, scene) && whyLeft(removal, scene) === undefined;
}

/** Separates the orders that no cancel can remove now, or that are left: they stay, and are reported. */
function separateStanding(plan: SetPlan, scene: SetScene): SetDifference {
  const remove: Removal[] = [];
  const standing: Removal[] = [];
  const known = new Set<OwnOrder>();
  for (const removal of plan.remove) {
    if (known.has(removal.order)) continue;
    known.add(removal.order);
    (mayGo(removal, scene) ? remove : standing).push(removal);
  }
  return { ...plan, remove, standing };
}

function removeTrials({ state, read }: SetScene, plan: SetPlan): void {
  for (const order of state.orders) {
    const isThere = findPosition(read, order.positionId) !== undefined;
    if (order.trial === true && isThere) plan.remove.push({ order, why: 'resolved' });
  }
}

/** Blocks positions that the read does not show: nothing is placed or removed for them. */
function blockUnseen({ state, admitted }: SetScene, plan: SetPlan): void {
  for (const { key, positionId } of [...admitted.intents, ...admitted.covers]) {
    if (isHeld(state, positionId)) plan.blocked.push({ key, why: 'positionNotSeen' });
  }
}

/** Removes orders of positions that are gone: left standing, they would hit the next position there. */
function removeOrphans(scene: SetScene, plan: SetPlan): void {
  for (const order of scene.state.orders) {
    const position = findPosition(scene.read, order.positionId);
    const isGone =
      position === undefined
        ? !isUncertain(scene.state, order.positionId)
        : order.trial !== true && !isSentFor(order, position);
    if (isGone) plan.remove.push({ order, why: 'positionGone' });
  }
}

function differOne(position: ReadPosition, scene: SetScene, plan: SetPlan): void {
  const budget = exposureBudget(position, scene);
  const reduce = differReduce(position, budget, scene, plan);
  const reduceAmount = reduce ?? stayingBase(position, scene);
  // Standing stops are shrunk once nothing reduces the position, not in the middle of a fall.
  const standing = isAtRest(position, scene)
    ? budget
    : netRoom(position, withHeld(scene.read, scene.state), [], false);
  const room = budget && { left: budget.minus(reduceAmount), standing };
  if (hasLadder(position, scene.state.covers))
    differLadder(position, { budget, reducing: reduceAmount }, scene, plan);
  else differCover(position, room, scene, plan);
}

/** Amount that unwanted reductions may still take, as no cancel reaches them now. */
function stayingBase({ positionId }: ReadPosition, scene: SetScene): Decimal {
  return outstandingBase(
    scene.state.orders,
    (order) =>
      order.role === 'reduce' &&
      order.positionId === positionId &&
      !order.presumedFilled &&
      !canRemove(order, scene),
  );
}

function isNetBound(position: ReadPosition, { settings, read, state }: SetScene): boolean {
  return settings.hedge === 'net' && mayRaiseNet(position, withHeld(read, state));
}

/** How much of a hedged position may be taken: past the net exposure only to save a margin. Undefined: no bound. */
function exposureBudget(position: ReadPosition, scene: SetScene): Decimal | undefined {
  if (scene.settings.hedge === 'perLeg') return undefined;
  const flatten = scene.admitted.intents.some(
    (intent) => intent.positionId === position.positionId && intent.perLeg,
  );
  const exposure = withHeld(scene.read, scene.state);
  if (flatten || !isHedged(exposure)) return undefined;
  if (!isNetBound(position, scene) && hasOwnMargin(position, scene.state, scene.settings)) return undefined;
  return maxDecimal(netExposure(position, exposure), ZERO);
}

/** Returns what reducing orders will take, or have already been sent to take. */
function differReduce(
  position: ReadPosition,
  budget: Decimal | undefined,
  scene: SetScene,
  plan: SetPlan,
): Decimal | undefined {
  const id = position.positionId;
  const open = scene.state.intents.filter((intent) => isOpen(intent) && intent.positionId === id);
  const triggered = open.some((intent) => intent.source === 'cover');
  const own = scene.state.orders.filter(
    (order) =>
      order.positionId === id &&
      !order.presumedFilled &&
      order.trial !== true &&
      (order.role === 'reduce' || (triggered && hasTriggered(order, open, scene))),
  );
  const group = scene.admitted.intents.filter(
    (intent) => intent.positionId === id && intent.targetBase !== null,
  );
  const winner = winnerOf(group, own, position, scene);
  if (winner === undefined) return keepForUntargeted(own, open, plan);
  const wanted = wantedAmount(winner, position, budget, scene);
  if (wanted === undefined) {
    for (const intent of group) plan.hedged.push(intent.key);
    for (const order of own) plan.remove.push({ order, why: 'exceedsNetExposure' });
    return undefined;
  }
  const amount = budget === undefined ? wanted : besideTrials(wanted, budget, position, scene);
  const isInFavour = ({ request }: OwnOrder): boolean => request.inFavour === true;
  const need = { winner, group, position, amount, budget };
  fillNeed({ ...need, own: own.filter((order) => !isInFavour(order)) }, scene, plan);
  fillInFavour({ ...need, own: own.filter(isInFavour) }, scene, plan);
  return amount;
}

/** Whether a stop belongs to the triggered reduction: in a ladder, only the rungs down to the triggered one do. */
function hasTriggered(order: OwnOrder, open: readonly Intent[], { state, market }: SetScene): boolean {
  if (order.coverBasis?.leave === undefined) return true;
  const cover = state.covers.find(({ key }) => key === order.key);
  const left = leftBy(order, cover?.anchor, market);
  return open.some((intent) => intent.source === 'cover' && left.gte(targetOf(intent)));
}

/**
 * Limits an amount to the net exposure left by a trial that may still arrive. If too little is left to send, only
 * `trimToNet` limits it: the reduction does not wait for the trial.
 */
function besideTrials(
  wanted: Decimal,
  budget: Decimal,
  { positionId }: ReadPosition,
  scene: SetScene,
): Decimal {
  const taken = outstandingBase(
    scene.state.orders,
    (order) => order.trial === true && order.positionId === positionId && !canRemove(order, scene),
  );
  const left = roundToStep(maxDecimal(budget.minus(taken), ZERO), toDecimal(scene.market.amountStep), 'down');
  return left.gte(leastAmount(scene.market)) ? minDecimal(wanted, left) : wanted;
}

/** Keeps the orders of intents without a target (no sound mark, for example), and removes those of ended intents. */
function keepForUntargeted(
  own: readonly OwnOrder[],
  open: readonly Intent[],
  plan: SetPlan,
): Decimal | undefined {
  const isOwned = (order: OwnOrder): boolean => open.some((intent) => intent.key === order.key);
  if (own.some(isOwned)) return outstandingBase(own);
  for (const order of own) plan.remove.push({ order, why: 'resolved' });
  return undefined;
}

/** Amount of an order for the smallest target; undefined if the net exposure leaves less than the least amount. */
function wantedAmount(
  winner: Intent,
  position: ReadPosition,
  budget: Decimal | undefined,
  scene: SetScene,
): Decimal | undefined {
  const target = toDecimal(winner.targetBase ?? position.sizeBase);
  const amount = reductionAmount(toDecimal(position.sizeBase), target, scene.market);
  if (budget === undefined || amount.lte(budget)) return amount;
  const allowed = roundToStep(budget, toDecimal(scene.market.amountStep), 'down');
  return allowed.gte(leastAmount(scene.market)) ? allowed : undefined;
}

/**
 * The smallest target. A rule whose condition has cleared needs nothing new: without an order that serves, it keeps no
 * other rule from acting.
 */
function winnerOf(
  group: readonly Intent[],
  own: readonly OwnOrder[],
  position: ReadPosition,
  scene: SetScene,
): Intent | undefined {
  const smallest = smallestTarget(group);
  if (smallest?.hasCleared !== true || !own.every((order) => isSpent(order, position, scene)))
    return smallest;
  return smallestTarget(group.filter(({ hasCleared }) => hasCleared !== true)) ?? smallest;
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

function differCover(
  position: ReadPosition,
  room: StopRoom | undefined,
  scene: SetScene,
  plan: SetPlan,
): void {
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
  const stop = desiredStop(position, room, scene);
  if (stop === undefined) return;
  if ('blocked' in stop) {
    plan.blocked.push({ key: stop.key, why: stop.blocked });
    if (stop.blocked !== 'netExposure' || !isNetBound(position, scene)) return;
    for (const order of own) plan.remove.push({ order, why: 'exceedsNetExposure' });
    return;
  }
  const judged = judgeCovers(stop, own, scene);
  plan.place.push(...judged.place);
  plan.remove.push(...judged.remove);
}

function differLadder(
  position: ReadPosition,
  { budget, reducing }: { readonly budget: Decimal | undefined; readonly reducing: Decimal },
  scene: SetScene,
  plan: SetPlan,
): void {
  const { state, read, settings } = scene;
  const open = state.intents.filter(
    (intent) => isOpen(intent) && intent.source === 'cover' && intent.positionId === position.positionId,
  );
  // A triggered stop belongs to the reduction that it became.
  const own = coverOrders(state, position).filter((order) => !hasTriggered(order, open, scene));
  const calm = isCalm(position, own, scene);
  const most = budget && maxDecimal(halfOf(budget).minus(reducing), ZERO);
  const isOne = closesAsOne(budget, withHeld(read, state), settings);
  const ladder = desiredLadder(position, { isCalm: calm, isNew: own.length === 0, most, isOne }, scene);
  if (ladder === undefined) return;
  if ('blocked' in ladder) {
    plan.blocked.push({ key: ladder.key, why: ladder.blocked });
    return;
  }
  const judged = judgeLadder(ladder, own, { reducing, isCalm: calm }, scene);
  plan.place.push(...judged.place);
  plan.remove.push(...judged.remove);
}

function halfOf(base: Decimal): Decimal {
  return base.times(decimalFromNumber(0.5));
}

function countedOrders(scene: SetScene, position: ReadPosition): readonly OwnOrder[] {
  return scene.state.orders.filter(
    (order) => order.positionId === position.positionId && !order.presumedFilled,
  );
}

/** Keeps all our orders on a side together, covers included, from raising the net exposure, however they fill. */
function trimToNet(scene: SetScene, plan: SetPlan): void {
  const { state, read, admitted, settings } = scene;
  // A flatten closes every position of the market, and may raise its net exposure on the way.
  if (settings.hedge === 'perLeg' || admitted.intents.some((intent) => intent.perLeg)) return;
  const exposure = withHeld(read, state);
  const left = new Map<string, Decimal>();
  for (const position of read.positions) {
    const most = netRoom(position, exposure, [], false);
    const room = netRoom(position, exposure, state.orders, state.priorOrdersPossible);
    if (most === undefined) continue;
    if (room !== undefined) left.set(position.positionId, room);
    const own = countedOrders(scene, position);
    if (!outstandingBase(own).gt(most)) continue;
    for (const order of own) plan.remove.push({ order, why: 'exceedsNetExposure' });
  }
  const fitting = withinRoom(scene, plan.place, left);
  for (const { role, key } of plan.place) {
    const isDropped = role === 'reduce' && !fitting.some((want) => want.key === key);
    if (isDropped) plan.blocked.push({ key, why: 'netExposure' });
  }
  plan.place = fitting;
}

/** Trims additions to the room that is left; one that only fits once something else has gone waits for that. */
function withinRoom({ market }: SetScene, place: readonly Want[], left: Map<string, Decimal>): Want[] {
  return place.flatMap((want) => {
    const room = left.get(want.position.positionId);
    if (room === undefined || addsNothing(want)) return [want];
    const amount = roundToStep(minDecimal(want.amount, room), toDecimal(market.amountStep), 'down');
    const fits = want.resend === null ? amount.gte(leastAmount(market)) : amount.gte(want.amount);
    if (!fits) return [];
    left.set(want.position.positionId, room.minus(amount));
    return [{ ...want, amount: toDecimal(formatDecimal(amount)) }];
  });
}

/** What the market has not reached has not filled: sent again under its own id, it stays the order that is counted. */
function addsNothing({ role, resend }: Want): boolean {
  return resend !== null && (role === 'cover' || resend.activatedMs === null);
}
