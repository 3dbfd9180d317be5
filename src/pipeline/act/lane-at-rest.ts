import type { DeliveryState } from '../../core/approvals/judge.ts';
import type { Controls } from '../../core/controls/controls.ts';
import { actionKey, type LaneRequest } from '../../core/intents/intent.ts';
import { isHeld } from '../../core/lanes/absence.ts';
import { type LaneMoment, onClock } from '../../core/lanes/lane-clock.ts';
import type { Cover, LaneState, MarketRead, ReadPosition } from '../../core/lanes/lane-state.ts';
import { marketRead, type ReadObservation } from '../../core/lanes/market-read.ts';
import type { OwnOrder } from '../../core/lanes/own-order.ts';
import { routeRequests } from '../../core/lanes/route-requests.ts';
import type { AccountDocuments, StoredAccount, StoredRequests } from '../../core/ports/state-store.ts';
import { toDecimal } from '../../core/quantities/decimal.ts';
import type { Instant, Snapshot } from '../../core/quantities/snapshot.ts';
import type { Evaluation } from '../../core/rules/evaluate.ts';
import { unaskedMode } from '../../core/rules/rule.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import type { WatchedAccount } from '../pipeline-context.ts';
import type { Observation } from '../poll/observe-account.ts';
import { readOf } from './read-market.ts';
import { isSameJson } from './same-json.ts';

export interface ActingInputs {
  readonly account: WatchedAccount;
  readonly stored: StoredAccount;
  readonly controls: Controls;
  readonly observation: Observation;
  readonly now: Instant;
  /** On the lanes' clock. */
  readonly moment: LaneMoment;
  /** The account that acts instead of this one because both are the same exchange account; absent: none. */
  readonly sharedWith?: string;
  /** Delivery states of approval notices, by notice id; absent: no notice is awaited. */
  readonly deliveries?: ReadonlyMap<string, DeliveryState>;
}

export interface Decisions extends ActingInputs {
  readonly snapshot: Snapshot;
  readonly evaluation: Evaluation;
  /** Whether requests that are no longer active have ended. */
  readonly conclusive: boolean;
}

/** Whether `actOn` certainly has nothing to do, as in most polls: nothing requested, open or remembered. */
export function hasNothingToRoute(decisions: Decisions): boolean {
  const { account, stored, observation, sharedWith, conclusive } = decisions;
  if (actingOf(decisions).length > 0) return false;
  const { requests, limits, routes, inbox, accountLane, approvals } = stored.documents;
  if (requests !== undefined && (requests.active.length > 0 || requests.conclusive !== conclusive))
    return false;
  if (requests?.sharedWith !== sharedWith) return false;
  if (limits !== undefined && limits.admitted.length > 0) return false;
  if (routes !== undefined && (routes.waiting !== undefined || Object.keys(routes.routes).length > 0))
    return false;
  if (hasOrders(inbox) || isLaneBusy(accountLane)) return false;
  if (approvals !== undefined && approvals.questions.length > 0) return false;
  for (const lane of stored.lanes.values()) {
    if (lane.epoch !== stored.epoch.id || !hasNothingToDo(lane)) return false;
  }
  return hasLanes(stored, observation) || !canAct(account);
}

/** Whether all requests are stops that stand, perhaps beside such that were left. Lanes are checked too: a commit may have left out their changes. */
export function isAllAtRest(decisions: Decisions): boolean {
  const { account, stored, observation, moment, snapshot, evaluation, conclusive } = decisions;
  const { settings } = account.rules;
  const { routes, inbox, accountLane } = stored.documents;
  const acting = actingOf(decisions);
  if (acting.length === 0 || !acting.every(({ action }) => action.kind === 'protect')) return false;
  if (requestsOf(decisions, acting) !== undefined) return false;
  if (routes === undefined || routes.waiting !== undefined || routes.partial !== undefined) return false;
  const { positions } = observation;
  const shown = positions?.isNew === true ? snapshot.sources.positions : undefined;
  const { byMarket, waiting } = routeRequests(routes, {
    active: acting,
    conclusive,
    positions: shown?.kind === 'read' ? shown.value.records : [],
    complete: false,
    accountId: account.id,
    intentTtlMs: settings.intentTtlMs,
    nowMs: moment.nowMs,
    plan: () => undefined,
  });
  if (waiting.length > 0 || ![...byMarket.keys()].every((market) => stored.lanes.has(market))) return false;
  if (hasOrders(inbox) || isLaneBusy(accountLane) || !hasLanes(stored, observation)) return false;
  const lanes = [...stored.lanes.values()];
  if (!lanes.every((lane) => lane.epoch === stored.epoch.id && onClock(lane, settings, moment) === lane)) {
    return false;
  }
  const read =
    positions?.isNew === true ? readOf(positions, snapshot, evaluation.state, account.rules) : undefined;
  return lanes.every((lane) => {
    const asked = byMarket.get(lane.market) ?? [];
    return (asked.length === 0 && hasNothingToDo(lane)) || isAtRest(lane, asked, read);
  });
}

export function hasOrders(inbox: AccountDocuments['inbox']): boolean {
  return inbox !== undefined && inbox.orders.length + (inbox.unread ?? 0) > 0;
}

export function isLaneBusy(lane: AccountDocuments['accountLane']): boolean {
  return lane !== undefined && (lane.cancels.length > 0 || lane.inProgress !== null);
}

function hasLanes({ lanes }: StoredAccount, { sources }: Observation): boolean {
  const { positions } = sources;
  return positions?.kind !== 'read' || positions.value.records.every(({ market }) => lanes.has(market));
}

/** The active requests other than `notify`. */
export function actingOf({ account, evaluation }: Decisions): readonly ActionRequest[] {
  return evaluation.active.flatMap((request) => {
    const { kind } = request.action;
    if (kind === 'notify') return [];
    const { continuesForMs } = account.rules.byId.get(request.ruleId) ?? {};
    return [kind !== 'reduce' || continuesForMs === undefined ? request : { ...request, continuesForMs }];
  });
}

/** The requests to store for the lanes; undefined: unchanged. */
export function requestsOf(
  { stored, now, sharedWith, conclusive }: Decisions,
  active: readonly ActionRequest[],
): StoredRequests | undefined {
  const before = stored.documents.requests;
  if (before === undefined && active.length === 0 && sharedWith === undefined) return undefined;
  const isSame = before?.conclusive === conclusive && before.sharedWith === sharedWith;
  if (isSame && isSameJson(before.active, active)) return undefined;
  return {
    version: 1,
    atMs: now.wallMs,
    active,
    conclusive,
    ...(sharedWith === undefined ? {} : { sharedWith }),
  };
}

export function canAct({ rules }: WatchedAccount): boolean {
  return rules.all.some(({ stages }) =>
    stages.some((actions) => actions.some(({ spec }) => spec.kind !== 'notify')),
  );
}

/** Nothing is wanted and no own order is open: the lane need not be looked at. */
export function hasNothingToDo(lane: LaneState): boolean {
  const { intents, covers, cancels, orders, ended = [], inProgress, heldBy, change } = lane;
  // Until reads show it, what an ended order has closed is uncertain.
  const unsettled = ended.filter(({ positionId }) => isHeld(lane, positionId));
  const kept = intents.length + covers.length + cancels.length + orders.length + unsettled.length;
  return kept === 0 && inProgress === null && heldBy === null && change === null;
}

/** A resting lane takes a read after this time: well before a gap counts as an outage, or a joint limit as old. */
const LONGEST_REST_MS = 30_000;
/** A stop closer to the market than this fraction of the mark may be needed before the next read. */
const NEAR_STOP = 0.03;
/** Largest move of the mark since the last read taken that still counts as small, a fraction of that mark. */
const SMALL_MOVE = 0.005;

/**
 * Whether a read changes nothing for a lane that only keeps stops, all far from the market, with unchanged positions.
 * Such reads are not taken. The lane must know every requested stop.
 */
export function isAtRest(
  state: LaneState,
  asked: readonly LaneRequest[],
  observation: ReadObservation | undefined,
): boolean {
  const { read, latestRead, covers, orders } = state;
  if (read === null || read.sentAtMs !== latestRead?.sentAtMs || !isQuiet(state)) return false;
  if (!orders.every(isUntouched) || !covers.every((cover) => stands(cover, orders))) return false;
  if (asked.length !== covers.length || !asked.every((request) => isKnown(request, covers))) return false;
  if (observation === undefined) return true;
  if (!observation.complete || observation.notOpenYet !== undefined || read.partial !== undefined)
    return false;
  if (observation.sentAtMs - read.receivedAtMs > LONGEST_REST_MS) return false;
  const { positions } = marketRead(observation, state.market);
  return (
    positions.length === read.positions.length &&
    positions.every((position) => isAsBefore(position, read) && isFarFromStops(position, orders))
  );
}

function isKnown({ request, positionId }: LaneRequest, covers: readonly Cover[]): boolean {
  const key = actionKey(request, positionId);
  return covers.some((cover) => cover.key === key && cover.mode === unaskedMode(request.mode));
}

/** Nothing is pending that time alone may change. `contests` (others trade the position) hold back reductions only. */
function isQuiet(state: LaneState): boolean {
  const { intents, cancels, inProgress, heldBy, change, doubt, absent, ended } = state;
  const isIdle = inProgress === null && heldBy === null && change === null && doubt === null;
  const uncertain = (absent ?? []).filter(({ phase }) => phase !== 'closed');
  const pending = [intents, cancels, uncertain, ended ?? []];
  return isIdle && pending.every(({ length }) => length === 0);
}

function stands({ key, anchor, blockedBy, refusedBy }: Cover, orders: readonly OwnOrder[]): boolean {
  if (anchor === null || blockedBy !== null || refusedBy !== null) return false;
  return orders.some((order) => order.key === key);
}

function isUntouched(order: OwnOrder): boolean {
  const { role, status, activatedMs, reachedMs, presumedFilled, ambiguous } = order;
  if (role !== 'cover' || status !== 'open' || activatedMs !== null || reachedMs !== null) return false;
  return ![presumedFilled, ambiguous, order.inverted, order.mayHaveVanished, order.trial].includes(true);
}

function isAsBefore(position: ReadPosition, { positions }: MarketRead): boolean {
  const before = positions.find(({ positionId }) => positionId === position.positionId);
  if (before === undefined || before.markPrice === null || position.markPrice === null) return false;
  const mark = Number(before.markPrice);
  if (Math.abs(Number(position.markPrice) - mark) > SMALL_MOVE * mark) return false;
  return (
    toDecimal(before.sizeBase).eq(toDecimal(position.sizeBase)) &&
    before.positionSide === position.positionSide &&
    before.openDate === position.openDate &&
    before.direction === position.direction &&
    before.liquidationPrice === position.liquidationPrice &&
    before.jointLiquidationPrice === position.jointLiquidationPrice &&
    before.liquidationState === position.liquidationState &&
    before.disagreement === position.disagreement &&
    before.margin === position.margin
  );
}

function isFarFromStops({ markPrice }: ReadPosition, orders: readonly OwnOrder[]): boolean {
  const mark = Number(markPrice);
  return orders.every(({ request }) => Math.abs(Number(request.activationPrice) - mark) > NEAR_STOP * mark);
}
