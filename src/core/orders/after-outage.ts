import type { Recorder } from '../audit/audit-event.ts';
import type { LaneState, MarketRead } from '../lanes/lane-state.ts';
import type { AccountSettings } from '../quantities/settings.ts';

/** Shorter gaps between two reads are ordinary. */
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

/** Marks stops as unsure: maintenance may remove them silently. Each is sent again under its own id to find out. */
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
 * Trusts suspected stops again after a refusal for lack of room (116): they stand, or the position is gone. For a stop
 * that was never confirmed the refusal proves nothing.
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

/** Lengthens the pause between cancels in a closed market where nothing is to be reduced. */
export function restInClosedMarket(state: LaneState, nowMs: number): LaneState {
  if (state.intents.some(({ end }) => end === null)) return state;
  return { ...state, retryAtMs: { ...state.retryAtMs, cancel: nowMs + CLOSED_PAUSE_MS } };
}
