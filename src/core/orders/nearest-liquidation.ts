import type { LaneState, ReadPosition } from '../lanes/lane-state.ts';

/**
 * Returns the nearer of a position's own and its joint liquidation price. The own price assumes that other markets do
 * not move: if markets fall together, an order placed by it never triggers.
 */
export function nearestLiquidation(
  { positionId, liquidationPrice, direction }: ReadPosition,
  { jointLimits = [] }: Pick<LaneState, 'jointLimits'>,
): ReadPosition['liquidationPrice'] {
  const joint = jointLimits.find((limit) => limit.positionId === positionId)?.liquidationPrice;
  if (joint === undefined || liquidationPrice === null) return liquidationPrice;
  if (liquidationPrice === 'none') return joint;
  const isNearer = Number(joint) > Number(liquidationPrice) === (direction === 'long');
  return isNearer ? joint : liquidationPrice;
}

/** Returns how far away that is, a fraction of the mark; undefined: not known, or never reached. */
export function nearestDistance(
  position: ReadPosition,
  state: Pick<LaneState, 'jointLimits'>,
): number | undefined {
  const { markPrice, direction, distance, liquidationPrice } = position;
  const nearest = nearestLiquidation(position, state);
  const own = typeof distance === 'number' ? distance : undefined;
  if (nearest === liquidationPrice || nearest === null || nearest === 'none' || markPrice === null)
    return own;
  const left = 1 - Number(nearest) / Number(markPrice);
  return direction === 'short' ? -left : left;
}
