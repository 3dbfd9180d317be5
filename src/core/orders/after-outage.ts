import type { Recorder } from '../audit/audit-event.ts';
import type { LaneState, MarketRead } from '../lanes/lane-state.ts';
import type { AccountSettings } from '../quantities/settings.ts';

/** Shorter gaps between two reads are those of any bad minute. */
const LEAST_OUTAGE_MS = 60_000;
const CALM_POLLS = 3;

/** Whether a read is the first one after an outage: nobody has seen the market for longer than polls are apart. */
export function isAfterOutage(
  before: MarketRead | null,
  read: MarketRead,
  { cadence }: AccountSettings,
): boolean {
  if (before === null) return false;
  return read.sentAtMs - before.receivedAtMs > Math.max(LEAST_OUTAGE_MS, CALM_POLLS * cadence.calmMs);
}

/** In maintenance stops vanish without a word: each is sent again under its own id, which tells. */
export function suspectStops(state: LaneState, why: 'outage' | 'marketClosed', audit: Recorder): LaneState {
  const isSuspect = (order: LaneState['orders'][number]): boolean =>
    order.role === 'cover' && order.status === 'open' && !order.presumedFilled;
  if (!state.orders.some(isSuspect)) return state;
  const words = 'stops may have vanished meanwhile: they are sent again under their own ids';
  audit.emit({ kind: 'coverChanged', reason: why, words });
  const orders = state.orders.map((order) =>
    isSuspect(order) ? { ...order, status: 'unsure' as const, mayHaveVanished: true } : order,
  );
  return { ...state, orders };
}

/**
 * There is no room for another reduce-only order (116): what may have vanished is there, or the position is gone. One that
 * nobody knows to have been there does not follow from that.
 */
export function trustStops(state: LaneState): LaneState {
  const isTrusted = (order: LaneState['orders'][number]): boolean =>
    order.mayHaveVanished === true && order.neverConfirmed !== true;
  if (!state.orders.some(isTrusted)) return state;
  const orders = state.orders.map((order) =>
    isTrusted(order) ? { ...order, status: 'open' as const, mayHaveVanished: false } : order,
  );
  return { ...state, orders };
}

const CLOSED_PAUSE_MS = 60_000;

/** A market that takes no cancels, and where nothing is to be reduced, is asked again now and then. */
export function restInClosedMarket(state: LaneState, nowMs: number): LaneState {
  if (state.intents.some(({ end }) => end === null)) return state;
  return { ...state, retryAtMs: { ...state.retryAtMs, cancel: nowMs + CLOSED_PAUSE_MS } };
}
