import type { IdleReason } from '../audit/audit-event.ts';
import { admittedOf, type LaneContext } from '../intents/admission.ts';
import { isRacing } from '../orders/activation-gap.ts';
import { cancelAnswerMs } from '../orders/cancel-policy.ts';
import { orderTypesOf, requestOf } from '../orders/order-request.ts';
import { stopsOf } from '../orders/outstanding.ts';
import { trialOrder } from '../orders/trial-order.ts';
import type { Want } from '../orders/want.ts';
import { formatDecimal } from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import { about, type LaneScene } from './lane-change.ts';
import type { CancelStep, LaneState, MarketRead, PlaceStep, RetryKind, Step } from './lane-state.ts';
import { mayPrice, roundTripOf } from './market-read.ts';
import type { OwnOrder } from './own-order.ts';

/** Inputs for deciding a lane's next step. */
export interface Turn extends LaneScene {
  readonly context: LaneContext;
  readonly market: MarketSettings | undefined;
}

export interface DecidedStep {
  readonly state: LaneState;
  readonly step: Step;
}

/** A decided step, or null where something else decides it. */
export type MaybeStep = DecidedStep | { readonly state: LaneState; readonly step: null };

export function idle(why: IdleReason): Step {
  return { kind: 'idle', why, wakeAtMs: null };
}

/** Returns a cancel, after which the lane reads and places what is admitted now. */
export function cancelStep(
  state: LaneState,
  request: CancelStep['request'],
  why: CancelStep['why'],
  task: string | null,
  unfilled: readonly string[],
): CancelStep {
  const admitted = admittedKeys(state);
  const answerWithinMs = cancelAnswerMs(state);
  return { kind: 'cancelAll', request, why, task, admitted, unfilled, answerWithinMs };
}

/** Keys of what a change completes: reductions, and the standing stops that the cancel takes down. */
export function admittedKeys(state: LaneState): readonly string[] {
  const { intents, covers } = admittedOf(state);
  // Not matched by key: a cover's key may have changed since its order was placed.
  const stood = covers.filter(({ positionId }) => stopsOf(state, positionId).length > 0);
  return [...intents, ...stood].map(({ key }) => key);
}

export function ownCancel(state: LaneState, why: CancelStep['why'], unfilled: readonly string[]): CancelStep {
  return cancelStep(state, { market: state.market, types: orderTypesOf(state.market) }, why, null, unfilled);
}

/** Returns the pause after a refusal or a failed read, while it lasts. */
export function pausedBy(state: LaneState, kind: RetryKind, nowMs: number): Step | undefined {
  const untilMs = state.retryAtMs[kind] ?? 0;
  return nowMs < untilMs ? { kind: 'wait', untilMs, why: 'backoff' } : undefined;
}

/** Returns the step towards a read that was sent at a time or later. */
export function readStep(state: LaneState, { nowMs }: Turn, leastMs = 0): Step {
  const fromMs = Math.max(leastMs, state.readAfterMs, state.ignoreReadsBeforeMs);
  if (nowMs < fromMs) return { kind: 'wait', untilMs: fromMs, why: 'readLag' };
  return pausedBy(state, 'read', nowMs) ?? { kind: 'readPositions', market: state.market };
}

/** Returns the step that sends a wanted order. `ahead`: before the fence has passed. */
export function placeStep(state: LaneState, want: Want, turn: Turn, ahead: boolean): PlaceStep {
  const isSafe = want.isTrimmed || (want.isTrial === true && want.mayAddUp !== true);
  const why = isSafe ? undefined : whyItMayAddUp(state, want, turn, ahead);
  const isResend = want.resend !== null;
  const request = want.resend?.request ?? requestOf(state, want);
  const order: OwnOrder = {
    role: want.role,
    key: want.key,
    ruleId: want.ruleId,
    positionId: want.position.positionId,
    openDate: want.position.openDate,
    request,
    amount: want.resend?.amount ?? request.amount,
    slippage: want.slippage,
    status: 'sending',
    sentMs: turn.nowMs,
    // If this is sent again, the first request may still arrive.
    arrivedByMs: Math.max(turn.nowMs, want.resend?.arrivedByMs ?? turn.nowMs),
    placedSizeBase: want.position.sizeBase,
    baseSizeBase: want.position.sizeBase,
    seenAbove: false,
    seenBelow: false,
    activatedMs: null,
    reachedMs: null,
    presumedFilled: false,
    ambiguous: want.resend?.ambiguous === true,
    overshoot: why !== undefined,
    ...(want.isTrial === true ? { trial: true } : {}),
    ...(want.resend?.status === 'open' ? { wasOpen: true } : {}),
    ...(want.resend?.behindCancel === true ? { behindCancel: true } : {}),
    ...(want.resend?.unwantedSinceMs === undefined ? {} : { unwantedSinceMs: want.resend.unwantedSinceMs }),
    coverBasis: want.coverBasis,
    ...(want.resend?.mayHaveVanished === true ? { mayHaveVanished: true } : {}),
    ...(want.resend?.neverConfirmed === true ? { neverConfirmed: true } : {}),
  };
  if (why !== undefined) auditOvershoot(order, want, why, turn);
  const inHurry = ahead || isRacing(want.position, state, turn.settings);
  const hurry = inHurry ? { answerWithinMs: hurriedAnswerMs(state) } : {};
  return { kind: 'place', request, order, ahead, isResend, anchor: want.anchor, ...hurry };
}

const LEAST_ANSWER_MS = 1_000;
const ANSWER_ROUND_TRIPS = 3;

/** How long to wait for an answer in a hurry: a few of the usual round trips. */
function hurriedAnswerMs(state: LaneState): number {
  const { latestRead } = state;
  const usualMs = latestRead === null ? Number.POSITIVE_INFINITY : roundTripOf(state, latestRead);
  return Math.max(LEAST_ANSWER_MS, ANSWER_ROUND_TRIPS * usualMs);
}

type OvershootReason = keyof typeof OVERSHOOT_WORDS;

/** Why the order, together with others, may close more than its target; undefined if it cannot. */
function whyItMayAddUp(
  state: LaneState,
  want: Want,
  { context }: Turn,
  ahead: boolean,
): OvershootReason | undefined {
  if (ahead) return 'liquidationLikely';
  if (want.mayAddUp === true) return 'besideOthers';
  if (state.priorOrdersPossible) return 'priorOrders';
  return context.standsIn === true && want.role === 'reduce' ? 'standsIn' : undefined;
}

function auditOvershoot(order: OwnOrder, want: Want, reason: OvershootReason, turn: Turn): void {
  const isQuestion = reason === 'besideOthers' && want.resend !== null;
  turn.audit.emit({
    kind: 'overshoot',
    ...about(order),
    reason,
    words: isQuestion
      ? 'a question: should the order have filled since the last read, and its id be free again, it is taken twice'
      : `${OVERSHOOT_WORDS[reason]}: over-reduction is better than liquidation`,
    alarm: reason === 'liquidationLikely',
    order: order.request,
    targetBase: formatDecimal(want.targetBase),
  });
}

const OVERSHOOT_WORDS = {
  liquidationLikely:
    'sent although an earlier order, of which nobody knows whether it arrived, may fill as well',
  besideOthers: 'sent beside orders that should go and cannot be cancelled now, which may fill as well',
  priorOrders:
    'what stood in this market before this store began is not known; should an order of ours of that time still stand, both may fill',
  standsIn:
    'sent in place of another process, of which nothing is known without Redis: should that one act as well, both may fill',
} as const;

export function isFresh(read: MarketRead, state: LaneState, { settings, nowMs }: LaneScene): boolean {
  return nowMs - read.receivedAtMs <= settings.maxSnapshotAgeMs && mayPrice(read, state, settings, nowMs);
}

/** Returns a step towards a trial order, which shows before a cancel whether orders can be placed again. */
export function trialStep(
  state: LaneState,
  about: Pick<OwnOrder, 'key' | 'ruleId'> | undefined,
  turn: Turn,
  market: MarketSettings,
): Step | undefined {
  const { nowMs, settings } = turn;
  const { latestRead: read } = state;
  const isPaused =
    pausedBy(state, 'cancel', nowMs) !== undefined || pausedBy(state, 'cover', nowMs) !== undefined;
  // Where cancels do not reach stops, neither the trial nor the order that it serves could be removed.
  if (about === undefined || isPaused || !settings.cancelCoversStops) return undefined;
  if (read === null || read.sentAtMs < state.readAfterMs || !isFresh(read, state, turn)) {
    return pausedBy(state, 'read', nowMs) === undefined && nowMs >= state.readAfterMs
      ? { kind: 'readPositions', market: state.market }
      : undefined;
  }
  const want = trialOrder({ state, read, market, settings, nowMs }, about);
  return want && placeStep(state, want, turn, false);
}
