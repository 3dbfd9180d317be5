import { withoutSent } from '../intents/brake.ts';
import { taughtByPrice } from '../orders/activation-gap.ts';
import { suspectStops, trustStops } from '../orders/after-outage.ts';
import { isKnownById } from '../orders/cancel-policy.ts';
import { learn, lessonOf, refusedQuestion, unlearn, wasNeverTaken } from '../orders/market-steps.ts';
import { isHedged } from '../orders/net-exposure.ts';
import { afterFill, standsAlready } from '../orders/outstanding.ts';
import { classifyRejection, isAlarming, isPassing, retryPauseMs } from '../orders/rejection.ts';
import type { CommandOutcome, ExchangeError, PlacedOrder } from '../ports/exchange.ts';
import { toDecimal } from '../quantities/decimal.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { withLeft } from './absence.ts';
import { actedOnByAnother, changeOrder, isSameId, mayHideOrders, unsure, unusedAttempt } from './doubtful.ts';
import { about, type LaneScene } from './lane-change.ts';
import type { LaneState, PlaceStep, RetryKind } from './lane-state.ts';
import { roundTripOf } from './market-read.ts';
import type { OwnOrder, RefusedQuestion } from './own-order.ts';

export function aboutOrder(order: OwnOrder) {
  return { ...about(order), order: order.request };
}

/** Pauses requests of this kind, longer with each refusal in a row. */
export function delay(state: LaneState, kind: RetryKind, nowMs: number, error?: ExchangeError): LaneState {
  const refusals = state.refusals + 1;
  const untilMs = nowMs + retryPauseMs(state.refusals, error);
  return { ...state, refusals, retryAtMs: { ...state.retryAtMs, [kind]: untilMs } };
}

/** Pauses from the second unanswered request on; after the first, a pause only loses time. */
function delayRepeated(state: LaneState, kind: RetryKind, nowMs: number): LaneState {
  return state.refusals === 0 ? { ...state, refusals: 1 } : delay(state, kind, nowMs);
}

/** Applies the outcome of an order. */
export function finishPlace(
  state: LaneState,
  step: PlaceStep,
  outcome: CommandOutcome<PlacedOrder>,
  scene: LaneScene,
): LaneState {
  if (outcome.kind === 'accepted') return accepted(state, step, outcome.value, scene);
  const { error } = outcome;
  if (outcome.kind === 'rejected' && error.effect === 'none') return rejected(state, step, error, scene);
  const { order } = step;
  const { nowMs, audit } = scene;
  const unknown = { kind: 'unknown', reason: error.name, words: error.message } as const;
  audit.emit({ ...aboutOrder(order), ...unknown, alarm: state.refusals > 0 });
  const delayed = delayRepeated({ ...state, orderRefusedMs: nowMs }, retryKindOf(order), nowMs);
  return unsure(forgetAhead(delayed, order.positionId), order, 'unknownOutcome', scene);
}

/** A trial serves a cancel, so its refusal delays no order. */
function retryKindOf({ trial, role, request }: OwnOrder): RetryKind {
  if (request.inFavour === true) return 'inFavour';
  return trial === true ? 'cancel' : role;
}

/** Forgets an order that was never accepted, and does not count it as sent. */
export function withoutOrder(state: LaneState, order: OwnOrder): LaneState {
  const orders = state.orders.filter((other) => !isSameId(other, order));
  return withoutSent(
    { ...state, orders },
    ({ clientOrderId }) => clientOrderId === order.request.clientOrderId,
  );
}

function accepted(state: LaneState, step: PlaceStep, placed: PlacedOrder, scene: LaneScene): LaneState {
  const { settings, nowMs, audit } = scene;
  const { order } = step;
  const status = placed.status.known ? placed.status.value : 'NEW';
  const seenFromMs = nowMs + settings.readLagMs;
  if (status === 'CANCELLED') {
    const words = 'cancelled at creation';
    audit.emit({ ...aboutOrder(order), kind: 'rejected', reason: 'cancelledAtCreation', words, alarm: true });
    const failed = countFailures(withoutOrder({ ...state, orderRefusedMs: nowMs }, order), order);
    const delayed = delay(failed, retryKindOf(order), nowMs);
    return { ...delayed, readAfterMs: seenFromMs, ignoreReadsBeforeMs: seenFromMs };
  }
  const { adjustedFrom } = placed;
  if (adjustedFrom !== undefined && !toDecimal(adjustedFrom).eq(toDecimal(placed.amount))) {
    const words = `asked for ${adjustedFrom}, accepted for ${placed.amount}`;
    audit.emit({ ...aboutOrder(order), kind: 'adjusted', reason: 'trimmed', words });
  }
  const isNews = !placed.clientOrderIdEchoed && isKnownById(order, state);
  audit.emit({
    ...aboutOrder(order),
    kind: 'accepted',
    reason: status,
    words: `order ${placed.orderId}${isNews ? UNECHOED_WORDS : ''}`,
    alarm: isNews,
  });
  const { roomTaken: wasTaken, ...roomy } = state;
  const stillTaken = order.role === 'reduce' && !step.isResend ? undefined : wasTaken;
  const taken = {
    ...roomy,
    ...(stillTaken !== undefined && { roomTaken: stillTaken }),
    refusals: 0,
    orderAcceptedMs: nowMs,
    ...(placed.clientOrderIdEchoed ? {} : { unechoedMs: nowMs }),
    ignoreReadsBeforeMs: seenFromMs,
  };
  const base = step.isResend ? withoutDoubtOf(taken, order) : taken;
  const amount = adjustedFrom === undefined ? order.amount : placed.amount;
  if (status === 'FILLED') {
    const rest = withLeft(base, withoutOrder(base, order).orders);
    return { ...rest, orders: afterFill(rest.orders, order, toDecimal(amount)), readAfterMs: seenFromMs };
  }
  const arrivedOrder = changeOrder(base, order, (known) => ({
    ...arrived(known, state, scene),
    amount,
    ambiguous: false,
    mayHaveVanished: false,
  }));
  // A partial fill or a trimmed amount shows that the position is not as it was read: read before going on.
  const isTrimmed = adjustedFrom !== undefined && !toDecimal(adjustedFrom).eq(toDecimal(amount));
  const hasMoved = status === 'PARTIALLY_FILLED' || isTrimmed;
  return { ...arrivedOrder, readAfterMs: hasMoved ? seenFromMs : base.readAfterMs };
}

const UNECHOED_WORDS =
  '; the exchange did not repeat our id for it, so orders in doubt are not asked for by their ids: see exchange.dialect';

/**
 * Marks an accepted order as open, or as unsure while an unanswered cancel may still arrive. With increasing nonces
 * that cancel is refused after this order.
 */
function arrived(
  order: OwnOrder,
  { cancelPendingUntilMs = 0 }: LaneState,
  { settings, nowMs }: LaneScene,
): OwnOrder {
  const { behindCancel: _, wasOpen: __, neverConfirmed: ___, ...known } = order;
  const arrivedByMs = Math.max(nowMs, known.arrivedByMs);
  const isCertain = nowMs >= cancelPendingUntilMs || settings.nonceMode === 'increasing';
  if (isCertain) return { ...known, status: 'open', arrivedByMs };
  return { ...known, status: 'unsure', arrivedByMs: cancelPendingUntilMs, behindCancel: true };
}

/** Ends the doubt once its order is known to stand, unless another order is in doubt too or some may be hidden. */
function withoutDoubtOf(state: LaneState, order: OwnOrder): LaneState {
  if (state.doubt === null || mayHideOrders(state.doubt)) return state;
  const isOther = (other: OwnOrder): boolean => other.status !== 'open' && !isSameId(other, order);
  return state.orders.some(isOther) ? state : { ...state, doubt: null };
}

function rejected(state: LaneState, step: PlaceStep, error: ExchangeError, scene: LaneScene): LaneState {
  const { settings, nowMs, audit } = scene;
  const { order } = step;
  const reason = classifyRejection(error);
  const isSecond = order.request.inFavour === true;
  // A question whose own terms are refused is answered: the order never stood.
  const isAnswered = step.isResend && !mayHaveStood(order) && wasNeverTaken(reason, { error, order }, state);
  const asksAgain = step.isResend && !isAnswered;
  const retry = asksAgain || isSecond ? undefined : lessonOf(reason, { error, order }, state, settings);
  const passing = isPassing(reason);
  const isUrgent = isAlarming(reason, state.refusals);
  const isExpected =
    isSecond || !isUrgent || reason === 'side' || (reason === 'duplicateId' && step.isResend);
  const aside = isSecond ? 'the stop on the other side of the market stays' : retry?.words;
  const said =
    reason === 'duplicateId' && step.isResend
      ? (step.byAnother === true ? 'another instance sent it: ' : '') + duplicateWords(order, error)
      : aside === undefined
        ? error.message
        : `${error.message} (${aside})`;
  audit.emit({ ...aboutOrder(order), kind: 'rejected', reason, words: said, alarm: !isExpected });
  if (reason === 'duplicateId') {
    // The exchange judges orders, and it accepted this one before.
    const judged = { ...state, orderAcceptedMs: nowMs };
    const known = step.byAnother === true ? actedOnByAnother(judged, order) : judged;
    if (step.isResend) return resentIsThere(withoutDoubtOf(known, order), order);
    // Somebody with our identity used the id: this store was rolled back or copied. It may be gone again.
    // A stop for everything gets another one beside it.
    const isWhole = order.role === 'cover' && state.read !== null && !isHedged(state.read);
    const gone = isWhole ? { mayHaveVanished: true } : { behindCancel: true };
    const taken = changeOrder(state, order, (known) => ({ ...known, ...gone }));
    const skipped = { ...countFailures(taken, order), attempt: unusedAttempt(state) };
    return unsure(skipped, order, 'duplicateUnexpected', scene);
  }
  const ended = isAnswered ? withoutDoubtOf(state, order) : state;
  const kept = asksAgain
    ? markUnsure(state, order, refusedQuestion(reason, { error, order }, state, nowMs))
    : withoutOrder(ended, order);
  if (reason === 'side') return sideRefused(kept, order, settings, nowMs);
  if (isSecond && !passing) return withoutSecond(kept, nowMs);
  const ahead = step.ahead ? forgetAhead(kept, order.positionId) : kept;
  const unsent = { ...ahead, ...(reason === 'noRoom' ? roomTaken(order, nowMs) : { orderRefusedMs: nowMs }) };
  // The market may also have passed the price, so the next price is taken from a new read. A question is about an old
  // price, and teaches nothing.
  const isGivenUp = retry === undefined;
  const taught = asksAgain ? unsent : taughtByPrice(unsent, order, { reason, isGivenUp }, settings);
  if (retry !== undefined) {
    // Nothing was placed, and the wider gap covers the move: a slow read would only let the market run on.
    const isReread = reason !== 'activationPassed' || !readsSlowly(state);
    return { ...learn(taught, retry.learned), readAfterMs: isReread ? nowMs : state.readAfterMs };
  }
  const known = reason === 'marketClosed' ? suspectStops(unsent, reason, audit) : unsent;
  const failed =
    passing || order.trial === true
      ? known
      : unlearn(countFailures(dropAdmitted(taught, order.key), order), reason);
  const kind = retryKindOf(order);
  const delayed = delay(failed, kind, nowMs, error);
  if (!asksAgain) return delayed;
  // What asks before a cancel whether orders are accepted waits as well.
  const { retryAtMs } = delayed;
  return {
    ...delayed,
    retryAtMs: { ...retryAtMs, cancel: Math.max(retryAtMs.cancel, retryAtMs[kind] ?? 0) },
  };
}

/** Whether an order was accepted once, as far as anybody knows: what is refused now was not refused then. */
const mayHaveStood = ({ neverConfirmed, request, ...order }: OwnOrder): boolean =>
  order.wasOpen === true ||
  request.inFavour === true ||
  (neverConfirmed !== true && (order.behindCancel === true || order.mayHaveVanished === true));

const SLOW_READ_MS = 1_000;

const readsSlowly = (state: LaneState): boolean =>
  state.read !== null && roundTripOf(state, state.read) > SLOW_READ_MS;

/** Explains the refusal of a duplicate: the exchange refuses it because the order was accepted before. */
function duplicateWords({ behindCancel, mayHaveVanished }: OwnOrder, { message }: ExchangeError): string {
  const answer =
    behindCancel === true || mayHaveVanished === true
      ? 'its id is taken, so it was accepted; whether it was taken down since, this does not tell'
      : 'it was accepted and counts as standing, as its id is taken';
  return `${answer} (${message})`;
}

const SECOND_PAUSE_MS = 10_000;

/**
 * Handles the refusal of the second stop. The exchange may accept activations on one side of the market only, so this
 * says nothing about the other stop. It may also refuse all orders, so nothing proves that orders can be placed again
 * after a cancel.
 */
function withoutSecond(state: LaneState, nowMs: number): LaneState {
  const retryAtMs = { ...state.retryAtMs, inFavour: nowMs + SECOND_PAUSE_MS };
  return { ...state, retryAtMs, orderRefusedMs: nowMs };
}

/** Lets a refused order be tried again ahead of the fence. */
function forgetAhead(state: LaneState, positionId: string): LaneState {
  if (state.doubt === null) return state;
  const sentAhead = state.doubt.sentAhead.filter((other) => other !== positionId);
  return { ...state, doubt: { ...state.doubt, sentAhead } };
}

function markUnsure(state: LaneState, order: OwnOrder, refused: RefusedQuestion | undefined): LaneState {
  return changeOrder(state, order, ({ wasOpen = false, ...known }) => ({
    ...known,
    status: wasOpen ? 'open' : 'unsure',
    ...(refused && { refusedQuestion: refused }),
  }));
}

/**
 * Marks a refused duplicate as open: it was accepted once. If an unanswered cancel may have taken it down since, it is
 * also ambiguous, and so gets replaced.
 */
function resentIsThere(state: LaneState, order: OwnOrder): LaneState {
  return changeOrder(state, order, (resent) => {
    const { behindCancel = false, wasOpen: _, neverConfirmed: __, ...known } = resent;
    return { ...known, status: 'open', ambiguous: known.ambiguous || behindCancel };
  });
}

/**
 * Handles error 116: the position is gone, at its target, or on the other side; the next read decides. Beside our other
 * orders there may be no room instead.
 */
function sideRefused(state: LaneState, order: OwnOrder, settings: AccountSettings, nowMs: number): LaneState {
  const readAfterMs = nowMs + settings.readLagMs;
  const isCrowded = state.orders.some(
    (other) => other.positionId === order.positionId && other.openDate === order.openDate,
  );
  if (isCrowded || order.trial === true) {
    const isNews = order.trial === true || order.role === 'reduce' ? isCrowded : standsAlready(state, order);
    const trusted = order.role === 'cover' ? trustStops(dropAdmitted(state, order.key)) : state;
    const delayed = delay(trusted, retryKindOf(order), nowMs);
    const taken = isNews ? roomTaken(order, nowMs) : {};
    return { ...delayed, ...taken, readAfterMs, ignoreReadsBeforeMs: readAfterMs };
  }
  const intents = state.intents.map((intent) =>
    intent.positionId === order.positionId && intent.end === null && intent.refusedBy === null
      ? { ...intent, sideRefused: true }
      : intent,
  );
  const dropped = dropAdmitted(state, order.key);
  const paused = delay(order.role === 'cover' ? trustStops(dropped) : dropped, retryKindOf(order), nowMs);
  // If the position is still there, orders of its owner may take the room.
  const taken = order.role === 'reduce' ? roomTaken(order, nowMs) : {};
  return { ...paused, ...taken, intents, readAfterMs, ignoreReadsBeforeMs: readAfterMs };
}

function roomTaken({ role, trial, positionId }: OwnOrder, nowMs: number): Partial<LaneState> {
  if (role === 'cover' && trial !== true) return { coverRoomTakenMs: nowMs };
  return { roomTaken: { atMs: nowMs, positionId } };
}

function dropAdmitted(state: LaneState, key: string): LaneState {
  if (state.change === null) return state;
  const admitted = state.change.admitted.filter((other) => other !== key);
  return { ...state, change: { ...state.change, admitted } };
}

function countFailures(state: LaneState, { role, positionId, request }: OwnOrder): LaneState {
  if (role === 'cover' || request.inFavour === true) return state;
  const intents = state.intents.map((intent) =>
    intent.end === null && intent.refusedBy === null && intent.positionId === positionId
      ? { ...intent, failures: intent.failures + 1 }
      : intent,
  );
  return { ...state, intents };
}
