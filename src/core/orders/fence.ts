import type { Doubt, ReadPosition } from '../lanes/lane-state.ts';
import type { AccountSettings } from '../quantities/settings.ts';

/**
 * Returns until when an unanswered request may still arrive; only a later cancel certainly removes it. In `increasing`
 * nonce mode the next accepted request is the fence: earlier requests are refused after it.
 */
export function fenceEndMs(doubt: Doubt, settings: AccountSettings): number {
  return settings.nonceMode === 'increasing' ? doubt.sinceMs : doubt.sinceMs + settings.lateArrivalMs;
}

/** Time from an unknown outcome until an order can no longer add up with it, for judging the risk of waiting. */
export function fenceDurationMs(settings: AccountSettings): number {
  return (settings.nonceMode === 'increasing' ? 0 : settings.lateArrivalMs) + settings.readLagMs;
}

/** From this probability of liquidation before the fence has passed, over-reduction is the lesser evil. */
export const LIKELY_LIQUIDATION = 0.05;

/** Whether waiting for the fence would probably cost the position. */
export function liquidationIsLikely(position: ReadPosition): boolean {
  if (position.liquidationState === 'liquidation') return true;
  return position.fenceRisk !== null && position.fenceRisk >= LIKELY_LIQUIDATION;
}
