import type { Doubt, ReadPosition } from '../lanes/lane-state.ts';
import type { AccountSettings } from '../quantities/settings.ts';

/**
 * Until when a request without an answer may still arrive; only a cancel after that removes it for certain. In
 * `increasing` nonce mode the next accepted request is the fence: what was sent before is refused.
 */
export function fenceEndMs(doubt: Doubt, settings: AccountSettings): number {
  return settings.nonceMode === 'increasing' ? doubt.sinceMs : doubt.sinceMs + settings.lateArrivalMs;
}

/** How long from an unknown outcome to an order that cannot add up with it, for judging the risk of waiting. */
export function fenceDurationMs(settings: AccountSettings): number {
  return (settings.nonceMode === 'increasing' ? 0 : settings.lateArrivalMs) + settings.readLagMs;
}

/** From this chance of liquidation before the fence has passed on, over-reduction is the lesser evil. */
export const LIKELY_LIQUIDATION = 0.05;

/** Whether waiting for the fence would probably cost the position. */
export function liquidationIsLikely(position: ReadPosition): boolean {
  if (position.liquidationState === 'liquidation') return true;
  return position.fenceRisk !== null && position.fenceRisk >= LIKELY_LIQUIDATION;
}
