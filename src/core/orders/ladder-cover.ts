import { asOneOrder, leastAmount } from '../intents/targets.ts';
import type { ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type Decimal,
  formatDecimal,
  maxDecimal,
  minDecimal,
  roundToStep,
  toDecimal,
  toNumber,
  ZERO,
} from '../quantities/decimal.ts';
import { isPassedOnArrival } from './activation-gap.ts';
import { isOutOfBand } from './beside.ts';
import { isKnownById, REPLACED_WITHIN_MS } from './cancel-policy.ts';
import type { DesiredLadder, DesiredRung } from './ladder.ts';
import { offsetFromActivation, outstandingBase } from './outstanding.ts';
import { type JudgedCovers, leavesNoRoom, NOTHING, stopWant } from './protective-stop.ts';
import type { Removal, SetScene, Want } from './want.ts';
import { speedTowards } from './way-to-liquidation.ts';

/** Rungs are placed anew when liquidation has moved by more than this share of the remaining distance. */
const MOVED_SHARE = 0.1;
/** Stops of one rung: the standing one, and one that tightens it or adds to it. */
const MOST_GENERATIONS = 2;

/** Whether stops may be replaced: nothing reduces the position, and the market does not run towards the nearest. */
export function isCalm(position: ReadPosition, own: readonly OwnOrder[], { state }: SetScene): boolean {
  const { positionId, direction, markPrice } = position;
  if (direction === null || markPrice === null) return false;
  const isReduced = state.intents.some(
    (intent) => intent.positionId === positionId && (intent.source !== 'cover' || intent.end === null),
  );
  if (isReduced) return false;
  const offsets = own.map((order) => {
    const offset = offsetFromActivation(order, position);
    return offset === undefined ? 0 : toNumber(offset) / Number(markPrice);
  });
  return speedTowards(direction, state) * REPLACED_WITHIN_MS <= Math.max(0, Math.min(1, ...offsets));
}

/**
 * Compares a ladder with the standing stops. Tighter or larger stops are placed first, beside the old ones; removals
 * wait for calm. `reducing`: what reductions take of the position.
 */
export function judgeLadder(
  ladder: DesiredLadder,
  own: readonly OwnOrder[],
  { reducing, isCalm: calm }: { readonly reducing: Decimal; readonly isCalm: boolean },
  scene: SetScene,
): JudgedCovers {
  const unsure = own.filter(({ status }) => status === 'unsure');
  const resent = unsure.find((order) => mayResend(order, ladder.position, scene));
  if (resent !== undefined) return { place: [resend(ladder, resent)], remove: [] };
  if (unsure.some(({ arrivedByMs }) => arrivedByMs > scene.nowMs)) return NOTHING;
  const current = own.filter((order) => isCurrent(order, ladder));
  const all = (why: Removal['why']): JudgedCovers =>
    calm ? { place: [], remove: own.map((order) => ({ order, why })) } : NOTHING;
  const isLoosened = own.length > 0 && current.length === 0 && isLooser(ladder, own);
  if (isLoosened) return all('stopLoosened');
  const room = roomFor(ladder, current, reducing, scene);
  const wants = missingRungs(ladder, { current, own }, room, scene);
  if (wants.length > 0) {
    if (current.length === own.length || mayTighten(ladder, scene)) return { place: wants, remove: [] };
    return all(leavesNoRoom(scene) ? 'noRoom' : 'stopLoosened');
  }
  if (current.length < own.length) return all(current.length === 0 ? 'noRoom' : 'tooManyStops');
  if (own.some(({ ambiguous, mayHaveVanished }) => ambiguous || mayHaveVanished === true))
    return all('ambiguousMove');
  return isTooMuch(ladder, current, scene) ? all('exceedsTarget') : NOTHING;
}

/** Whether an order may be sent again under its own id: with its activation on the right side it has not filled. */
function mayResend(order: OwnOrder, position: ReadPosition, scene: SetScene): boolean {
  const { market, nowMs, state } = scene;
  const offset = offsetFromActivation(order, position);
  if (!isKnownById(order, state) || isOutOfBand(order, position, nowMs)) return false;
  if (isPassedOnArrival(order, position, scene)) return false;
  return order.arrivedByMs <= nowMs && offset !== undefined && offset.gte(toDecimal(market.priceStep));
}

function isRungOf(order: OwnOrder, { leave }: DesiredRung): boolean {
  return (order.coverBasis?.leave ?? 0) === leave;
}

function isCurrent(order: OwnOrder, { cover, basis, rungs, position }: DesiredLadder): boolean {
  const { coverBasis, key } = order;
  if (coverBasis === null || key !== cover.key || !rungs.some((rung) => isRungOf(order, rung))) return false;
  const liquidation = Number(basis.liquidationPrice);
  const room = Math.min(coverBasis.roomBase, Math.abs(Number(position.markPrice) - liquidation));
  const moved = Math.abs(liquidation - Number(coverBasis.liquidationPrice));
  return moved <= MOVED_SHARE * room;
}

/** Whether liquidation lies no nearer than when any of the stops was placed. */
function isLooser({ basis, position, cover }: DesiredLadder, own: readonly OwnOrder[]): boolean {
  const isLong = position.direction === 'long';
  const now = Number(basis.liquidationPrice);
  return own.every(({ coverBasis, key }) => {
    if (coverBasis === null || key !== cover.key) return true;
    const then = Number(coverBasis.liquidationPrice);
    return isLong ? now <= then : now >= then;
  });
}

/** Whether stops may be placed beside the old ones: cancels must reach those, and only one side may be open. */
function mayTighten({ most }: DesiredLadder, scene: SetScene): boolean {
  const { cancel, cancelCoversStops } = scene.settings;
  return most === undefined && cancel !== 'never' && cancelCoversStops && !leavesNoRoom(scene);
}

/** The part of the position that neither these stops nor reductions take yet. */
function roomFor(
  { position, most }: DesiredLadder,
  current: readonly OwnOrder[],
  reducing: Decimal,
  { market }: SetScene,
): Decimal {
  const size = maxDecimal(toDecimal(position.sizeBase), leastAmount(market));
  const room = size.minus(reducing);
  const bounded =
    most === undefined ? roundToStep(room, toDecimal(market.amountStep), 'up') : minDecimal(room, most);
  return maxDecimal(bounded.minus(outstandingBase(current)), ZERO);
}

/** If there is no room for all, the rungs nearer to liquidation come first: a reduction does what the others would. */
function missingRungs(
  ladder: DesiredLadder,
  { current, own }: { readonly current: readonly OwnOrder[]; readonly own: readonly OwnOrder[] },
  room: Decimal,
  { market }: SetScene,
): readonly Want[] {
  const step = toDecimal(market.amountStep);
  let left = room;
  const wants: Want[] = [];
  for (const rung of ladder.rungs.toReversed()) {
    const standing = outstandingBase(current, (order) => isRungOf(order, rung));
    // A second order for the same rung is kept for tightening it.
    const most = asOneOrder(rung.amount, market);
    const missing = roundToStep(minDecimal(most.minus(standing), left), step, 'down');
    const generations = own.filter((order) => isRungOf(order, rung)).length;
    if (missing.lt(leastAmount(market)) || generations >= MOST_GENERATIONS) continue;
    left = left.minus(missing);
    wants.unshift(wantFor(ladder, rung, missing));
  }
  return wants;
}

function isTooMuch({ rungs }: DesiredLadder, current: readonly OwnOrder[], { market }: SetScene): boolean {
  return rungs.some((rung) => {
    const standing = outstandingBase(current, (order) => isRungOf(order, rung));
    return standing.minus(rung.amount).gte(leastAmount(market));
  });
}

function wantFor(ladder: DesiredLadder, { leave, left, prices }: DesiredRung, amount: Decimal): Want {
  const coverBasis = { ...ladder.basis, leave, leftBase: formatDecimal(left) };
  return stopWant({ ...ladder, amount, prices, isTrimmed: false, coverBasis });
}

function resend(ladder: DesiredLadder, order: OwnOrder): Want {
  const leave = order.coverBasis?.leave ?? 0;
  const rung = { leave, left: ZERO, prices: order.request, amount: toDecimal(order.amount) };
  const { key, ruleId, slippage, coverBasis } = order;
  return { ...wantFor(ladder, rung, rung.amount), key, ruleId, slippage, coverBasis, resend: order };
}
