import type { Recorder } from '../audit/audit-event.ts';
import type {
  Brake,
  BrakeCount,
  LaneState,
  MarketRead,
  ReadPosition,
  RequestStep,
} from '../lanes/lane-state.ts';
import { findPosition } from '../lanes/market-read.ts';
import { speedTowards } from '../orders/activation-gap.ts';
import { marketOf } from '../orders/market-steps.ts';
import { activationGap } from '../orders/order-prices.ts';
import { toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';

const WINDOW_MS = 60_000;

type SendingStep = Exclude<RequestStep, { readonly kind: 'readPositions' }>;

/** Until when a request has to wait; undefined: it may go now. */
export function brakedUntilMs(
  state: LaneState,
  step: SendingStep,
  { mostSets }: AccountSettings,
  nowMs: number,
): number | undefined {
  const { brake } = state;
  if (brake === undefined || continues(brake, step)) return undefined;
  const { setsMs, heldSinceMs } = brake[countOf(step)];
  const lastMs = setsMs.at(-1);
  if (lastMs === undefined) return undefined;
  if (heldSinceMs === null && recentOf(setsMs, nowMs).length < mostSets) return undefined;
  const untilMs = lastMs + paceMs(state);
  return nowMs < untilMs ? untilMs : undefined;
}

const NOTHING: BrakeCount = { setsMs: [], heldSinceMs: null };

/** Counts a request before it is sent. */
export function countSent(state: LaneState, step: SendingStep, nowMs: number): Brake {
  const seen = (state.read?.positions ?? []).map(({ positionId, sizeBase, markPrice, openDate }) => {
    return { positionId, sizeBase, markPrice, openDate };
  });
  const brake = state.brake ?? { orders: NOTHING, cancels: NOTHING, sent: [], seen };
  const name = countOf(step);
  // The orders behind a cancel are another set than those before it.
  if (name === 'orders' && continues(brake, step)) return { ...brake, sent: [...brake.sent, placeOf(step)] };
  const count = { ...brake[name], setsMs: [...recentOf(brake[name].setsMs, nowMs), nowMs] };
  return { ...brake, [name]: count, sent: name === 'orders' ? [placeOf(step)] : [] };
}

/** Holds such requests back, and tells people the first time. */
export function held(state: LaneState, step: SendingStep, audit: Recorder, nowMs: number): LaneState {
  const { brake } = state;
  const name = countOf(step);
  if (brake === undefined || brake[name].heldSinceMs !== null) return state;
  const what = name === 'orders' ? 'sets of orders' : 'cancels';
  audit.emit({
    kind: 'braked',
    reason: 'nothingChanges',
    words: `${brake[name].setsMs.length} ${what} within a minute changed neither a position nor the market: from now on one a minute, near liquidation one every 1 to 10 s. Look at the exchange for what stands there, and for what it answers`,
    alarm: true,
  });
  return { ...state, brake: { ...brake, [name]: { ...brake[name], heldSinceMs: nowMs } } };
}

/** Releases the brake once a read shows that something changed. */
export function eased(state: LaneState, read: MarketRead, settings: AccountSettings): LaneState {
  const { brake, ...free } = state;
  return brake === undefined || !hasChanged(brake, read, marketOf(state, settings)) ? state : free;
}

function recentOf(setsMs: readonly number[], nowMs: number): readonly number[] {
  return setsMs.filter((atMs) => nowMs - atMs < WINDOW_MS);
}

function countOf(step: SendingStep): 'orders' | 'cancels' {
  return step.kind === 'place' ? 'orders' : 'cancels';
}

/** Whether an order stands beside those of the newest set. */
function continues({ sent }: Brake, step: SendingStep): boolean {
  return step.kind === 'place' && sent.length > 0 && !sent.includes(placeOf(step));
}

/** Names the place of an order in a set. Not by the key: it changes with each episode, so it bounds nothing. */
function placeOf(step: SendingStep): string {
  if (step.kind !== 'place') return '';
  const { role, positionId, part = '', trial = false, request, coverBasis } = step.order;
  return [role, positionId, part, trial, request.inFavour === true, coverBasis?.leave ?? ''].join(' ');
}

/** A mark within the gap of an order is no change: no order is priced anew for it. */
function hasChanged(brake: Brake, read: MarketRead, market: MarketSettings | undefined): boolean {
  if (read.positions.length !== brake.seen.length) return true;
  return brake.seen.some(({ positionId, sizeBase, markPrice, openDate }) => {
    const now = findPosition(read, positionId);
    if (now === undefined || now.openDate !== openDate) return true;
    if (!toDecimal(now.sizeBase).eq(toDecimal(sizeBase))) return true;
    if (now.markPrice === null || markPrice === null) return false;
    const movedBy = toDecimal(now.markPrice).minus(toDecimal(markPrice)).abs();
    const view = { markPrice, markError: now.markError };
    return movedBy.gt(market === undefined ? ZERO : activationGap(view, market));
  });
}

const LEAST_PACE_MS = 1_000;
const MOST_PACE_MS = 10_000;
/** A set goes at least this often within the time that the market needs to the liquidation price. */
const SETS_TO_LIQUIDATION = 5;

/** The time between two sets while the lane holds back; shorter the nearer a liquidation is. */
function paceMs(state: LaneState): number {
  const paces = (state.latestRead?.positions ?? []).map((position) => {
    const leftMs = timeLeftMs(position, state) / SETS_TO_LIQUIDATION;
    if (leftMs >= WINDOW_MS && !isNear(position)) return WINDOW_MS;
    return Math.min(MOST_PACE_MS, Math.max(LEAST_PACE_MS, leftMs));
  });
  return Math.min(WINDOW_MS, ...paces);
}

/** A market that is halted stands still, and may open far away. */
const NEAR_DISTANCE = 0.1;

function isNear({ liquidationState, distance }: ReadPosition): boolean {
  const isCalled = liquidationState !== null && liquidationState !== 'none';
  return isCalled || (typeof distance === 'number' && distance < NEAR_DISTANCE);
}

function timeLeftMs({ direction, distance }: ReadPosition, state: LaneState): number {
  if (direction === null || typeof distance !== 'number') return Number.POSITIVE_INFINITY;
  const speed = speedTowards(direction, state);
  return speed === 0 ? Number.POSITIVE_INFINITY : Math.max(0, distance) / speed;
}
