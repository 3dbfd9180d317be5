import type { LaneScene } from '../lanes/lane-change.ts';
import type { LaneState } from '../lanes/lane-state.ts';
import { marketOf } from '../orders/market-steps.ts';
import { orderSetDifference } from '../orders/order-set.ts';
import type { Want } from '../orders/want.ts';

/** Returns the orders that held-back intents would place now; undefined if the market is not read or not configured. */
export function heldOrders(
  state: LaneState,
  { intents, covers }: Pick<LaneState, 'intents' | 'covers'>,
  { settings, nowMs }: Pick<LaneScene, 'settings' | 'nowMs'>,
): readonly Want[] | undefined {
  const market = marketOf(state, settings);
  if (state.read === null || market === undefined) return undefined;
  const alone: LaneState = { ...state, intents, covers, orders: [], change: null };
  const scene = { state: alone, read: state.read, admitted: { intents, covers }, market, settings, nowMs };
  return orderSetDifference({ ...scene, mayCancel: true }).place;
}
