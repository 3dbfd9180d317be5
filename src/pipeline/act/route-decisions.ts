import type { AskedQuestion } from '../../core/approvals/ask.ts';
import type { Settled } from '../../core/approvals/judge.ts';
import { byStage } from '../../core/approvals/question.ts';
import { type AuditEvent, recorder } from '../../core/audit/audit-event.ts';
import type { AuditDraft } from '../../core/audit/audit-record.ts';
import { type ControlsInForce, controlsInForce } from '../../core/controls/controls.ts';
import { planAccount } from '../../core/intents/account-plan.ts';
import type { LaneContext } from '../../core/intents/admission.ts';
import { admitEpisodes, EMPTY_LEDGER, type GateContext } from '../../core/intents/gate.ts';
import {
  actionKey,
  type LaneRequest,
  operatorIntent,
  withdrawOperatorIntent,
} from '../../core/intents/intent.ts';
import {
  type AccountLane,
  advanceAccount,
  newAccountLane,
  observeAccountRequests,
} from '../../core/lanes/account-lane.ts';
import { advance } from '../../core/lanes/lane.ts';
import { changeLane, type LaneChange } from '../../core/lanes/lane-change.ts';
import { inEpoch, type LaneMoment, ledgerOnClock } from '../../core/lanes/lane-clock.ts';
import { observeRead, observeRequests } from '../../core/lanes/lane-observe.ts';
import type { LaneState } from '../../core/lanes/lane-state.ts';
import type { ReadObservation } from '../../core/lanes/market-read.ts';
import { NO_ROUTES, type RouteInputs, routeRequests } from '../../core/lanes/route-requests.ts';
import { settingsWith } from '../../core/orders/market-steps.ts';
import type { PositionList, PositionRecord } from '../../core/ports/exchange.ts';
import type { LaneRef } from '../../core/ports/lane-dispatcher.ts';
import type { AccountCommit, AccountDocuments, StoredAccount } from '../../core/ports/state-store.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import { evaluatedAccount, unseenPositions } from '../../core/rules/subjects.ts';
import type { PositionsRead } from '../poll/observe-account.ts';
import { type LaneOrder, takeInbox } from '../poll/take-inbox.ts';
import { askingOf, askPeople, type JudgeScene, judgeApprovals } from './ask-people.ts';
import {
  actingOf,
  canAct,
  type Decisions,
  hasNothingToDo,
  hasNothingToRoute,
  hasOrders,
  isAllAtRest,
  isAtRest,
  isLaneBusy,
  requestsOf,
} from './lane-at-rest.ts';
import { laneContext, limitInputs, questionsOf } from './lane-context.ts';
import { readOf } from './read-market.ts';
import { isSameJson } from './same-json.ts';

export interface Acted {
  readonly documents: Partial<AccountDocuments>;
  readonly lanes: NonNullable<AccountCommit['lanes']>;
  /** Lanes whose change can wait; not those with an operator order, which is taken once. */
  readonly separable: ReadonlySet<string>;
  readonly audit: readonly AuditDraft[];
  readonly events: readonly AuditEvent[];
  readonly toRun: readonly LaneRef[];
  /** New questions to people, and the outcomes of earlier ones. */
  readonly asked: readonly AskedQuestion[];
  readonly settled: readonly Settled[];
}

export const NOTHING_ACTED: Acted = {
  documents: {},
  lanes: new Map(),
  separable: new Set(),
  audit: [],
  events: [],
  toRun: [],
  asked: [],
  settled: [],
};

/** Turns an evaluation into work of the lanes. Pure. */
export function routeDecisions(decisions: Decisions): Acted {
  return hasNothingToRoute(decisions) || isAllAtRest(decisions) ? NOTHING_ACTED : actOn(decisions);
}

/** Like `routeDecisions`, for an account that has something to do. */
export function actOn(decisions: Decisions): Acted {
  const { account, stored, controls, observation, moment, conclusive } = decisions;
  const { documents } = stored;
  const { settings } = account.rules;
  const acting = actingOf(decisions);
  const inForce = controlsInForce(controls, account.id, moment.nowMs);
  const requests = requestsOf(decisions, acting);
  const routes = documents.routes ?? NO_ROUTES;
  // A rule that begins to fire is routed to the positions it fired by, even between two reads.
  const hasBegun = acting.some((request) => routes.routes[actionKey(request, null)] === undefined);
  const isNew = observation.positions?.isNew === true;
  const positions = isNew || hasBegun ? observation.positions : undefined;
  const records = positions && recordsIn(decisions.snapshot);
  const shown = shownBy(positions?.list, decisions);
  const routed = routeRequests(routes, {
    active: acting,
    conclusive,
    positions: records ?? [],
    complete: shown.all,
    accountId: account.id,
    intentTtlMs: settings.intentTtlMs,
    nowMs: moment.nowMs,
    plan: planner(decisions),
  });
  const inbox = takeInbox(documents.inbox, {
    positions: isNew ? records : undefined,
    complete: shown.allButOurs,
    markets: [...stored.lanes.keys()],
    nowMs: moment.nowMs,
    faultOf: (order) => account.orderFault(order, stored.epoch.id),
  });
  const { asking, judged, admitted } = admit(decisions, acting, inForce, {
    routes: routed.state,
    answers: inbox.answers,
  });
  const approvals = judged?.approvals;
  const asked = {
    ...documents,
    ...(requests === undefined ? {} : { requests }),
    ...(approvals === undefined ? {} : { approvals }),
    limits: admitted.ledger,
  };
  const changed = observeLanes(
    stored,
    {
      byMarket: routed.byMarket,
      accountWide: routed.accountWide,
      operator: inbox.operatorOrders,
      conclusive,
      markets: canAct(account) ? recordsIn(observation).map(({ market }) => market) : [],
      read: positions && readWhenNeeded(positions, decisions, acting),
    },
    laneContext(account, { ...stored, documents: asked }, inForce, moment),
    moment,
  );
  const lanes = new Map([...stored.lanes, ...changed.lanes]);
  const questions = approvals && askPeople(decisions, approvals, asking, [...lanes.values()]);
  const refused = refusedOrders(account.id, inbox.refused, moment.nowMs);
  const own = [...sharingEvents(decisions), ...refused, ...routed.events, ...(judged?.events ?? [])];
  const events = [...own, ...changed.events, ...(questions?.events ?? [])];
  const ordered = new Set(inbox.operatorOrders.map(({ market }) => market));
  return {
    documents: {
      ...(requests === undefined ? {} : { requests }),
      ...(isSameJson(admitted.ledger, documents.limits ?? EMPTY_LEDGER) ? {} : { limits: admitted.ledger }),
      ...(isSameJson(routed.state, routes) ? {} : { routes: routed.state }),
      ...changedApprovals(documents, questions?.approvals),
      ...(inbox.rest === undefined ? {} : { inbox: inbox.rest }),
      ...(changed.accountLane === undefined ? {} : { accountLane: changed.accountLane }),
    },
    lanes: changed.lanes,
    separable: new Set([...changed.lanes.keys()].filter((market) => !ordered.has(market))),
    audit: [...inbox.notes, ...events.map((event): AuditDraft => ({ kind: 'action', event }))],
    events,
    toRun: changed.toRun.map((market) => ({ accountId: account.id, market })),
    asked: questions?.asked ?? [],
    settled: judged?.settled ?? [],
  };
}

/** Whether a list shows all positions known to be open. `allButOurs`: except those that own orders have closed. */
function shownBy(list: PositionList | undefined, { evaluation, snapshot }: Decisions) {
  if (list?.complete !== true) return { all: false, allButOurs: false };
  // A position that is listed with nulls has no record.
  const hidden = unseenPositions({ positions: list.records }, evaluation.state);
  const isOurs = ({ positionId }: { readonly positionId: string }): boolean =>
    snapshot.closedByUs?.includes(positionId) === true;
  return { all: hidden.length === 0, allButOurs: hidden.every(isOurs) };
}

function changedApprovals(
  { approvals }: AccountDocuments,
  now: AccountDocuments['approvals'],
): Pick<AccountDocuments, 'approvals'> {
  return now === undefined || isSameJson(now, approvals) ? {} : { approvals: now };
}

function admit(
  decisions: Decisions,
  acting: readonly ActionRequest[],
  inForce: ControlsInForce,
  { routes, answers }: Pick<JudgeScene, 'routes' | 'answers'>,
) {
  const { account, stored, moment, conclusive, sharedWith } = decisions;
  const { documents } = stored;
  const ledger = ledgerOnClock(documents.limits ?? EMPTY_LEDGER, moment);
  const admittedWith = (questions: GateContext['questions']): ReturnType<typeof admitEpisodes> =>
    admitEpisodes(
      ledger,
      limitInputs(account, inForce, { active: acting, conclusive, questions }),
      moment.nowMs,
    );
  const asking = askingOf(acting);
  const { gate } = limitInputs(account, inForce, { active: acting, conclusive });
  // People are not asked about what the limits hold back.
  const limited = asking.length === 0 ? {} : admittedWith(questionsOf(documents, moment)).limited;
  const judged = judgeApprovals(decisions, {
    asking,
    routes,
    gate: { ...gate, isShared: sharedWith !== undefined, limited },
    answers,
  });
  return { asking, judged, admitted: admittedWith(judged && byStage(judged.approvals)) };
}

function recordsIn({ sources: { positions } }: Pick<Snapshot, 'sources'>): readonly PositionRecord[] {
  return positions?.kind === 'read' ? positions.value.records : [];
}

/**
 * Plans reductions of the account as a whole, over the positions whose reduction has neither failed nor waits for a
 * price: the stop of a leg whose market stands still may never trigger, while another leg uses up the pool.
 */
function planner(decisions: Decisions): RouteInputs['plan'] {
  const { stored, snapshot, evaluation, now, moment } = decisions;
  const { rules } = decisions.account;
  return (request, target, refs) => {
    const settings = settingsWith(stored.lanes, rules.settings);
    const account = evaluatedAccount(snapshot, settings, now, evaluation.state);
    const unable = new Set<string>();
    for (const { intents, orders } of stored.lanes.values()) {
      for (const { key, end } of intents) if (end?.how === 'failed') unable.add(key);
      for (const { key, sentMs, reachedMs } of orders)
        if (reachedMs === null && moment.nowMs - sentMs >= settings.fillWithinMs) unable.add(key);
    }
    const able = refs.filter(({ positionId }) => !unable.has(actionKey(request, positionId)));
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

/** Needs decimal arithmetic, so it is computed only if a lane or an order needs it; undefined: none does. */
function readWhenNeeded(
  positions: PositionsRead,
  { account, stored, snapshot, evaluation }: Decisions,
  acting: readonly ActionRequest[],
): ReadObservation | undefined {
  const isBusy = [...stored.lanes.values()].some(
    ({ intents, covers, orders, cancels }) =>
      intents.length + covers.length + orders.length + cancels.length > 0,
  );
  if (!isBusy && !hasOrders(stored.documents.inbox) && acting.length === 0) return undefined;
  return readOf(positions, snapshot, evaluation.state, account.rules);
}

function refusedOrders(accountId: string, refused: readonly string[], nowMs: number): readonly AuditEvent[] {
  const audit = recorder(accountId, undefined, nowMs);
  for (const words of refused) {
    audit.emit({ kind: 'operatorOrderRefused', reason: 'notTrusted', words, alarm: true });
  }
  return audit.events;
}

/** Emitted once, by the account that does not act. */
function sharingEvents({ account, stored, sharedWith, moment }: Decisions): readonly AuditEvent[] {
  if (sharedWith === undefined || sharedWith === stored.documents.requests?.sharedWith) return [];
  const audit = recorder(account.id, undefined, moment.nowMs);
  audit.emit({
    kind: 'sharedAccount',
    reason: 'samePositions',
    words: `${account.id} and ${sharedWith} show the same positions: they are two keys of one exchange account, and only ${sharedWith} acts; take one of them out of the config`,
    alarm: true,
  });
  return audit.events;
}

interface LaneInputs {
  readonly byMarket: ReadonlyMap<string, readonly LaneRequest[]>;
  readonly accountWide: readonly ActionRequest[];
  readonly operator: readonly LaneOrder[];
  readonly conclusive: boolean;
  /** Markets with positions that some rule could act on: their lanes are created in advance. */
  readonly markets: readonly string[];
  /** The newest read, if any: a lane takes it if it knows no newer one. */
  readonly read: ReadObservation | undefined;
}

/** Brings all lanes of an account in line with what is asked for and seen now. */
function observeLanes(stored: StoredAccount, inputs: LaneInputs, context: LaneContext, moment: LaneMoment) {
  const lanes = new Map<string, LaneState>();
  const events: AuditEvent[] = [];
  const toRun: string[] = [];
  const operatorMarkets = inputs.operator.map(({ market }) => market);
  const markets = [...stored.lanes.keys(), ...inputs.byMarket.keys(), ...operatorMarkets, ...inputs.markets];
  for (const market of new Set(markets)) {
    const before = stored.lanes.get(market);
    const asked = inputs.byMarket.get(market) ?? [];
    const operator = inputs.operator.filter((order) => order.market === market);
    const living = inEpoch(stored, market, context.settings, moment);
    if (living === before && operator.length === 0) {
      if (asked.length === 0 && hasNothingToDo(living)) continue;
      if (isAtRest(living, asked, inputs.read)) continue;
    }
    const changed = observeLane(living, { ...inputs, asked, operator }, context, moment.nowMs);
    events.push(...changed.events);
    if (changed.state !== before) lanes.set(market, changed.state);
    if (changed.wants) toRun.push(market);
  }
  const all = [...stored.lanes.values()].map((lane) => lanes.get(lane.market) ?? lane);
  const own = observeAccountLane({ ...inputs, lanes: all }, stored, context, moment.nowMs);
  return {
    lanes,
    accountLane: own?.state,
    events: [...events, ...(own?.events ?? [])],
    /** Null: the account's own lane. */
    toRun: own?.wants === true ? [null, ...toRun] : toRun,
  };
}

interface Asked extends LaneInputs {
  readonly asked: readonly LaneRequest[];
}

/** `wants`: the lane has something to do, or may have. */
function observeLane(
  lane: LaneState,
  { asked, operator, conclusive, read }: Asked,
  context: LaneContext,
  nowMs: number,
): LaneChange & { readonly wants: boolean } {
  const { settings } = context;
  const events: AuditEvent[] = [];
  const take = ({ state, events: said }: LaneChange): LaneState => {
    events.push(...said);
    return state;
  };
  const ordered = changeLane(lane, settings, nowMs, (scene) =>
    operator.reduce(
      (before, order) =>
        order.kind === 'withdraw'
          ? withdrawOperatorIntent(before, order.orderId, scene)
          : operatorIntent(before, order.request, scene),
      lane,
    ),
  );
  let state = take(observeRequests(take(ordered), asked, conclusive, settings, nowMs));
  const isNews =
    read !== undefined && (state.latestRead === null || read.sentAtMs > state.latestRead.sentAtMs);
  if (isNews) state = take(observeRead(state, read, settings, nowMs));
  if (hasNothingToDo(state)) return { state, events, wants: false };
  const ahead = advance(state, context, nowMs);
  const { step } = ahead;
  // The lane run recomputes the step and audits it.
  if (step.kind !== 'idle' && step.kind !== 'wait') return { state, events, wants: true };
  const rests = step.kind === 'idle' && step.why !== 'busy' && step.why !== 'held';
  return { state: take(ahead), events, wants: !rests };
}

/** The account's own lane; undefined: it has nothing to do. */
function observeAccountLane(
  { accountWide, conclusive, lanes }: LaneInputs & { readonly lanes: readonly LaneState[] },
  stored: StoredAccount,
  context: LaneContext,
  nowMs: number,
):
  | { readonly state: AccountLane; readonly events: readonly AuditEvent[]; readonly wants: boolean }
  | undefined {
  const known = stored.documents.accountLane ?? newAccountLane(stored.accountId);
  const isHeld = lanes.some(({ heldBy }) => heldBy !== null);
  if (accountWide.length === 0 && !isHeld && !isLaneBusy(known)) return undefined;
  const asked = observeAccountRequests(known, accountWide, conclusive, context.settings, nowMs);
  const { state, step, events } = advanceAccount(asked, lanes, context, nowMs);
  return { state, events, wants: step.kind !== 'idle' || asked.inProgress !== null };
}
