import { recorder } from '../audit/audit-event.ts';
import {
  admittedOf,
  askGate,
  boundChange,
  failExhausted,
  type LaneContext,
  mayCarryOut,
  mayRemove,
} from '../intents/admission.ts';
import { brakedUntilMs, held, heldByDoubt } from '../intents/brake.ts';
import { isOpen } from '../intents/intent.ts';
import { expireIntents } from '../intents/renew.ts';
import { settleIntents } from '../intents/settle-intents.ts';
import { isPastLimit } from '../orders/activation-gap.ts';
import { type CancelVerdict, judgeCancel, needsRoom } from '../orders/cancel-policy.ts';
import { fenceEndMs, liquidationIsLikely } from '../orders/fence.ts';
import { marketOf } from '../orders/market-steps.ts';
import { mayHideSide } from '../orders/net-exposure.ts';
import { isWidening } from '../orders/order-prices.ts';
import { orderSetDifference } from '../orders/order-set.ts';
import { coverOrders, isRemovable } from '../orders/outstanding.ts';
import { whyLeft } from '../orders/protective-stop.ts';
import type { Admitted, Removal, SetDifference, Want } from '../orders/want.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import { isHeld, withHeld } from './absence.ts';
import { unusedAttempt } from './doubtful.ts';
import { dueTask } from './due-task.ts';
import type { LaneChange, LaneScene } from './lane-change.ts';
import {
  failPriorOrders,
  note,
  noteStanding,
  noteUnconfigured,
  recordObserved,
  withoutAddingUp,
} from './lane-note.ts';
import type { LaneState, MarketRead, Step } from './lane-state.ts';
import {
  type DecidedStep,
  idle,
  ownCancel,
  pausedBy,
  placeStep,
  readStep,
  type Turn,
  trialStep,
} from './lane-turn.ts';
import { findPosition, mayPrice } from './market-read.ts';
import type { OwnOrder } from './own-order.ts';
import { NOTHING_READ, resolveDoubt } from './resolve-doubt.ts';

/** A step, and the lane to persist before the step is carried out. */
export interface Advance extends LaneChange {
  readonly step: Step;
}

/** Returns the lane's next step. Call again after each step; carry a request out only between `begin` and `finish`. */
export function advance(state: LaneState, context: LaneContext, nowMs: number): Advance {
  if (state.inProgress !== null) return { state, step: idle('busy'), events: [] };
  if (state.heldBy !== null) return { state, step: idle('held'), events: [] };
  const { settings } = context;
  const scene: LaneScene = { settings, nowMs, audit: recorder(state.accountId, state.market, nowMs) };
  const started = startIntents(expireIntents(withEchoOf(state, context), scene), scene);
  // Must follow everything that may open an intent.
  const asked = boundChange(askGate(started, context.gate, scene), scene);
  const ready = recordObserved(failExhausted(asked, scene), scene);
  const audit = recorder(state.accountId, state.market, nowMs);
  const turn: Turn = { ...scene, audit, context, market: marketOf(ready, settings) };
  const task = dueTask(ready, turn);
  const { state: next, step } = task.step === null ? decideSet(task.state, turn) : task;
  if (step.kind === 'place' || step.kind === 'cancelAll') {
    const untilMs = brakedUntilMs(ready, step, settings, nowMs);
    if (untilMs !== undefined) {
      const braked = held(ready, step, scene.audit);
      return { state: braked, step: { kind: 'wait', untilMs, why: 'braked' }, events: scene.audit.events };
    }
  }
  const events = [...scene.audit.events, ...audit.events];
  return { state: next, step: withWake(step, next, scene), events };
}

/** What one lane learns of the exchange and ids holds for all of the account. */
function withEchoOf(state: LaneState, { orders }: LaneContext): LaneState {
  const unechoedMs = Math.max(orders?.unechoedMs ?? 0, state.unechoedMs ?? 0);
  return unechoedMs === (state.unechoedMs ?? 0) ? state : { ...state, unechoedMs };
}

/** Gives new intents their basis from the read that came with them; without a current read they wait for one. */
function startIntents(state: LaneState, scene: LaneScene): LaneState {
  const { read, latestRead, readAfterMs } = state;
  const isDue = state.intents.some((intent) => isOpen(intent) && intent.basis === null);
  const isCurrent =
    read !== null &&
    read.sentAtMs >= readAfterMs &&
    (latestRead === null || latestRead.sentAtMs <= read.sentAtMs) &&
    scene.nowMs - read.receivedAtMs <= scene.settings.maxSnapshotAgeMs;
  return isDue && isCurrent ? settleIntents(state, true, scene) : state;
}

function decideSet(state: LaneState, turn: Turn): DecidedStep {
  const admitted = admittedOf(state);
  const removable = state.orders.some((order) => mayRemove(order, state, turn.context.gate));
  if (admitted.intents.length === 0 && admitted.covers.length === 0 && !removable) {
    const isHeldBack = state.intents.some(isOpen) || state.orders.length + state.covers.length > 0;
    return { state: endChange(state), step: idle(isHeldBack ? 'gateClosed' : 'nothingWanted') };
  }
  const { market } = turn;
  if (market === undefined) return withoutSettings(state, admitted, turn);
  const certain = resolveDoubt(state, admitted, turn, market);
  return certain.step === null ? pursue(certain.state, admitted, turn, market) : certain;
}

/**
 * Handles a market that is no longer configured. Cancels unwanted orders, unless the cancel would also take down an
 * order that is wanted: it could not be placed again.
 */
function withoutSettings(state: LaneState, admitted: Admitted, turn: Turn): DecidedStep {
  const { settings } = turn;
  const { gate } = turn.context;
  const read = state.read ?? NOTHING_READ;
  const noted = noteUnconfigured(state, admitted, turn);
  const isUnwanted = (order: OwnOrder): boolean =>
    !isWanted(order, state) &&
    mayRemove(order, state, gate) &&
    isRemovable(order, settings, turn.nowMs) &&
    whyLeft({ order, why: 'resolved' }, { ...turn, state, read }) === undefined;
  const unwanted = state.orders.filter(isUnwanted);
  if (unwanted.length === 0 || unwanted.length < state.orders.length) {
    const standing = unwanted.map((order) => ({ order, why: 'resolved' as const }));
    return {
      state: endChange(noteStanding(noted, { standing, remove: [], read }, turn)),
      step: idle('blocked'),
    };
  }
  const untilMs = state.doubt === null ? turn.nowMs : fenceEndMs(state.doubt, settings);
  if (turn.nowMs < untilMs) return { state: noted, step: { kind: 'wait', untilMs, why: 'lateArrival' } };
  if (judgeCancel(state, turn.context, turn.nowMs) === 'may') {
    return { state: noted, step: ownCancel(noted, 'resolved', []) };
  }
  return { state: noted, step: pausedBy(state, 'cancel', turn.nowMs) ?? idle('blocked') };
}

function isWanted({ role, positionId }: OwnOrder, state: LaneState): boolean {
  return role === 'cover'
    ? state.covers.some((cover) => cover.positionId === positionId)
    : state.intents.some((intent) => isOpen(intent) && intent.positionId === positionId);
}

/** Decides the step when nothing is in doubt: reads if necessary, compares, and acts on the first difference. */
function pursue(state: LaneState, admitted: Admitted, turn: Turn, market: MarketSettings): DecidedStep {
  const { settings } = turn;
  const { read } = state;
  const isUsable =
    read !== null &&
    read.sentAtMs >= state.readAfterMs &&
    turn.nowMs - read.receivedAtMs <= settings.maxSnapshotAgeMs;
  const isMissed = admitted.intents.some(
    (intent) => intent.basis === null && !isHeld(state, intent.positionId),
  );
  if (!isUsable || isMissed || read === null) return { state, step: readStep(state, turn) };
  // A record set aside in the list may be the other side of this market; a read of this market alone shows it.
  const isSideHidden =
    read.partial === 'list' &&
    mayHideSide(withHeld(read, state)) &&
    settings.hedge === 'net' &&
    admitted.intents.length + admitted.covers.length > 0;
  if (isSideHidden) return { state, step: readStep(state, turn) };
  const { gate } = turn.context;
  const verdict = judgeCancel(state, turn.context, turn.nowMs);
  const scene = { state, read, admitted, market, settings, nowMs: turn.nowMs };
  const ideal = orderSetDifference({ ...scene, mayCancel: true });
  const isNeeded = ideal.remove.some((removal) => mayCarryOut(removal, state, admitted, gate));
  // Without a cancel, missing orders are added beside the standing ones.
  const wished = isNeeded && verdict !== 'may' ? orderSetDifference({ ...scene, mayCancel: false }) : ideal;
  const { difference, refused } = withoutAddingUp(wished, state, read, turn);
  // A reduction refused because of orders of an earlier store epoch, where a cancel would clear those orders.
  const mayClear = state.priorOrdersPossible && settings.cancelCoversStops && settings.cancel !== 'never';
  const heldUp = mayClear ? refused[0] : undefined;
  const lost = heldByDoubt(state, difference.place, turn);
  const stuck = isNeeded ? ideal.remove[0]?.order : (heldUp ?? lost);
  const isCleared = refused.length > 0 || (lost !== undefined && !isNeeded);
  if (verdict === 'may' && stuck !== undefined && isCleared) {
    return { state, step: ownCancel(state, 'doubt', []) };
  }
  const room = ownCancel(state, 'noRoom', []);
  const isDue = verdict === 'may' && needsRoom(state, turn.nowMs);
  if (isDue && brakedUntilMs(state, room, settings, turn.nowMs) === undefined) return { state, step: room };
  const standIn = standInStep(state, { wants: difference.place, read, verdict }, turn, market);
  if (standIn !== undefined) return standIn;
  const goesNothing = difference.place.length === 0 || lost !== undefined;
  if (verdict === 'unproven' && stuck !== undefined && goesNothing) {
    const trial = trialStep(state, stuck, turn, market);
    if (trial !== undefined) return { state, step: trial };
  }
  const mayGo = (removal: Removal): boolean => mayCarryOut(removal, state, admitted, gate);
  const remove = difference.remove.filter(mayGo);
  // Orders that stay because of the gate are reported elsewhere.
  const due = { ...difference, remove, standing: difference.standing.filter(mayGo) };
  const noted = failPriorOrders(note(state, due, read, turn), refused, turn);
  const tightened = difference.place.find((want) => isTightening(want, state));
  if (remove.length > 0 && tightened === undefined) {
    const why = remove[0]?.why ?? 'resolved';
    const unfilled = remove.filter((one) => mayHaveBeenJumped(one, read)).map((one) => one.order.positionId);
    return { state: noted, step: ownCancel(noted, why, [...new Set(unfilled)]) };
  }
  const wants = tightened === undefined ? difference.place : [tightened];
  const placed = placeFirst(noted, wants, turn, difference);
  if (stuck === undefined || placed.step.kind !== 'idle') return placed;
  return { ...placed, step: pausedBy(state, 'cancel', turn.nowMs) ?? placed.step };
}

interface StandInScene {
  readonly wants: readonly Want[];
  readonly read: MarketRead;
  readonly verdict: CancelVerdict;
}

/**
 * Cancels the orders of the process that this one stands in for: they may still fill and are not known here. A trial
 * order far from the market must first show that orders are accepted. If they are not, or if liquidation is near, the
 * new order is added to them, which is audited.
 */
function standInStep(
  state: LaneState,
  { wants, read, verdict }: StandInScene,
  turn: Turn,
  market: MarketSettings,
): DecidedStep | undefined {
  const { settings, context } = turn;
  const mayClear = settings.cancelCoversStops && settings.cancel !== 'never';
  if (context.standsIn !== true || !state.priorOrdersPossible || !mayClear) return undefined;
  const want = wants.find(({ role, isTrimmed }) => role === 'reduce' && !isTrimmed);
  const position = want && findPosition(read, want.position.positionId);
  if (want === undefined || position === undefined || liquidationIsLikely(position)) return undefined;
  if (verdict === 'may') {
    return { state: { ...state, attempt: unusedAttempt(state) }, step: ownCancel(state, 'doubt', []) };
  }
  const trial = verdict === 'unproven' ? trialStep(state, want, turn, market) : undefined;
  return trial && { state, step: trial };
}

/** Whether an order may have triggered without filling; the next order then gets more slippage. */
function mayHaveBeenJumped({ order, why }: Removal, read: MarketRead): boolean {
  if (why === 'notFilled') return true;
  const position = findPosition(read, order.positionId);
  return why === 'inverted' && position !== undefined && isPastLimit(order, position);
}

function isTightening(want: Want, state: LaneState): boolean {
  if (want.role !== 'cover' || want.resend !== null || state.change !== null) return false;
  const own = coverOrders(state, want.position);
  return own.length > 0 && !isWidening(want.prices, own.at(-1));
}

function placeFirst(
  state: LaneState,
  wants: readonly Want[],
  turn: Turn,
  difference: SetDifference,
): DecidedStep {
  const { settings } = turn;
  const isPriced = state.read !== null && mayPrice(state.read, state, settings, turn.nowMs);
  let waiting: Step | undefined;
  for (const want of wants) {
    const kind = want.prices.inFavour === true ? 'inFavour' : want.role;
    const pause = pausedBy(state, kind, turn.nowMs);
    if (pause === undefined)
      return { state, step: isPriced ? placeStep(state, want, turn, false) : readStep(state, turn) };
    waiting ??= pause;
  }
  // A change stays open while a position is not seen: its orders are placed again once it is.
  const isUnseen = difference.blocked.some(({ why }) => why === 'positionNotSeen');
  const done = waiting === undefined && !isUnseen ? endChange(state) : state;
  const why = difference.blocked.length > 0 ? 'blocked' : 'setInPlace';
  return { state: done, step: waiting ?? idle(why) };
}

function endChange(state: LaneState): LaneState {
  return state.change === null ? state : { ...state, change: null };
}

function withWake(step: Step, state: LaneState, { settings, nowMs }: LaneScene): Step {
  if (step.kind !== 'idle') return step;
  const deadlines = state.intents.filter(isOpen).map((intent) => intent.deadlineMs);
  const followUps = state.orders.map((order) => order.sentMs + settings.fillWithinMs);
  const arrivals = state.orders.map((order) => order.arrivedByMs);
  const next = Math.min(...[...deadlines, ...followUps, ...arrivals].filter((atMs) => atMs > nowMs));
  return { ...step, wakeAtMs: Number.isFinite(next) ? next : null };
}
