import type { LaneState, ReadPosition } from '../lanes/lane-state.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { speedTowards } from './activation-gap.ts';
import { fenceDurationMs } from './fence.ts';

/** Waiting that would cost this share of the distance that is left is not waited. */
const DEAR_SHARE = 0.1;

/**
 * Whether the market runs towards liquidation so fast that waiting for the fence, and once more should the next reply
 * be lost as well, would cost too much of what is left.
 */
export function isRacing(position: ReadPosition, state: LaneState, settings: AccountSettings): boolean {
  const { direction, distance } = position;
  if (direction === null || typeof distance !== 'number') return false;
  const lost = speedTowards(direction, state) * fenceDurationMs(settings);
  return lost > 0 && lost >= DEAR_SHARE * distance;
}
