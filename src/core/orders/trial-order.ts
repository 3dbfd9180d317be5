import { isOpen } from '../intents/intent.ts';
import { leastAmount } from '../intents/targets.ts';
import type { ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import { isOutOfBand, mayAddUp, sentAgain } from './beside.ts';
import { isKnownById } from './cancel-policy.ts';
import { isHedged, mayRaiseNet, netExposure, netRoom } from './net-exposure.ts';
import { shapeProtect } from './order-prices.ts';
import { isSentFor, offsetFromActivation, outstandingBase } from './outstanding.ts';
import type { SetScene, Want } from './want.ts';

/** Where a trial activates: a share of the way from the mark to liquidation, or to the edge of a price band. */
const TRIAL = { at: 0.9, slippage: 0.01 };
const TRIAL_IN_BAND = { at: 0.6, slippage: 0.002 };
/** Without a liquidation price, or room before it, a price this far from the mark (a fraction) takes its place. */
const FAR = 0.5;

export type TrialScene = Omit<SetScene, 'admitted' | 'mayCancel'>;

/**
 * Returns an order that shows, before a cancel, whether the exchange accepts orders: one of our orders sent again under
 * its own id, which adds nothing, or else the smallest reduce-only stop, far from the market. `about`: what it serves.
 */
export function trialOrder(scene: TrialScene, about: Pick<OwnOrder, 'key' | 'ruleId'>): Want | undefined {
  const { positions } = scene.read;
  for (const position of positions) {
    const probe = scene.state.orders.findLast((order) => isProbe(order, position, scene));
    if (probe !== undefined) return probeOf(probe, position, scene);
  }
  for (const position of positions) {
    const want = trialFor(position, scene, about);
    if (want !== undefined) return want;
  }
  return undefined;
}

/** Whether an order certainly stands on the right side of the market, so that it is refused if sent again. */
function isProbe(order: OwnOrder, position: ReadPosition, scene: TrialScene): boolean {
  const { market, nowMs, settings, read } = scene;
  if (order.positionId !== position.positionId || order.presumedFilled) return false;
  if (!isSentFor(order, position) || order.arrivedByMs > nowMs || !isKnownById(order, scene.state))
    return false;
  if (isOutOfBand(order, position, nowMs)) return false;
  const isAhead = offsetFromActivation(order, position)?.gte(toDecimal(market.priceStep)) ?? false;
  if (!isAhead || order.trial === true) return isAhead;
  const isTrimmed = order.role === 'cover' && !isHedged(read);
  return order.status === 'open' && (isTrimmed || mayAddUp(position, { settings, read }));
}

/** Where ids are unique only among open orders, one filled since the read would be accepted again: audited. */
function probeOf(order: OwnOrder, position: ReadPosition, { read }: TrialScene): Want {
  return {
    ...sentAgain(order, position),
    episode: 0,
    stage: 0,
    targetBase: toDecimal(position.sizeBase),
    isTrimmed: order.role === 'cover' && !isHedged(read),
    mayAddUp: order.trial !== true,
    isTrial: order.trial === true,
  };
}

function trialFor(
  position: ReadPosition,
  scene: TrialScene,
  { key, ruleId }: Pick<OwnOrder, 'key' | 'ruleId'>,
): Want | undefined {
  const { direction, markPrice, markError, liquidationPrice } = position;
  const { market } = scene;
  if (direction === null || markPrice === null || position.disagreement) return undefined;
  // An order that nobody knows to stand, or that waits for a recovery, has to go: only a trial shows whether it may.
  const isBeyond = !hasRoom(position, scene);
  if (isBeyond && !(hasStrayReduction(position, scene) && maySurpass(position, scene))) return undefined;
  const isLong = direction === 'long';
  const far = partOfMark(markPrice, isLong ? 1 - FAR : 1 + FAR);
  const isKnown = liquidationPrice !== null && liquidationPrice !== 'none';
  const isNearer =
    isKnown && (isLong ? Number(liquidationPrice) > Number(far) : Number(liquidationPrice) < Number(far));
  const isReduced = scene.state.intents.some((one) => one.positionId === position.positionId && isOpen(one));
  const nearest = isLong ? market.bounds?.lowestPart : market.bounds?.highestPart;
  // So near to the market it may trigger: only where something is to be reduced anyway.
  const edge = isReduced ? nearest : undefined;
  const places = [
    ...(isNearer ? [{ liquidationPrice, ...TRIAL }] : []),
    { liquidationPrice: far, ...TRIAL },
    ...(edge === undefined ? [] : [{ liquidationPrice: partOfMark(markPrice, edge), ...TRIAL_IN_BAND }]),
  ];
  for (const place of places) {
    const inputs = { ...place, anchor: markPrice };
    const shape = shapeProtect({ direction, markPrice, markError }, inputs, market);
    if (!shape.ok) continue;
    return {
      role: 'cover',
      position,
      amount: leastAmount(market, toDecimal(shape.prices.price)),
      prices: shape.prices,
      slippage: place.slippage,
      key,
      ruleId,
      episode: 0,
      stage: 0,
      targetBase: toDecimal(position.sizeBase),
      isTrimmed: false,
      coverBasis: null,
      anchor: null,
      resend: null,
      isTrial: true,
      ...(isBeyond && { mayAddUp: true }),
    };
  }
  return undefined;
}

function partOfMark(markPrice: DecimalString, part: number): DecimalString {
  return formatDecimal(toDecimal(markPrice).times(decimalFromNumber(part)));
}

/** Whether one of our reductions may be gone, or was passed: it can neither be counted on nor sent again. */
function hasStrayReduction(position: ReadPosition, { state, nowMs }: TrialScene): boolean {
  return state.orders.some(
    (order) =>
      order.role === 'reduce' &&
      order.positionId === position.positionId &&
      order.arrivedByMs <= nowMs &&
      (order.status === 'unsure' ||
        order.ambiguous ||
        order.inverted === true ||
        isOutOfBand(order, position, nowMs)),
  );
}

/** Whether a trial may take more than is wanted: it never raises a net exposure, however what stands may fill. */
function maySurpass(position: ReadPosition, scene: TrialScene): boolean {
  if (mayAddUp(position, scene)) return true;
  // What has filled, as the position shows, only waits for a cancel to prove it.
  const unfilled = scene.state.orders.filter(({ presumedFilled }) => !presumedFilled);
  const room = netRoom(position, scene.read, unfilled, false);
  const hasNetRoom = room === undefined || room.gte(leastAmount(scene.market));
  return scene.settings.overshoot !== 'never' && hasNetRoom;
}

/** Whether there is room for a trial: even the smallest order counts against targets and, hedged, net exposure. */
function hasRoom(position: ReadPosition, scene: TrialScene): boolean {
  const { positionId } = position;
  const { state, read, market, settings } = scene;
  const own = outstandingBase(state.orders, (order) => order.positionId === positionId);
  const left = toDecimal(position.sizeBase).minus(own);
  const least = leastAmount(market);
  const targets = state.intents.flatMap((intent) =>
    intent.positionId === positionId && intent.targetBase !== null ? [toDecimal(intent.targetBase)] : [],
  );
  // Without a target it is unknown how much standing orders may take already.
  const isAboveTargets =
    targets.length === 0 ? own.eq(ZERO) : targets.every((target) => left.minus(target).gte(least));
  if (!isAboveTargets || settings.hedge === 'perLeg' || !mayRaiseNet(position, read)) return isAboveTargets;
  return netExposure(position, read).minus(own).gte(least);
}
