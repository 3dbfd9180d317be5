import { type AuditEvent, recorder } from '../../core/audit/audit-event.ts';
import type { AuditDraft } from '../../core/audit/audit-record.ts';
import { type Controls, controlsInForce } from '../../core/controls/controls.ts';
import { planAccount } from '../../core/intents/account-plan.ts';
import { admitEpisodes, EMPTY_LEDGER } from '../../core/intents/gate.ts';
import { actionKey } from '../../core/intents/intent.ts';
import { type LaneMoment, ledgerOnClock, onClock } from '../../core/lanes/lane-clock.ts';
import type { ReadObservation } from '../../core/lanes/market-read.ts';
import { NO_ROUTES, type RouteInputs, routeRequests } from '../../core/lanes/route-requests.ts';
import type { LaneRef } from '../../core/ports/lane-dispatcher.ts';
import type {
  AccountCommit,
  AccountDocuments,
  StoredAccount,
  StoredRequests,
} from '../../core/ports/state-store.ts';
import { AccountQuantities } from '../../core/quantities/account.ts';
import { PositionQuantities } from '../../core/quantities/position.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';
import type { Instant, Snapshot } from '../../core/quantities/snapshot.ts';
import { unconfirmedZeros } from '../../core/rules/balances.ts';
import { type Evaluation, positionViews } from '../../core/rules/evaluate.ts';
import type { ActionRequest, PositionView } from '../../core/rules/subject.ts';
import { unseenPositions } from '../../core/rules/subjects.ts';
import type { WatchedAccount } from '../pipeline-context.ts';
import type { Observation } from '../poll/observe-account.ts';
import { takeInbox } from '../poll/take-inbox.ts';
import { isAtRest } from './lane-at-rest.ts';
import { laneContext, limitInputs } from './lane-context.ts';
import { hasNothingToDo, observeLanes } from './observe-lanes.ts';
import { notOpenYet } from './read-market.ts';
import { isSameJson } from './same-json.ts';

export interface ActingInputs {
  readonly account: WatchedAccount;
  readonly stored: StoredAccount;
  readonly controls: Controls;
  readonly observation: Observation;
  readonly now: Instant;
  /** On the lanes' clock. */
  readonly moment: LaneMoment;
  /** The account that acts in place of this one, as both are one account of the exchange; absent: none. */
  readonly sharedWith?: string;
}

/** What an evaluation means for lanes, limits and routes. */
export interface Acted {
  readonly documents: Partial<AccountDocuments>;
  readonly lanes: NonNullable<AccountCommit['lanes']>;
  /** Of these, those that can be brought in line later: an operator's order is taken once. */
  readonly separable: ReadonlySet<string>;
  readonly audit: readonly AuditDraft[];
  readonly events: readonly AuditEvent[];
  readonly toRun: readonly LaneRef[];
}

export const NOTHING_ACTED: Acted = {
  documents: {},
  lanes: new Map(),
  separable: new Set(),
  audit: [],
  events: [],
  toRun: [],
};

/** Pure. */
export function routeDecisions(
  inputs: ActingInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
  conclusive: boolean,
): Acted {
  const isIdle =
    hasNothingToRoute(inputs, evaluation, conclusive) ||
    isAllAtRest(inputs, snapshot, evaluation, conclusive);
  return isIdle ? NOTHING_ACTED : actOn(inputs, snapshot, evaluation, conclusive);
}

/**
 * Whether `actOn` certainly comes to nothing: nothing is asked for, nothing of ours is open, nothing remembers an
 * episode, and every market that could be acted on has its lane. So it is with nearly every poll.
 */
export function hasNothingToRoute(
  { account, stored, observation, sharedWith }: ActingInputs,
  { active }: Evaluation,
  conclusive: boolean,
): boolean {
  for (const { action } of active) if (action.kind !== 'notify') return false;
  const { requests, limits, routes, inbox, accountLane } = stored.documents;
  if (requests !== undefined && (requests.active.length > 0 || requests.conclusive !== conclusive))
    return false;
  if (requests?.sharedWith !== sharedWith) return false;
  if (limits !== undefined && limits.admitted.length > 0) return false;
  if (routes !== undefined && (routes.waiting !== undefined || Object.keys(routes.routes).length > 0))
    return false;
  if (hasOrders(inbox) || isLaneBusy(accountLane)) return false;
  for (const lane of stored.lanes.values()) {
    if (lane.epoch !== stored.epoch.id || !hasNothingToDo(lane)) return false;
  }
  return hasLanes(stored, observation) || !canAct(account);
}

/**
 * Whether all that is asked for are stops that were asked for before, and that stand: where every lane rests, `actOn`
 * would at most forget episodes that count for no limit any more. Lanes are asked what they know: a change of one may have
 * been left out of the commit that wrote the requests.
 */
export function isAllAtRest(
  inputs: ActingInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
  conclusive: boolean,
): boolean {
  const { account, stored, observation, moment } = inputs;
  const { settings } = account.rules;
  const { routes, inbox, accountLane } = stored.documents;
  const acting = actingOf(evaluation);
  if (acting.length === 0 || !acting.every(({ action }) => action.kind === 'protect')) return false;
  if (requestsOf(inputs, acting, conclusive) !== undefined) return false;
  if (routes === undefined || routes.waiting !== undefined || routes.partial !== undefined) return false;
  const { byMarket, waiting } = routeRequests(routes, {
    active: acting,
    conclusive,
    positions: [],
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
  const { positions } = observation;
  const read =
    positions?.isNew === true
      ? readOf(positions, positionViews(snapshot, evaluation.state, account.rules), settings)
      : undefined;
  return lanes.every((lane) => {
    const asked = byMarket.get(lane.market) ?? [];
    return (asked.length === 0 && hasNothingToDo(lane)) || isAtRest(lane, asked, read, settings);
  });
}

function hasOrders(inbox: AccountDocuments['inbox']): boolean {
  return inbox !== undefined && inbox.orders.length > 0;
}

function isLaneBusy(lane: AccountDocuments['accountLane']): boolean {
  return lane !== undefined && (lane.cancels.length > 0 || lane.inProgress !== null);
}

/** Whether every market that a read shows has its lane. */
function hasLanes({ lanes }: StoredAccount, { sources }: Observation): boolean {
  const { positions } = sources;
  return positions?.kind !== 'read' || positions.value.records.every(({ market }) => lanes.has(market));
}

function actingOf({ active }: Evaluation): readonly ActionRequest[] {
  return active.filter(({ action }) => action.kind !== 'notify');
}

/** The same for an account in which there is something to do. */
export function actOn(
  inputs: ActingInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
  conclusive: boolean,
): Acted {
  const { account, stored, controls, observation, now, moment, sharedWith } = inputs;
  const { nowMs: laneMs } = moment;
  const { documents } = stored;
  const { rules } = account;
  const acting = actingOf(evaluation);
  const inForce = controlsInForce(controls, account.id, now.wallMs);
  const requests = requestsOf(inputs, acting, conclusive);
  const ledger = documents.limits ?? EMPTY_LEDGER;
  const limitsOf = limitInputs(account, inForce, acting, conclusive);
  const admitted = admitEpisodes(ledgerOnClock(ledger, moment), limitsOf, laneMs);
  const routes = documents.routes ?? NO_ROUTES;
  // Those that a rule has begun to fire by are its positions, also where it fired between two reads.
  const hasBegun = acting.some((request) => routes.routes[actionKey(request, null)] === undefined);
  const isNew = observation.positions?.isNew === true;
  const positions = isNew || hasBegun ? observation.positions : undefined;
  const known = positions && viewsWhenNeeded(account, stored, acting, snapshot, evaluation);
  const views = known ?? [];
  const isComplete = positions?.list.complete === true;
  const routed = routeRequests(routes, {
    active: acting,
    conclusive,
    positions: positions === undefined ? [] : views,
    complete: isComplete,
    accountId: account.id,
    intentTtlMs: rules.settings.intentTtlMs,
    nowMs: laneMs,
    plan: planner(stored, () => accountOf(snapshot, evaluation, rules.settings, now)),
  });
  const inbox = takeInbox(documents.inbox, {
    positions: isNew ? views : undefined,
    complete: isComplete,
    markets: [...stored.lanes.keys()],
    nowMs: now.wallMs,
  });
  const asked = { ...documents, ...(requests === undefined ? {} : { requests }), limits: admitted.ledger };
  const context = laneContext(account, { ...stored, documents: asked }, inForce, moment);
  const changed = observeLanes(
    stored,
    {
      byMarket: routed.byMarket,
      accountWide: routed.accountWide,
      operator: inbox.operatorOrders,
      conclusive,
      markets: canAct(account) ? marketsOf(observation) : [],
      read: known && positions && readOf(positions, known, rules.settings),
    },
    context,
    moment,
  );
  const sharing = sharingEvents(account.id, documents.requests?.sharedWith, sharedWith, moment.nowMs);
  const events = [...sharing, ...routed.events, ...changed.events];
  const ordered = new Set(inbox.operatorOrders.map(({ market }) => market));
  const isSameLedger = isSameJson(admitted.ledger, ledger);
  const isSameRoutes = isSameJson(routed.state, routes);
  return {
    documents: {
      ...(requests === undefined ? {} : { requests }),
      ...(isSameLedger ? {} : { limits: admitted.ledger }),
      ...(isSameRoutes ? {} : { routes: routed.state }),
      ...(inbox.rest === undefined ? {} : { inbox: inbox.rest }),
      ...(changed.accountLane === undefined ? {} : { accountLane: changed.accountLane }),
    },
    lanes: changed.lanes,
    separable: new Set([...changed.lanes.keys()].filter((market) => !ordered.has(market))),
    audit: [...inbox.notes, ...events.map((event): AuditDraft => ({ kind: 'action', event }))],
    events,
    toRun: [
      ...(changed.accountToRun ? [{ accountId: account.id, market: null }] : []),
      ...changed.toRun.map((market) => ({ accountId: account.id, market })),
    ],
  };
}

/** Whether any rule of the account can touch a market. */
function canAct({ rules }: WatchedAccount): boolean {
  return rules.all.some(({ stages }) =>
    stages.some((actions) => actions.some(({ spec }) => spec.kind !== 'notify')),
  );
}

function marketsOf({ sources }: Observation): readonly string[] {
  const { positions } = sources;
  return positions?.kind === 'read' ? [...new Set(positions.value.records.map(({ market }) => market))] : [];
}

function accountOf(
  snapshot: Snapshot,
  { state }: Evaluation,
  settings: AccountSettings,
  now: Instant,
): AccountQuantities {
  const account = new AccountQuantities(snapshot, settings, now);
  account.noteUncertain(unseenPositions(account, state), unconfirmedZeros(state));
  return account;
}

/** Plans reductions of the account as a whole; positions whose reduction has failed are left to the others. */
function planner(stored: StoredAccount, seen: () => AccountQuantities): RouteInputs['plan'] {
  return (request, target, refs) => {
    const account = seen();
    const failed = new Set<string>();
    for (const { intents } of stored.lanes.values()) {
      for (const { key, end } of intents) if (end?.how === 'failed') failed.add(key);
    }
    const able = refs.filter(({ positionId }) => !failed.has(actionKey(request, positionId)));
    return planAccount(target, account, {
      matching: new Set(able.map(({ positionId }) => positionId)),
      targets: new Map(
        able.flatMap(({ positionId, plannedBase }) =>
          plannedBase === undefined ? [] : [[positionId, plannedBase] as const],
        ),
      ),
      tolerance: account.settings.distanceTolerance,
    });
  };
}

/** How the marks of these positions have moved, by the reads of this process. */
function marksOf(
  { earlier }: NonNullable<Observation['positions']>,
  views: readonly PositionView[],
  settings: AccountSettings,
): NonNullable<ReadObservation['earlierMarks']> {
  return (market, isMissing) => {
    const meant = new Set(views.map(({ positionId }) => positionId));
    return earlier().flatMap(({ list, sentAtMs }) => {
      if (!isMissing(sentAtMs)) return [];
      return list.records.flatMap((record) => {
        if (record.market !== market || !meant.has(record.positionId)) return [];
        const { markPrice } = new PositionQuantities(record, settings);
        return markPrice.kind === 'value' ? [{ atMs: sentAtMs, mark: markPrice.value }] : [];
      });
    });
  };
}

function readOf(
  positions: NonNullable<Observation['positions']>,
  views: readonly PositionView[],
  settings: AccountSettings,
): ReadObservation {
  const { sentAtMs, receivedAtMs, list } = positions;
  return {
    sentAtMs,
    receivedAtMs,
    complete: list.complete,
    ...notOpenYet(list),
    positions: views,
    earlierMarks: marksOf(positions, views, settings),
  };
}

/** Computed with decimals, so only where a lane or an order asks for them; undefined where none does. */
function viewsWhenNeeded(
  account: WatchedAccount,
  stored: StoredAccount,
  acting: readonly ActionRequest[],
  snapshot: Snapshot,
  evaluation: Evaluation,
): readonly PositionView[] | undefined {
  if (!isBusy(stored) && !hasOrders(stored.documents.inbox) && acting.length === 0) return undefined;
  return positionViews(snapshot, evaluation.state, account.rules);
}

/** Whether anything is wanted or open in some market. */
function isBusy({ lanes }: StoredAccount): boolean {
  return [...lanes.values()].some(
    ({ intents, covers, orders, cancels }) =>
      intents.length + covers.length + orders.length + cancels.length > 0,
  );
}

/** What lanes have to know of the evaluation; unchanged requests are not written again. */
function requestsOf(
  { stored, now, sharedWith }: ActingInputs,
  active: readonly ActionRequest[],
  conclusive: boolean,
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

/** Said once, by the account that does not act. */
function sharingEvents(
  accountId: string,
  before: string | undefined,
  sharedWith: string | undefined,
  nowMs: number,
): readonly AuditEvent[] {
  if (sharedWith === undefined || sharedWith === before) return [];
  const audit = recorder(accountId, undefined, nowMs);
  audit.emit({
    kind: 'sharedAccount',
    reason: 'samePositions',
    words: `${accountId} and ${sharedWith} show the same positions: they are two keys of one exchange account, and only ${sharedWith} acts; take one of them out of the config`,
    alarm: true,
  });
  return audit.events;
}
