import type { ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import { toDecimal } from '../quantities/decimal.ts';
import { asLearned, inRange } from './activation-gap.ts';
import { isKnownById, PROOF_MS } from './cancel-policy.ts';
import { mayRaiseNet } from './net-exposure.ts';
import { isRemovable, isSentFor, isWellPast, offsetFromActivation } from './outstanding.ts';
import type { SetScene, Want } from './want.ts';
import { speedTowards } from './way-to-liquidation.ts';

/** The need of a position, for an order placed beside others that cannot be cancelled now. */
export interface BesideNeed {
  readonly position: ReadPosition;
  /** A full close: the exchange trims orders that add up to more. */
  readonly isTrimmed: boolean;
}

/**
 * Whether an order no longer counts: the market is past its activation by more than mark and last price may differ, or
 * was, and has not come back since. Should it, the order may fill beside its replacement, which is audited.
 */
export function isSpent(order: OwnOrder, position: ReadPosition, scene: SetScene): boolean {
  const { settings, market, nowMs, state } = scene;
  if (order.inverted === true) return true;
  if (order.status === 'unsure' && !hasArrived(order, scene)) return false;
  // Had it stood, it would have triggered.
  if (isLastPricePast(order, position, scene)) return true;
  const offset = offsetFromActivation(order, position);
  if (offset === undefined || !isWellPast(offset, position, inRange(position, asLearned(market, state))))
    return false;
  return nowMs - Math.max(order.sentMs, order.reachedMs ?? 0) >= settings.fillWithinMs;
}

/**
 * Returns an order in doubt, to be sent again under its own id: a duplicate is refused, otherwise it is accepted now.
 * Where ids are unique only among open orders it may have filled before, which is audited. Skips orders whose
 * activation is on the wrong side, and those whose price the exchange would refuse now.
 */
export function resendUnsure(
  own: readonly OwnOrder[],
  need: BesideNeed & Pick<Want, 'episode' | 'stage' | 'targetBase' | 'amount'>,
  scene: SetScene,
): Want | undefined {
  const { position, isTrimmed, episode, stage, targetBase } = need;
  const { market } = scene;
  if (!isTrimmed && scene.settings.overshoot === 'never') return undefined;
  const order = own.find(
    (candidate) =>
      candidate.status === 'unsure' &&
      isKnownById(candidate, scene.state) &&
      hasArrived(candidate, scene) &&
      isSentFor(candidate, position) &&
      toDecimal(candidate.amount).lte(need.amount) &&
      !isOutOfBand(candidate, position, scene.nowMs) &&
      offsetFromActivation(candidate, position)?.gte(toDecimal(market.priceStep)) === true,
  );
  if (order === undefined) return undefined;
  return { ...sentAgain(order, position), episode, stage, targetBase, isTrimmed, mayAddUp: true };
}

/**
 * Whether an order in doubt cannot be asked about: the exchange does not show its id, its price is outside of the band, or
 * the market has reached it, and it has not filled since.
 */
export function isBeyondAsking(order: OwnOrder, position: ReadPosition, scene: SetScene): boolean {
  const { status, reachedMs, sentMs } = order;
  if (status !== 'unsure' || !hasArrived(order, scene)) return false;
  if (isOutOfBand(order, position, scene.nowMs) || !isKnownById(order, scene.state)) return true;
  const isHeld = reachedMs !== null && scene.nowMs - Math.max(sentMs, reachedMs) >= REACHED_FOR_MS;
  // A market that moves on soon passes it by so much that it counts as spent, and others go beside it.
  return isHeld && position.direction !== null && speedTowards(position.direction, scene.state) === 0;
}

const REACHED_FOR_MS = 20_000;

function isLastPricePast(order: OwnOrder, position: ReadPosition, { nowMs }: SetScene): boolean {
  const { status, refusedQuestion } = order;
  const isPast = status === 'unsure' && refusedQuestion?.why === 'activationPassed';
  return isPast && isOutOfBand(order, position, nowMs);
}

/** Whether a question about an order would be refused for its price, as one was before. */
export function isOutOfBand(
  { request, refusedQuestion: refused }: OwnOrder,
  { markPrice }: ReadPosition,
  nowMs: number,
): boolean {
  if (refused === undefined || refused.why === 'noRoom' || markPrice === null) return false;
  const part = Number(request.price) / Number(markPrice);
  const isInside = part >= refused.lowestPart && part <= refused.highestPart;
  return !isInside && (refused.why !== 'priceBand' || nowMs - refused.atMs < ASKED_AGAIN_AFTER_MS);
}

/** Bands follow the last price, which the mark does not show. */
const ASKED_AGAIN_AFTER_MS = 60_000;

/** What sending an order again takes from it. */
export function sentAgain(order: OwnOrder, position: ReadPosition) {
  const { role, request: prices, slippage, key, ruleId, coverBasis } = order;
  const amount = toDecimal(order.amount);
  return { role, position, amount, prices, slippage, key, ruleId, coverBasis, anchor: null, resend: order };
}

/** Whether an order can no longer arrive. With increasing nonces it is refused after the next request. */
function hasArrived({ arrivedByMs }: OwnOrder, { settings, nowMs }: SetScene): boolean {
  return arrivedByMs <= nowMs || settings.nonceMode === 'increasing';
}

/** Whether orders of a position may add up: not if that could raise the market's net exposure. */
export function mayAddUp(
  position: ReadPosition,
  { settings, read }: Pick<SetScene, 'settings' | 'read'>,
): boolean {
  if (settings.overshoot === 'never') return false;
  return settings.hedge !== 'net' || !mayRaiseNet(position, read);
}

/** Whether orders of at least one position of the market may add up. */
export function mayAnyAddUp(scene: Pick<SetScene, 'settings' | 'read'>): boolean {
  const { positions } = scene.read;
  if (positions.length === 0) return scene.settings.overshoot !== 'never';
  return positions.some((position) => mayAddUp(position, scene));
}

/** Our orders that take up the room of an order that was refused for that a moment ago. */
export function roomTakers(
  position: ReadPosition,
  { state, nowMs }: SetScene,
  withinMs = PROOF_MS,
): readonly OwnOrder[] {
  const { roomTaken } = state;
  if (roomTaken?.positionId !== position.positionId || nowMs - roomTaken.atMs > withinMs) return [];
  return state.orders.filter((order) => order.positionId === position.positionId);
}

/** Whether a cancel may be sent now and would certainly remove the order. */
export function canRemove(order: OwnOrder, { mayCancel, settings, nowMs }: SetScene): boolean {
  return mayCancel && isRemovable(order, settings, nowMs);
}
