import { trialOrder } from '../orders/trial-order.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import type { LaneState, OwnOrder, Step } from './lane-state.ts';
import { pausedBy, placeStep, type Turn } from './lane-turn.ts';
import { mayPrice } from './market-read.ts';

/**
 * Where a cancel is needed and nothing has to be placed before it: the smallest order, far from the market, shows
 * whether what the cancel takes down can be put up again. One that stands from before shows it as well, sent again
 * under its own id. `undefined`: none can be placed now.
 */
export function trialStep(
  state: LaneState,
  about: Pick<OwnOrder, 'key' | 'ruleId'> | undefined,
  turn: Turn,
  market: MarketSettings,
): Step | undefined {
  const { nowMs } = turn;
  const { settings } = turn.context;
  const { latestRead: read } = state;
  const isPaused =
    pausedBy(state, 'cancel', nowMs) !== undefined || pausedBy(state, 'cover', nowMs) !== undefined;
  // Where cancels reach no stop, a trial would stand for good, and so would what it is for.
  if (about === undefined || isPaused || !settings.cancelCoversStops) return undefined;
  const isFresh =
    read !== null &&
    read.sentAtMs >= state.readAfterMs &&
    nowMs - read.receivedAtMs <= settings.maxSnapshotAgeMs &&
    mayPrice(read, state, settings, nowMs);
  if (!isFresh || read === null) {
    return pausedBy(state, 'read', nowMs) === undefined && nowMs >= state.readAfterMs
      ? { kind: 'readPositions', market: state.market }
      : undefined;
  }
  const want = trialOrder({ state, read, market, settings, nowMs }, about);
  return want && placeStep(state, want, turn, false);
}
