import { emptyAccountState } from '../core/account-state.ts';
import type { AuditEvent } from '../core/audit-event.ts';
import { type Evaluation, evaluate, positionViews } from '../core/evaluate.ts';
import { figuresDue, figuresOf } from '../core/figures.ts';
import { admitEpisodes, EMPTY_LEDGER } from '../core/gate.ts';
import type { AuditDraft } from '../core/ports/audit.ts';
import { type Controls, controlsInForce } from '../core/ports/controls.ts';
import type { Notice } from '../core/ports/notify.ts';
import type {
  AccountCommit,
  AccountDocuments,
  StoredAccount,
  StoredRequests,
} from '../core/ports/state-store.ts';
import type { LaneRef } from '../core/ports/work.ts';
import { NO_ROUTES, routeRequests } from '../core/route.ts';
import type { Instant, Snapshot } from '../core/snapshot.ts';
import type { ActionRequest, PositionView } from '../core/subject.ts';
import type { WatchedAccount } from './account.ts';
import { alertsDue } from './alerts.ts';
import { cureNote, depositCures } from './deposit-cure.ts';
import { laneContext, limitInputs } from './gate.ts';
import { samplesOf } from './history.ts';
import { takeInbox } from './inbox.ts';
import { observeLanes } from './lanes.ts';
import { type Observation, snapshotOf } from './observe.ts';

export interface DecideInputs {
  readonly account: WatchedAccount;
  readonly stored: StoredAccount;
  readonly controls: Controls;
  readonly observation: Observation;
  readonly now: Instant;
  /** On the lanes' clock. */
  readonly laneMs: number;
  readonly reminderMs: number;
  /** Whether figures for curves are wanted with this commit. */
  readonly withHistory: boolean;
}

/** Step two of a poll: everything that follows, as one change of the stored account. */
export interface Decided {
  readonly snapshot: Snapshot;
  readonly evaluation: Evaluation;
  /** Without its due time, which depends on when the poll is over. */
  readonly commit: AccountCommit;
  readonly lanes: readonly LaneRef[];
  readonly notices: readonly Notice[];
  readonly events: readonly AuditEvent[];
}

/** Pure: the same inputs give the same change. */
export function decide(inputs: DecideInputs): Decided {
  const { account, stored, observation, now } = inputs;
  const { rules } = account;
  const { documents } = stored;
  const snapshot = snapshotOf(observation, stored);
  const state = documents.evaluation ?? emptyAccountState(account.id);
  const options = { leastIntervalMs: account.leastIntervalMs };
  const evaluation = evaluate(snapshot, state, now, rules, options);
  // Without an earlier evaluation nothing can have ended: its absence only says that nobody remembers.
  const conclusive = documents.evaluation !== undefined;
  const acted = act(inputs, snapshot, evaluation, conclusive);
  const { settings } = rules;
  const cures = depositCures({ snapshot, before: state, transitions: evaluation.transitions, settings });
  const alerts = alertsDue({
    account,
    stored: documents.alerts,
    active: evaluation.active,
    conclusive,
    events: acted.events,
    inForce: controlsInForce(inputs.controls, account.id, now.wallMs),
    snapshot,
    cures,
    reminderMs: inputs.reminderMs,
    nowMs: now.wallMs,
  });
  const isNews = evaluation.transitions.length > 0;
  const decision: AuditDraft[] = isNews
    ? [decisionDraft(account, snapshot, evaluation, { state, now, options })]
    : [];
  const audit = [...decision, ...cures.map((cure) => cureNote(cure, now.wallMs)), ...acted.audit];
  const commit: AccountCommit = {
    base: stored,
    documents: {
      evaluation: evaluation.state,
      ...acted.documents,
      ...(observation.readings === undefined ? {} : { readings: observation.readings }),
      ...(alerts.alerts === undefined ? {} : { alerts: alerts.alerts }),
      ...figuresToStore(inputs, snapshot, evaluation),
    },
    ...(acted.lanes.size === 0 ? {} : { lanes: acted.lanes }),
    ...(audit.length === 0 ? { quiet: 1 } : { audit }),
    ...(inputs.withHistory ? { history: samplesOf(snapshot, rules) } : {}),
  };
  return { snapshot, evaluation, commit, lanes: acted.toRun, notices: alerts.notices, events: acted.events };
}

/** Of an account in which nothing happens not with every poll; see there. */
function figuresToStore(
  { account, stored }: DecideInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
): Pick<AccountDocuments, 'figures'> {
  const scene = { before: stored.documents.figures, snapshot, evaluation, isBusy: isBusy(stored) };
  return figuresDue(scene) ? { figures: figuresOf(snapshot, account.rules.settings) } : {};
}

interface Acted extends Pick<Decided, 'events'> {
  readonly documents: Partial<AccountDocuments>;
  readonly lanes: NonNullable<AccountCommit['lanes']>;
  readonly audit: readonly AuditDraft[];
  readonly toRun: readonly LaneRef[];
}

const NOTHING: Acted = { documents: {}, lanes: new Map(), audit: [], events: [], toRun: [] };

/** What the evaluation means for lanes, limits and routes. */
function act(
  { account, stored, controls, observation, now, laneMs }: DecideInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
  conclusive: boolean,
): Acted {
  const { documents } = stored;
  const { rules } = account;
  const acting = evaluation.active.filter(({ action }) => action.kind !== 'notify');
  if (!canAct(account) && acting.length === 0 && stored.lanes.size === 0 && documents.inbox === undefined) {
    return NOTHING;
  }
  const inForce = controlsInForce(controls, account.id, now.wallMs);
  const requests = requestsOf(documents.requests, acting, conclusive, now.wallMs);
  const ledger = documents.limits ?? EMPTY_LEDGER;
  const admitted = admitEpisodes(ledger, limitInputs(account, inForce, acting, conclusive), laneMs);
  const views = viewsWhenNeeded(account, stored, acting, observation, snapshot, evaluation);
  const { positions } = observation;
  const isComplete = positions?.list.complete === true;
  const routes = documents.routes ?? NO_ROUTES;
  const routed = routeRequests(routes, {
    active: acting,
    conclusive,
    positions: positions === undefined ? [] : views,
    complete: isComplete,
    accountId: account.id,
    intentTtlMs: rules.settings.intentTtlMs,
    nowMs: laneMs,
  });
  const inbox = takeInbox(documents.inbox, {
    positions: isComplete ? views : undefined,
    markets: [...stored.lanes.keys()],
    nowMs: now.wallMs,
  });
  const context = laneContext(
    account,
    { ...documents, ...(requests === undefined ? {} : { requests }), limits: admitted.ledger },
    inForce,
    laneMs,
  );
  const changed = observeLanes(
    stored,
    {
      byMarket: routed.byMarket,
      accountWide: routed.accountWide,
      operator: inbox.wishes,
      conclusive,
      markets: canAct(account) ? marketsOf(observation) : [],
      read: positions && {
        sentAtMs: positions.sentAtMs,
        receivedAtMs: positions.receivedAtMs,
        complete: isComplete,
        positions: views,
      },
    },
    context,
    laneMs,
  );
  const events = [...routed.events, ...changed.events];
  const isSameLedger = JSON.stringify(admitted.ledger) === JSON.stringify(ledger);
  const isSameRoutes = JSON.stringify(routed.state) === JSON.stringify(routes);
  return {
    documents: {
      ...(requests === undefined ? {} : { requests }),
      ...(isSameLedger ? {} : { limits: admitted.ledger }),
      ...(isSameRoutes ? {} : { routes: routed.state }),
      ...(inbox.rest === undefined ? {} : { inbox: inbox.rest }),
      ...(changed.accountLane === undefined ? {} : { accountLane: changed.accountLane }),
    },
    lanes: changed.lanes,
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

/** Computed with decimals, so only where a lane or an order asks for them. */
function viewsWhenNeeded(
  account: WatchedAccount,
  stored: StoredAccount,
  acting: readonly ActionRequest[],
  observation: Observation,
  snapshot: Snapshot,
  evaluation: Evaluation,
): readonly PositionView[] {
  const hasOrders = (stored.documents.inbox?.orders.length ?? 0) > 0;
  if (observation.positions === undefined || !(isBusy(stored) || hasOrders || acting.length > 0)) return [];
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
  before: StoredRequests | undefined,
  active: readonly ActionRequest[],
  conclusive: boolean,
  atMs: number,
): StoredRequests | undefined {
  if (before === undefined && active.length === 0) return undefined;
  if (before?.conclusive === conclusive && JSON.stringify(before.active) === JSON.stringify(active))
    return undefined;
  return { version: 1, active, conclusive, atMs };
}

function decisionDraft(
  account: WatchedAccount,
  snapshot: Snapshot,
  { transitions, decisions, active }: Evaluation,
  inputs: {
    readonly state: Evaluation['state'];
    readonly now: Instant;
    readonly options: { readonly leastIntervalMs: number };
  },
): AuditDraft {
  return {
    kind: 'decision',
    atMs: inputs.now.wallMs,
    transitions,
    decisions,
    active,
    inputs: { snapshot, ...inputs, rules: account.rulesSource },
  };
}
