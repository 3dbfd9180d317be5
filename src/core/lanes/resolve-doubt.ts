import { BLOCK_WORDS } from '../audit/audit-event.ts';
import { leastAmount } from '../intents/targets.ts';
import { isRacing } from '../orders/activation-gap.ts';
import { isOutOfBand, mayAnyAddUp } from '../orders/beside.ts';
import { type CancelVerdict, isKnownById, judgeCancel } from '../orders/cancel-policy.ts';
import { fenceEndMs, liquidationIsLikely } from '../orders/fence.ts';
import { isHedged, mayHideSide, netRoom } from '../orders/net-exposure.ts';
import { orderSetDifference } from '../orders/order-set.ts';
import { isSentFor, leavesNoRoomFor, offsetFromActivation } from '../orders/outstanding.ts';
import type { Admitted, SetScene, Want } from '../orders/want.ts';
import { roundToStep, toDecimal } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { withHeld } from './absence.ts';
import { mayHideOrders } from './doubtful.ts';
import type { Intent, LaneState, MarketRead, Step } from './lane-state.ts';
import {
  isFresh,
  type MaybeStep,
  ownCancel,
  pausedBy,
  placeStep,
  readStep,
  type Turn,
  trialStep,
} from './lane-turn.ts';
import { findPosition, isSameHolding } from './market-read.ts';
import { withoutOrder } from './place-outcome.ts';

/**
 * Resolves a doubt: wait for the fence, cancel, read, place. A cancel before the fence would miss what arrives later. A
 * null step means that the doubt is over.
 */
export function resolveDoubt(
  state: LaneState,
  admitted: Admitted,
  turn: Turn,
  market: MarketSettings,
): MaybeStep {
  const { settings } = turn;
  const { doubt } = state;
  if (doubt === null) return { state, step: null };
  const isCalm = settings.ownOrders === 'possible' && admitted.intents.length === 0;
  const verdict = isCalm ? 'forbidden' : judgeCancel(state, turn.context, turn.nowMs);
  const fencedMs =
    verdict === 'forbidden' ? doubt.sinceMs + settings.lateArrivalMs : fenceEndMs(doubt, settings);
  const read = state.latestRead ?? state.read ?? NOTHING_READ;
  const shownFromMs = fencedMs + settings.readLagMs;
  // Until a read after the fence has come, an order may still have to go ahead of a likely liquidation.
  const ahead =
    mayHideOrders(doubt) || read.sentAtMs < shownFromMs
      ? placeAhead(state, admitted, turn, market)
      : undefined;
  if (ahead !== undefined) return { state, step: ahead };
  if (turn.nowMs < fencedMs) return { state, step: { kind: 'wait', untilMs: fencedMs, why: 'lateArrival' } };
  // What was sent since is not taken down to end the doubt: the next read ends it.
  const isSentSince = state.orders.some(({ sentMs }) => sentMs >= fencedMs);
  const isAllowedBeside = mayAnyAddUp({ settings, read: withHeld(read, state) });
  const isHidden = mayHideOrders(doubt);
  const fitting = isHidden ? state : withoutUnfit(state);
  if (fitting !== state && fitting.orders.every(({ status }) => status === 'open'))
    return { state: settleBeside(fitting, 'noRoom', fencedMs, turn), step: null };
  if (verdict === 'may' && !isSentSince && !(isHidden && isAllowedBeside))
    return { state, step: ownCancel(state, 'doubt', []) };
  if (!isAllowedBeside && isHidden) {
    const about = state.orders[0] ?? admitted.intents[0] ?? admitted.covers[0];
    const trial = verdict === 'unproven' ? trialStep(state, about, turn, market) : undefined;
    const step = trial ?? (verdict === 'forbidden' ? undefined : pausedBy(state, 'cancel', turn.nowMs));
    if (step !== undefined) return { state, step };
  }
  if (read.sentAtMs < shownFromMs) return { state, step: readStep(state, turn, shownFromMs) };
  return { state: settleBeside(state, verdict, fencedMs, turn), step: null };
}

/** Forgets orders in doubt that were asked about, found no room, and can never have had any. */
function withoutUnfit(state: LaneState): LaneState {
  const unfit = state.orders.filter(
    (order) =>
      order.status === 'unsure' &&
      order.behindCancel !== true &&
      order.mayHaveVanished !== true &&
      !order.ambiguous &&
      order.refusedQuestion?.why === 'noRoom' &&
      leavesNoRoomFor(order, state),
  );
  return unfit.reduce(withoutOrder, state);
}

/** Ends a doubt after the fence without a cancel: orders stay counted until a read or their id shows otherwise. */
function settleBeside(
  state: LaneState,
  verdict: CancelVerdict | 'noRoom',
  fencedMs: number,
  turn: Turn,
): LaneState {
  const { readLagMs } = turn.settings;
  turn.audit.emit({ kind: 'doubtResolved', ...whyBeside(verdict, turn) });
  const fromMs = fencedMs + readLagMs;
  return {
    ...state,
    doubt: null,
    priorOrdersPossible: state.priorOrdersPossible || (state.doubt !== null && mayHideOrders(state.doubt)),
    readAfterMs: Math.max(state.readAfterMs, fromMs),
    ignoreReadsBeforeMs: Math.max(state.ignoreReadsBeforeMs, fromMs),
  };
}

function whyBeside(verdict: CancelVerdict | 'noRoom', { settings }: Turn) {
  if (verdict === 'noRoom') return { reason: verdict, words: NO_ROOM_WORDS };
  if (settings.cancel === 'never') return { reason: 'cancelForbidden', words: BLOCK_WORDS.cancelForbidden };
  const waits = verdict === 'forbidden' ? 'while nothing is reduced' : 'before an order has been accepted';
  return { reason: 'beside', words: `no cancel ${waits}` };
}

const NO_ROOM_WORDS = 'what stands leaves no room for the order in doubt, so it was never accepted';

/** Returns an order that need not wait for the fence: a full close, or (audited) one before a likely liquidation. */
function placeAhead(
  state: LaneState,
  admitted: Admitted,
  turn: Turn,
  market: MarketSettings,
): Step | undefined {
  const { settings } = turn;
  const { doubt, latestRead } = state;
  if (doubt === null || pausedBy(state, 'reduce', turn.nowMs) !== undefined) return undefined;
  const candidates = admitted.intents.filter((intent) => mayGoAhead(intent, state, turn));
  if (candidates.length === 0) return undefined;
  const isUsable = (read: MarketRead): boolean =>
    read.sentAtMs >= doubt.sinceMs &&
    isFresh(read, state, turn) &&
    !(settings.hedge === 'net' && read.partial === 'list' && mayHideSide(withHeld(read, state)));
  if (latestRead === null || !isUsable(latestRead)) {
    return turn.nowMs < state.retryAtMs.read ? undefined : { kind: 'readPositions', market: state.market };
  }
  const meant = candidates.filter((intent) => isMeant(intent, latestRead));
  const alone: LaneState = { ...state, orders: [], intents: meant };
  const admittedAlone = { intents: meant, covers: [] };
  const scene = { state: alone, read: latestRead, admitted: admittedAlone, market, settings };
  const { place } = orderSetDifference({ ...scene, nowMs: turn.nowMs, mayCancel: true });
  const want = place.find((candidate) => candidate.role === 'reduce');
  if (want === undefined) return undefined;
  const chosen = withinRoom(
    [lostOrderOf(want, state, { market, nowMs: turn.nowMs }), want],
    latestRead,
    state,
    {
      market,
      settings,
    },
  );
  return chosen && placeStep(state, chosen, turn, true);
}

/**
 * Returns the lost order to be sent again under its own id, if its price still serves: it cannot add up with itself.
 * Not an order that a cancel may have taken down: its id may be taken while nothing stands.
 */
function lostOrderOf(
  want: Want,
  state: LaneState,
  { market, nowMs }: Pick<SetScene, 'market' | 'nowMs'>,
): Want | undefined {
  const lost = state.orders.find(
    (order) =>
      order.status === 'unsure' &&
      isKnownById(order, state) &&
      order.behindCancel !== true &&
      order.role === 'reduce' &&
      order.positionId === want.position.positionId &&
      isSentFor(order, want.position) &&
      toDecimal(order.amount).lte(want.amount) &&
      !isOutOfBand(order, want.position, nowMs),
  );
  const offset = lost && offsetFromActivation(lost, want.position);
  if (lost === undefined || offset === undefined || offset.lt(toDecimal(market.priceStep))) return undefined;
  return { ...want, resend: lost, prices: lost.request, key: lost.key, ruleId: lost.ruleId };
}

/** Whether the latest read still shows the position that the target is for. */
function isMeant({ basis, positionId }: Intent, latestRead: MarketRead): boolean {
  const position = findPosition(latestRead, positionId);
  if (basis === null || position === undefined) return false;
  const hasGrown = toDecimal(position.sizeBase).gt(toDecimal(basis.growthBoundBase));
  return isSameHolding(basis, position) && !hasGrown;
}

export const NOTHING_READ: MarketRead = { positions: [], sentAtMs: 0, receivedAtMs: 0 };

/** Returns the first want that fits the net exposure. Orders of an earlier store epoch had the same bound. */
function withinRoom(
  wants: readonly (Want | undefined)[],
  read: MarketRead,
  state: LaneState,
  { market, settings }: { readonly market: MarketSettings; readonly settings: AccountSettings },
): Want | undefined {
  const mayHide = state.priorOrdersPossible || (state.doubt !== null && mayHideOrders(state.doubt));
  for (const want of wants) {
    if (want === undefined) continue;
    if (settings.hedge !== 'net') return want;
    const { position, amount } = want;
    const room = netRoom(position, withHeld(read, state), state.orders, mayHide);
    if (room === undefined || amount.lte(room)) return want;
    const left = roundToStep(room, toDecimal(market.amountStep), 'down');
    if (want.resend === null && left.gte(leastAmount(market))) return { ...want, amount: left };
  }
  return undefined;
}

function mayGoAhead(intent: Intent, state: LaneState, turn: Turn): boolean {
  const { doubt, latestRead } = state;
  if (doubt === null || intent.targetBase === null || doubt.sentAhead.includes(intent.positionId))
    return false;
  if (intent.targetBase === '0' && !isHedged(withHeld(latestRead ?? NOTHING_READ, state))) return true;
  if (turn.settings.overshoot === 'never') return false;
  const position = findPosition(latestRead, intent.positionId) ?? findPosition(state.read, intent.positionId);
  if (position === undefined) return false;
  return liquidationIsLikely(position) || isRacing(position, state, turn.settings);
}
