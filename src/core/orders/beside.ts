import type { ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import { toDecimal, ZERO } from '../quantities/decimal.ts';
import { PROOF_MS } from './cancel-policy.ts';
import { mayRaiseNet } from './net-exposure.ts';
import { isRemovable, isSentFor, isWellPast, offsetFromActivation } from './outstanding.ts';
import type { SetScene, Want } from './want.ts';

/** What is asked for on a position, for what is added beside orders that no cancel removes now. */
export interface BesideNeed {
  readonly position: ReadPosition;
  /** A full close: the exchange trims what adds up. */
  readonly isTrimmed: boolean;
}

/**
 * Whether an order that cannot be taken back is spent: the market is past its activation. Should the market come back,
 * it may fill beside what is placed in its stead: that is audited.
 */
export function isSpent(order: OwnOrder, { position, isTrimmed }: BesideNeed, scene: SetScene): boolean {
  const { settings, market, nowMs } = scene;
  if (settings.overshoot === 'never' && !isTrimmed) return false;
  const offset = offsetFromActivation(order, position);
  if (offset === undefined || offset.gt(ZERO)) return false;
  if (order.inverted === true) return true;
  const reachedMs = isWellPast(offset, position, market) ? order.sentMs : order.reachedMs;
  if (order.status === 'unsure' && !hasArrived(order, scene)) return false;
  return reachedMs !== null && nowMs - Math.max(order.sentMs, reachedMs) >= settings.fillWithinMs;
}

/**
 * An order in doubt, sent again under its own id: a duplicate is refused, else it is accepted now. Where ids are unique
 * among open orders only, it may have filled: that is audited. Not with its activation on the wrong side.
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
      hasArrived(candidate, scene) &&
      isSentFor(candidate, position) &&
      toDecimal(candidate.amount).lte(need.amount) &&
      offsetFromActivation(candidate, position)?.gte(toDecimal(market.priceStep)) === true,
  );
  if (order === undefined) return undefined;
  return {
    role: order.role,
    position,
    amount: toDecimal(order.amount),
    prices: order.request,
    slippage: order.slippage,
    key: order.key,
    ruleId: order.ruleId,
    episode,
    stage,
    targetBase,
    isTrimmed,
    coverBasis: order.coverBasis,
    anchor: null,
    resend: order,
    mayAddUp: true,
  };
}

/** With increasing nonces what was sent before is refused after whatever is sent next. */
function hasArrived({ arrivedByMs }: OwnOrder, { settings, nowMs }: SetScene): boolean {
  return arrivedByMs <= nowMs || settings.nonceMode === 'increasing';
}

/** Whether orders of a position that may add up are acceptable: they could raise a market's net exposure. */
export function mayAddUp(
  position: ReadPosition,
  { settings, read }: Pick<SetScene, 'settings' | 'read'>,
): boolean {
  if (settings.overshoot === 'never') return false;
  return settings.hedge !== 'net' || !mayRaiseNet(position, read);
}

/** The same for some position of a market. */
export function mayAnyAddUp(scene: Pick<SetScene, 'settings' | 'read'>): boolean {
  const { positions } = scene.read;
  if (positions.length === 0) return scene.settings.overshoot !== 'never';
  return positions.some((position) => mayAddUp(position, scene));
}

/** Orders of ours that take up the room of one that was refused for that a moment ago. */
export function roomTakers(position: ReadPosition, { state, nowMs }: SetScene): readonly OwnOrder[] {
  const { roomTakenMs } = state;
  if (roomTakenMs === undefined || nowMs - roomTakenMs > PROOF_MS) return [];
  return state.orders.filter((order) => order.positionId === position.positionId);
}

/** Whether a cancel may be sent now, and would remove the order for certain. */
export function canRemove(order: OwnOrder, { mayCancel, settings, nowMs }: SetScene): boolean {
  return mayCancel && isRemovable(order, settings, nowMs);
}
