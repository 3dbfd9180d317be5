import { BLOCK_WORDS } from '../intents/intent.ts';
import { fenceEndMs, liquidationIsLikely } from '../orders/fence.ts';
import { isHedged, mayHideSide } from '../orders/net-exposure.ts';
import { orderSetDifference } from '../orders/order-set.ts';
import type { Admitted } from '../orders/want.ts';
import { toDecimal } from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import { isCancelHeldBack, withHeld } from './absence.ts';
import { mayHideOrders } from './doubtful.ts';
import {
  findPosition,
  type Intent,
  isSameHolding,
  type LaneState,
  type MarketRead,
  type Step,
} from './lane-state.ts';
import { type DecidedStep, idle, ownCancel, pausedBy, placeStep, type Turn } from './lane-turn.ts';
import { mayPrice } from './market-read.ts';

/**
 * Something of ours may be open or still on its way: let the fence pass, cancel, read, place. The fence comes
 * before the cancel, because what arrives after a cancel is not reached by it. Without a step the doubt is over.
 */
export function resolveDoubt(
  state: LaneState,
  admitted: Admitted,
  turn: Turn,
  market: MarketSettings,
): DecidedStep | { readonly state: LaneState; readonly step: null } {
  const { settings } = turn.context;
  const { doubt } = state;
  if (doubt === null) return { state, step: null };
  const ahead = placeAhead(state, admitted, turn, market);
  if (ahead !== undefined) return { state, step: ahead };
  const isForbidden = settings.cancel === 'never';
  const untilMs = isForbidden ? doubt.sinceMs + settings.lateArrivalMs : fenceEndMs(doubt, settings);
  if (turn.nowMs < untilMs) return { state, step: { kind: 'wait', untilMs, why: 'lateArrival' } };
  if (isForbidden) return { state: settleWithoutCancel(state, turn), step: null };
  if (isCancelHeldBack(state)) return { state, step: idle('blocked') };
  const pause = pausedBy(state, 'cancel', turn.nowMs);
  return { state, step: pause ?? ownCancel(state, 'doubt', []) };
}

/** `cancel: never`: the fence passes, what may have arrived stays in the accounting for good. */
function settleWithoutCancel(state: LaneState, turn: Turn): LaneState {
  const { nowMs } = turn;
  const { readLagMs } = turn.context.settings;
  turn.audit.emit({ kind: 'doubtResolved', reason: 'cancelForbidden', words: BLOCK_WORDS.cancelForbidden });
  return {
    ...state,
    doubt: null,
    priorOrdersPossible: state.priorOrdersPossible || (state.doubt !== null && mayHideOrders(state.doubt)),
    readAfterMs: nowMs + readLagMs,
    ignoreReadsBeforeMs: nowMs + readLagMs,
  };
}

/**
 * What need not or must not wait for the fence: a full close (the exchange trims it), and, audited, any
 * reduction when liquidation would probably come first. Never where it could raise a net exposure.
 */
function placeAhead(
  state: LaneState,
  admitted: Admitted,
  turn: Turn,
  market: MarketSettings,
): Step | undefined {
  const { settings } = turn.context;
  const { doubt, latestRead } = state;
  if (doubt === null || pausedBy(state, 'reduce', turn.nowMs) !== undefined) return undefined;
  const candidates = admitted.intents.filter((intent) => mayGoAhead(intent, state, turn));
  if (candidates.length === 0) return undefined;
  const isFresh =
    latestRead !== null &&
    latestRead.sentAtMs >= doubt.sinceMs &&
    turn.nowMs - latestRead.receivedAtMs <= settings.maxSnapshotAgeMs &&
    mayPrice(latestRead, state, settings, turn.nowMs) &&
    !(settings.hedge === 'net' && latestRead.partial === 'list' && mayHideSide(withHeld(latestRead, state)));
  if (!isFresh || latestRead === null) {
    return turn.nowMs < state.retryAtMs.read ? undefined : { kind: 'readPositions', market: state.market };
  }
  if (settings.hedge === 'net' && isHedged(withHeld(latestRead, state))) return undefined;
  const meant = candidates.filter((intent) => isMeant(intent, latestRead));
  const alone: LaneState = { ...state, orders: [], intents: meant };
  const scene = { state: alone, read: latestRead, admitted: { intents: meant, covers: [] } };
  const { place } = orderSetDifference({ ...scene, market, settings, nowMs: turn.nowMs });
  const want = place.find((candidate) => candidate.role === 'reduce');
  if (want === undefined) return undefined;
  return placeStep(state, want, turn, true);
}

/** Whether what was read last is still the position that the target is for. */
function isMeant({ basis, positionId }: Intent, latestRead: MarketRead): boolean {
  const position = findPosition(latestRead, positionId);
  if (basis === null || position === undefined) return false;
  const hasGrown = toDecimal(position.sizeBase).gt(toDecimal(basis.growthBoundBase));
  return isSameHolding(basis, position) && !hasGrown;
}

function mayGoAhead(intent: Intent, state: LaneState, turn: Turn): boolean {
  const { doubt, latestRead } = state;
  if (doubt === null || intent.targetBase === null || doubt.sentAhead.includes(intent.positionId))
    return false;
  if (intent.targetBase === '0') return true;
  if (turn.context.settings.overshoot === 'never') return false;
  const position = findPosition(latestRead, intent.positionId) ?? findPosition(state.read, intent.positionId);
  return position !== undefined && liquidationIsLikely(position);
}
