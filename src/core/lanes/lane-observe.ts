import { noteFills } from '../costs/note-fills.ts';
import { eased, withoutClosed, withoutSent } from '../intents/brake.ts';
import { coverIntent, isOpen, type LaneRequest, reconcileRequests } from '../intents/intent.ts';
import { learnMaintenance } from '../intents/learn-maintenance.ts';
import { learnMargins } from '../intents/own-margin.ts';
import { settleIntents } from '../intents/settle-intents.ts';
import {
  asLearned,
  asLearnedInFavour,
  grownBasis,
  grownInFavour,
  inRange,
  isInverted,
  isPastLimit,
} from '../orders/activation-gap.ts';
import { isAfterOutage, suspectStops } from '../orders/after-outage.ts';
import { leftBy } from '../orders/ladder.ts';
import { learn, marketOf } from '../orders/market-steps.ts';
import { activationGap } from '../orders/order-prices.ts';
import { absorbRead, isSentFor, isWellPast, offsetFromActivation } from '../orders/outstanding.ts';
import { withMarks } from '../orders/way-to-liquidation.ts';
import { type DecimalString, formatDecimal, toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import {
  explainsClosure,
  isHeld,
  isPresumedClosed,
  isUncertain,
  judgeAbsences,
  withHeld,
} from './absence.ts';
import { noteContests } from './contest.ts';
import { withoutOldDoubt } from './doubtful.ts';
import { changeLane, type LaneChange, type LaneScene } from './lane-change.ts';
import type { Absence, CoverAnchor, Intent, LaneState, MarketRead, ReadPosition } from './lane-state.ts';
import { findPosition, isSameHolding, marketRead, type ReadObservation } from './market-read.ts';
import type { OwnOrder } from './own-order.ts';

/** Applies what rules ask of this market at one poll. `conclusive`: an action missing from `requests` has ended. */
export function observeRequests(
  state: LaneState,
  requests: readonly LaneRequest[],
  conclusive: boolean,
  settings: AccountSettings,
  nowMs: number,
): LaneChange {
  return changeLane(state, settings, nowMs, (scene) => {
    const asked = reconcileRequests(state, requests, conclusive, scene);
    const isAsked = new Set(asked.intents.map(({ positionId }) => positionId));
    return settleIntents(
      withoutSent(asked, ({ positionId }) => !isAsked.has(positionId)),
      false,
      scene,
    );
  });
}

/**
 * Absorbs a read. An incomplete read says nothing about positions that it lacks. A read is not used for sizing if it
 * overlaps a request, was sent before the effects of the last request must show, or is older than a known one.
 */
export function observeRead(
  state: LaneState,
  observation: ReadObservation,
  settings: AccountSettings,
  nowMs: number,
): LaneChange {
  return changeLane(state, settings, nowMs, (scene) => {
    const { audit } = scene;
    const read = marketRead(observation, state.market);
    const seen = withPrices(state, read, observation);
    const known = isAfterOutage(state.latestRead, read, settings)
      ? suspectStops(seen, 'outage', audit)
      : seen;
    const noted = isNewer(read, state.latestRead)
      ? { ...eased(known, read, settings), latestRead: read }
      : known;
    const reason = ignoreReason(noted, read, settings);
    if (reason !== undefined) {
      audit.emit({ kind: 'readIgnored', reason, words: `read of ${read.sentAtMs} not used for sizing` });
      // It still tells that the pool is nearer than a position alone: no stop is placed far beyond the joint price.
      const jointLimits = jointLimitsOf(noted, { ...read, partial: 'list' });
      return noted === known || jointLimits.length === 0 ? noted : { ...noted, jointLimits };
    }
    const certain = withoutOldDoubt(comparedWith(noted, read, scene), read, scene);
    const absent = judgeAbsences(certain, read, observation, scene);
    const absorbed = absorb(withAbsent(withoutClosed(certain, read), absent), read, scene);
    return noteFills(state, absorbed, scene);
  });
}

function withAbsent(state: LaneState, absent: readonly Absence[]): LaneState {
  const { absent: _, ended: before = [], ...rest } = state;
  const isHeld = ({ positionId }: OwnOrder): boolean =>
    absent.some((absence) => absence.positionId === positionId && absence.phase === 'held');
  const ended = before.filter(isHeld);
  return {
    ...rest,
    ...(absent.length > 0 && { absent }),
    ...(ended.length > 0 && { ended }),
  };
}

function comparedWith(state: LaneState, read: MarketRead, scene: LaneScene): LaneState {
  const { contests: _, margins: __, jointLimits: ___, ...rest } = state;
  const contests = noteContests(state, read, scene.audit);
  const margins = learnMargins(state, read, scene);
  const jointLimits = jointLimitsOf(state, read);
  const maintenance = learnMaintenance(state, read, scene);
  return {
    ...(maintenance === undefined ? rest : learn(rest, { maintenance })),
    ...(contests.length === 0 ? {} : { contests }),
    ...(margins.length === 0 ? {} : { margins }),
    ...(jointLimits.length === 0 ? {} : { jointLimits }),
  };
}

/**
 * How long a limit from a list stays valid. A read of this market alone does not show the others, and a list without
 * the limit may lack one of them: for so long it does not prove that the pool is safer.
 */
const JOINT_LIMIT_MS = 60_000;

function jointLimitsOf(
  { jointLimits = [] }: LaneState,
  { positions, partial, sentAtMs }: MarketRead,
): NonNullable<LaneState['jointLimits']> {
  return positions.flatMap(({ positionId, direction, jointLiquidationPrice: liquidationPrice }) => {
    const known = jointLimits.find(
      (limit) => limit.positionId === positionId && sentAtMs - limit.atMs <= JOINT_LIMIT_MS,
    );
    if (liquidationPrice === undefined) return known ?? [];
    // A partial list makes the pool look safer than it is.
    const isNearer =
      known !== undefined &&
      Number(known.liquidationPrice) > Number(liquidationPrice) === (direction === 'long');
    if (isNearer && partial !== undefined) return known;
    return { positionId, liquidationPrice, atMs: sentAtMs };
  });
}

function withPrices(state: LaneState, read: MarketRead, observation: ReadObservation): LaneState {
  const { sentBeforeMs = 0, prices = {} } = observation.lastPrices ?? {};
  const [atMs, price] = [read.sentAtMs - sentBeforeMs, Number(prices[state.market] ?? 0)];
  const seen = withMarks(state, read, observation);
  return price > 0 && atMs >= (state.lastPrice?.atMs ?? atMs)
    ? { ...seen, lastPrice: { atMs, price } }
    : seen;
}

function isNewer(read: MarketRead, than: MarketRead | null): boolean {
  return than === null || read.sentAtMs > than.sentAtMs;
}

function ignoreReason(
  state: LaneState,
  read: MarketRead,
  settings: AccountSettings,
): 'underWay' | 'tooEarly' | 'older' | 'staleGrowth' | 'stalePosition' | undefined {
  const { inProgress } = state;
  if (inProgress !== null && inProgress.step.kind !== 'readPositions') return 'underWay';
  if (read.sentAtMs < state.ignoreReadsBeforeMs) return 'tooEarly';
  if (!isNewer(read, state.read)) return 'older';
  if (state.read === null || read.sentAtMs >= state.read.receivedAtMs + settings.readLagMs) return undefined;
  if (showsEarlierPosition(read, state.read)) return 'stalePosition';
  return hasGrown(read, state.read, state, settings) ? 'staleGrowth' : undefined;
}

/**
 * Whether a read may show a position that was there before: its open date is not newer. Ignored reads do not move the
 * bound, so a real change is accepted once the bound has passed.
 */
function showsEarlierPosition(read: MarketRead, before: MarketRead | null): boolean {
  return read.positions.some((position) => {
    const known = findPosition(before, position.positionId);
    if (known === undefined || isSameHolding(known, position)) return false;
    const isNewer =
      known.openDate !== null && position.openDate !== null && position.openDate > known.openDate;
    return !isNewer;
  });
}

/**
 * Whether a position grew: stale reads keep the smaller size. A position missing from the list keeps its last seen size,
 * unless the list is complete and an order of ours may have closed it.
 */
function hasGrown(
  read: MarketRead,
  before: MarketRead,
  state: LaneState,
  settings: AccountSettings,
): boolean {
  const known = withHeld(before, state);
  return read.positions.some(({ positionId, sizeBase }) => {
    const mayBeClosed = isPresumedClosed(state, positionId) && explainsClosure(state, positionId, settings);
    const isLeftOut = isHeld(state, positionId) && !mayBeClosed;
    const earlier = findPosition(isLeftOut ? known : before, positionId);
    if (earlier === undefined) return !isLeftOut;
    return toDecimal(sizeBase).gt(toDecimal(earlier.sizeBase));
  });
}

function absorb(state: LaneState, read: MarketRead, scene: LaneScene): LaneState {
  const { settings, audit } = scene;
  const market = marketOf(state, settings);
  const learned = market && asLearned(market, state);
  const isAbsent = (positionId: string): boolean => isUncertain(state, positionId);
  const absorbed = absorbRead(state.orders, read, {
    settings,
    market: learned,
    isAbsent,
    before: state.read,
  });
  for (const order of absorbed.filled) {
    const words = `${order.amount} filled`;
    audit.emit({ ...aboutOrder(order), kind: 'filled', reason: 'positionMoved', words });
  }
  for (const order of absorbed.ambiguous) {
    // A position that is gone is reported elsewhere, and its orders are cancelled.
    if (findPosition(read, order.positionId) === undefined) continue;
    const words = 'the position fell by something else than the amount of our orders';
    audit.emit({ ...aboutOrder(order), kind: 'ambiguousMove', reason: 'positionMoved', words });
  }
  const noted = noteInversions({ ...state, read, orders: absorbed.orders }, read, settings);
  const inverted = noted.orders.filter((order) => order.inverted === true);
  const moved = withoutSent(noted, ({ clientOrderId }) =>
    inverted.some(({ request }) => request.clientOrderId === clientOrderId),
  );
  const released = releaseLadders(forgetAnchors(moved, read), read);
  const triggered = triggerCovers(released, read, absorbed.filled, scene);
  return settleIntents(triggered, true, scene);
}

/** Marks orders that came too late: each is replaced at once, and its replacement gets a larger gap. */
function noteInversions(state: LaneState, read: MarketRead, settings: AccountSettings): LaneState {
  const market = marketOf(state, settings);
  if (market === undefined) return state;
  const isSecond = ({ request }: OwnOrder): boolean => request.inFavour === true;
  const learned = asLearned(market, state);
  const orders = state.orders.map((order) => {
    const isAfterArrival = read.sentAtMs - settings.readLagMs >= order.arrivedByMs;
    const position = findPosition(read, order.positionId);
    if (position === undefined || order.presumedFilled || !isAfterArrival) return order;
    const range = inRange(position, isSecond(order) ? asLearnedInFavour(market, state) : learned);
    if (order.inverted === true)
      return isBack(order, position, range) ? { ...order, inverted: false } : order;
    return isInverted(order, position, range) ? { ...order, inverted: true } : order;
  });
  const news = orders.filter((order, index) => order.inverted === true && order !== state.orders[index]);
  const noted = { ...state, orders };
  const taught = news.some(isSecond) ? learn(noted, { basisInFavour: grownInFavour(market, state) }) : noted;
  return news.every(isSecond) ? taught : learn(taught, { basis: grownBasis(market, state) });
}

/** Whether the market is clearly before the activation of an inverted order again. */
function isBack(order: OwnOrder, position: ReadPosition, market: MarketSettings): boolean {
  const offset = offsetFromActivation(order, position);
  const { markPrice, markError } = position;
  return (
    offset !== undefined && markPrice !== null && offset.gt(activationGap({ markPrice, markError }, market))
  );
}

function aboutOrder(order: OwnOrder): { positionId: string; key: string; order: OwnOrder['request'] } {
  return { positionId: order.positionId, key: order.key, order: order.request };
}

/** Drops anchors that were computed for another position. */
function forgetAnchors(state: LaneState, read: MarketRead): LaneState {
  const covers = state.covers.map((cover) => {
    if (cover.anchor === null) return cover;
    const position = findPosition(read, cover.positionId);
    const isSame =
      position === undefined ? isUncertain(state, cover.positionId) : isSameHolding(cover.anchor, position);
    return isSame ? cover : { ...cover, anchor: null };
  });
  return { ...state, covers };
}

/** Lets a triggered rung be placed again once the position has grown or the distance has recovered. */
function releaseLadders(state: LaneState, read: MarketRead): LaneState {
  const released = new Set(
    state.covers
      .filter(({ positionId, anchor, key }) => {
        const position = findPosition(read, positionId);
        const intent = state.intents.find((one) => one.key === key && one.source === 'cover');
        if (position === undefined || anchor?.sizeBase === undefined || intent?.end?.how !== 'reached')
          return false;
        // A triggered order that may still stand would trigger again.
        const stands = state.orders.some(
          (order) => order.key === key && (order.reachedMs !== null || order.activatedMs !== null),
        );
        return !stands && isReleased(position, anchor, intent);
      })
      .map(({ key }) => key),
  );
  if (released.size === 0) return state;
  return {
    ...state,
    intents: state.intents.filter(({ key, source }) => source !== 'cover' || !released.has(key)),
    covers: state.covers.map((cover) => (released.has(cover.key) ? { ...cover, anchor: null } : cover)),
  };
}

function isReleased(position: ReadPosition, anchor: CoverAnchor, { basis, targetBase }: Intent): boolean {
  const size = toDecimal(position.sizeBase);
  const before = basis === null ? targetBase : basis.sizeBase;
  if (before !== null && size.gt(toDecimal(before))) return true;
  const { markPrice, liquidationPrice } = position;
  if (markPrice === null || liquidationPrice === null || liquidationPrice === 'none') return false;
  const was = Math.abs(Number(anchor.markPrice) - Number(anchor.liquidationPrice));
  return Math.abs(Number(markPrice) - Number(liquidationPrice)) >= was;
}

function triggerCovers(
  state: LaneState,
  read: MarketRead,
  filled: readonly OwnOrder[],
  scene: LaneScene,
): LaneState {
  const market = marketOf(state, scene.settings);
  const reached = state.orders.filter((order) => isStop(order) && isTriggered(order, read, market));
  const triggered = [...filled.filter(isStop), ...reached];
  let { intents } = state;
  for (const order of triggered) {
    const cover = state.covers.find((candidate) => candidate.key === order.key);
    const position = findPosition(read, order.positionId);
    if (cover === undefined || position === undefined) continue;
    const leftBase = formatDecimal(market === undefined ? ZERO : leftBy(order, cover.anchor, market));
    if (isFollowedUp(intents, order, leftBase, position)) continue;
    const goes = leftBase === '0' ? 'everything goes' : `all above ${leftBase} goes`;
    const words = `the stop at ${order.request.activationPrice} triggered: ${goes}`;
    scene.audit.emit({
      ...aboutOrder(order),
      kind: 'coverTriggered',
      reason: 'triggered',
      words,
      alarm: true,
    });
    if (leftBase !== '0') {
      const target = { targetBase: leftBase, sizeBase: position.sizeBase };
      scene.audit.emit({ ...aboutOrder(order), kind: 'targetSet', reason: 'to', words, ...target });
    }
    intents = [...intents.filter((intent) => intent.key !== order.key), coverIntent(cover, leftBase, scene)];
  }
  return { ...state, intents };
}

function isStop({ role, trial }: OwnOrder): boolean {
  return role === 'cover' && trial !== true;
}

/** Whether an intent already follows up this trigger. A stop triggers once per position; a lower rung asks for more. */
function isFollowedUp(
  intents: readonly Intent[],
  order: OwnOrder,
  leftBase: DecimalString,
  position: ReadPosition,
): boolean {
  return intents.some(
    (intent) =>
      intent.key === order.key &&
      (intent.targetBase === null ? ZERO : toDecimal(intent.targetBase)).lte(toDecimal(leftBase)) &&
      (isOpen(intent) || (intent.basis !== null && isSameHolding(intent.basis, position))),
  );
}

/** Whether a stop has certainly triggered and was jumped over: the mark is past its limit price. */
function isTriggered(order: OwnOrder, read: MarketRead, market: MarketSettings | undefined): boolean {
  const position = findPosition(read, order.positionId);
  if (position === undefined || position.markPrice === null || market === undefined) return false;
  const offset = offsetFromActivation(order, position);
  if (offset === undefined || !isSentFor(order, position)) return false;
  return isPastLimit(order, position) && isWellPast(offset, position, market);
}
