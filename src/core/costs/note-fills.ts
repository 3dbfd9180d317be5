import { explainsClosure, standingStopFor } from '../lanes/absence.ts';
import type { LaneScene } from '../lanes/lane-change.ts';
import type { LaneState, ReadPosition } from '../lanes/lane-state.ts';
import { findPosition, isEndangered } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import { marketOf } from '../orders/market-steps.ts';
import {
  averageClosePrice,
  isSentFor,
  isWithinLimit,
  mayHaveFilled,
  offsetFromActivation,
} from '../orders/outstanding.ts';
import { type Decimal, formatDecimal, minDecimal, toDecimal, toNumber, ZERO } from '../quantities/decimal.ts';
import { moneyOf } from '../quantities/units.ts';
import type { FillPrice, RecentCost } from './action-cost.ts';
import { costWords } from './cost-words.ts';

/** Beyond it the oldest are dropped and keep their last record. */
const MOST_RECENT = 20;

/**
 * Prices our fills from two consecutive reads: a position fell while our orders stood. A position that is gone without
 * an explanation was closed by others.
 */
export function noteFills(before: LaneState, after: LaneState, scene: LaneScene): LaneState {
  if (after.read === null || after.read === before.read) return after;
  const fallen = [...(before.read?.positions ?? []), ...heldIn(before)];
  const added = fallen.flatMap((position) => costsOf(position, before, after, scene));
  if (added.length === 0) return after;
  for (const { cost, positionId, key, ruleId } of added) {
    const words = costWords(cost);
    scene.audit.emit({ kind: 'priced', reason: 'filled', key, ruleId, positionId, words, cost });
  }
  return { ...after, costs: [...(after.costs ?? []), ...added].slice(-MOST_RECENT) };
}

/** Absent positions, as last seen; those that are still held are skipped. */
function heldIn({ absent = [] }: LaneState): readonly ReadPosition[] {
  return absent.flatMap(({ last, phase }) => (last !== null && phase === 'held' ? [last] : []));
}

function costsOf(
  position: ReadPosition,
  before: LaneState,
  after: LaneState,
  scene: LaneScene,
): readonly RecentCost[] {
  const { positionId, direction } = position;
  const now = after.read?.positions.find((other) => other.positionId === positionId);
  const isHeld =
    now === undefined &&
    after.absent?.some((absence) => absence.positionId === positionId && absence.phase === 'held') === true;
  if (direction === null || isHeld) return [];
  const fall = toDecimal(position.sizeBase).minus(now === undefined ? ZERO : toDecimal(now.sizeBase));
  if (fall.lte(ZERO)) return [];
  const shares = sharesOf(fall, ordersOf(position, now, before, scene));
  const total = shares.reduce((sum, { amount }) => sum.plus(amount), ZERO);
  noteOthers([position, now], fall.minus(total), before, scene);
  // The average price is ours only if nobody else closed a part.
  // Fills of the exchange's own liquidation may look like ours.
  const isPriced = total.eq(fall) && now?.liquidationState !== 'liquidation';
  const price = isPriced ? averageClosePrice(position, now) : undefined;
  const fill: FillPrice | null = price === undefined ? null : { price, from: 'realizedPnl' };
  const { settings } = scene;
  const missingSinceMs = before.absent?.find((absence) => absence.positionId === positionId)?.sinceMs;
  const rate = settings.marketSettings(before.market)?.takerFee;
  return shares.map(({ order, amount }) => ({
    positionId,
    key: order.key,
    ruleId: order.ruleId,
    closed: now === undefined,
    cost: {
      id: `${order.request.clientOrderId}@${after.read?.sentAtMs ?? scene.nowMs}`,
      clientOrderId: order.request.clientOrderId,
      role: order.role,
      direction,
      amountBase: formatDecimal(amount),
      money: moneyOf(before.market, settings),
      filledMs: missingSinceMs ?? after.read?.receivedAtMs ?? scene.nowMs,
      decidedPrice: order.role === 'cover' ? order.request.activationPrice : (order.decidedPrice ?? null),
      limitPrice: order.request.price,
      fill,
      fee: rate === undefined ? null : { from: 'config', rate },
      liquidationPrice: position.liquidationPrice === 'none' ? null : position.liquidationPrice,
    },
  }));
}

const WORDS = {
  liquidated: 'probably liquidated by the exchange, not by an order of Breakwater',
  nobodyKnown: 'by a standing stop of Breakwater, or by somebody else: no reply tells',
  somebodyElse: 'by somebody else: no order of Breakwater explains it',
};

/** Says who closed what none of our orders explains: a position that is gone, or any part from the margin call on. */
function noteOthers(
  [position, now]: readonly [ReadPosition, ReadPosition | undefined],
  amount: Decimal,
  before: LaneState,
  { audit }: LaneScene,
): void {
  const isCalled = isEndangered(position) || (now !== undefined && isEndangered(now));
  if (amount.lte(ZERO) || (now !== undefined && !isCalled)) return;
  const { positionId, sizeBase } = position;
  const stop = standingStopFor(before, position);
  const reason = isCalled ? 'liquidated' : stop === undefined ? 'somebodyElse' : 'nobodyKnown';
  const words = `closed ${formatDecimal(amount)} of ${sizeBase}: ${WORDS[reason]}`;
  audit.emit({
    kind: 'closedByOthers',
    positionId,
    ...(stop && { key: stop.key, ruleId: stop.ruleId }),
    reason,
    words,
    alarm: isCalled,
    sizeBase: formatDecimal(amount),
  });
}

/** Orders that have certainly filled; else those that may have, nearest to the market first. */
function ordersOf(
  position: ReadPosition,
  now: ReadPosition | undefined,
  state: LaneState,
  { audit, settings }: LaneScene,
): readonly OwnOrder[] {
  const filled = new Set(
    audit.events.flatMap(({ kind, order }) => (kind === 'filled' && order ? [order.clientOrderId] : [])),
  );
  const own = [...state.orders, ...(state.ended ?? [])].filter(
    (order) =>
      order.positionId === position.positionId &&
      order.trial !== true &&
      !order.presumedFilled &&
      isSentFor(order, position),
  );
  const proven = own.filter(({ request }) => filled.has(request.clientOrderId));
  if (proven.length > 0) return proven;
  const { positionId } = position;
  const isLongGone = findPosition(state.read, positionId) === undefined;
  if (isLongGone && !explainsClosure(state, positionId, settings)) return [];
  const terms = marketOf(state, settings);
  const price = averageClosePrice(position, now);
  // The owner may trade too: a stop that the market never reached has closed nothing.
  const possible = own.filter(
    (order) =>
      isWithinLimit(order, price) &&
      ((now === undefined && order.role === 'reduce' && position.liquidationState !== 'liquidation') ||
        mayHaveFilled(order, position, terms) ||
        mayHaveFilled(order, now, terms)),
  );
  const nearness = (order: OwnOrder): number => {
    const offset = offsetFromActivation(order, position);
    if (offset !== undefined) return toNumber(offset);
    return (order.request.side === 'sell' ? -1 : 1) * Number(order.request.activationPrice);
  };
  return possible.toSorted((a, b) => nearness(a) - nearness(b));
}

function sharesOf(
  fall: Decimal,
  orders: readonly OwnOrder[],
): readonly { readonly order: OwnOrder; readonly amount: Decimal }[] {
  const shares: { readonly order: OwnOrder; readonly amount: Decimal }[] = [];
  let left = fall;
  for (const order of orders) {
    const amount = minDecimal(left, toDecimal(order.amount));
    if (amount.lte(ZERO)) continue;
    shares.push({ order, amount });
    left = left.minus(amount);
  }
  return shares;
}

/** Adds the mark at which the rule fired, because the rule may have resolved by the time the order fills. */
export function withDecision(order: OwnOrder, { intents }: LaneState): OwnOrder {
  const markPrice = intents.find(({ key }) => key === order.key)?.basis?.markPrice;
  return order.role === 'cover' || markPrice === undefined || markPrice === null
    ? order
    : { ...order, decidedPrice: markPrice };
}
