import type { LaneScene } from '../lanes/lane-change.ts';
import type { LaneState } from '../lanes/lane-state.ts';
import { orderSetDifference } from '../orders/order-set.ts';
import type { Want } from '../orders/want.ts';

/** The orders that would be sent now for what is held back; undefined: what they depend on is not known. */
export function heldOrders(
  state: LaneState,
  { intents, covers }: Pick<LaneState, 'intents' | 'covers'>,
  { settings, nowMs }: Pick<LaneScene, 'settings' | 'nowMs'>,
): readonly Want[] | undefined {
  const market = settings.marketSettings(state.market);
  if (state.read === null || market === undefined) return undefined;
  const alone: LaneState = { ...state, intents, covers, orders: [], change: null };
  const scene = { state: alone, read: state.read, admitted: { intents, covers }, market, settings, nowMs };
  return orderSetDifference({ ...scene, mayCancel: true }).place;
}
