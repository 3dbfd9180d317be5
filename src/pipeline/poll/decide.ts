import { controlsInForce } from '../../core/controls/controls.ts';
import { ALL_MARKETS } from '../../core/digest/sighting.ts';
import { explainedClosures } from '../../core/lanes/absence.ts';
import type { OwnOrder } from '../../core/lanes/own-order.ts';
import type { HistorySample } from '../../core/ports/history-reader.ts';
import type { LaneRef } from '../../core/ports/lane-dispatcher.ts';
import type { Escalation, Notice } from '../../core/ports/notifier.ts';
import type { AccountCommit, AccountDocuments } from '../../core/ports/state-store.ts';
import type { Quantity } from '../../core/quantities/quantity.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';
import type { Instant, Snapshot } from '../../core/quantities/snapshot.ts';
import { type AccountState, emptyAccountState } from '../../core/rules/account-state.ts';
import { type Evaluation, evaluate } from '../../core/rules/evaluate.ts';
import { creditLineKey } from '../../core/rules/memory.ts';
import { withoutOvertaken } from '../../core/rules/overtaken.ts';
import { evaluatedAccount, positionKey } from '../../core/rules/subjects.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { blindSpots } from '../../core/view/blindness.ts';
import { figuresDue, figuresOf } from '../../core/view/stored-figures.ts';
import { viewAccount } from '../../core/view/view-account.ts';
import { withCosts } from '../act/follow-lane-costs.ts';
import type { ActingInputs } from '../act/lane-at-rest.ts';
import { type Acted, routeDecisions } from '../act/route-decisions.ts';
import { alertsDue } from '../alerts/alerts-due.ts';
import { cureNote, depositCures } from '../alerts/deposit-cure.ts';
import { snapshotOf } from './observe-account.ts';

export interface DecideInputs extends ActingInputs {
  readonly reminderMs: number;
  readonly escalation?: Escalation | undefined;
  readonly withHistory: boolean;
}

/** Step two of a poll: all consequences, as one change of the stored account. */
export interface Decided {
  readonly snapshot: Snapshot;
  readonly evaluation: Evaluation;
  /** Without the due time, which depends on when the poll ends. */
  readonly commit: AccountCommit;
  readonly lanes: readonly LaneRef[];
  readonly notices: readonly Notice[];
  readonly events: Acted['events'];
  /** Whether requests that are no longer active have ended. */
  readonly conclusive: boolean;
}

/** Pure: the same inputs give the same change. */
export function decide(inputs: DecideInputs): Decided {
  const { account, stored, observation, now } = inputs;
  const { rules } = account;
  const { settings } = rules;
  const { documents } = stored;
  const { positions } = observation.sources;
  const shown = positions?.kind === 'read' ? positions.value.records : [];
  const shownIds = new Set(shown.map(({ positionId }) => positionId));
  const closedByUs = explainedClosures(stored.lanes.values(), shownIds, settings, inputs.moment.nowMs);
  const state = documents.evaluation ?? emptyAccountState(account.id);
  const laneNowMs = inputs.moment.nowMs;
  const isNew = observation.positions?.isNew === true;
  const observed = snapshotOf(observation, stored, closedByUs);
  const snapshot = withoutOvertaken(observed, state, { laneNowMs, isNew });
  const options = { leastIntervalMs: account.leastIntervalMs, laneNowMs };
  const judged = { snapshot, state, now, options };
  const evaluation = evaluate(judged, rules);
  // Without an earlier evaluation nothing can have ended: there is just no memory of what fired.
  const conclusive = documents.evaluation !== undefined;
  const routed = routeDecisions({ ...inputs, snapshot, evaluation, conclusive });
  const acted = withCosts(routed, inputs, snapshot);
  const spots = blindSpots(snapshot, evaluation, documents.figures?.failures ?? [], now.wallMs);
  const failures = [...observation.failures, ...spots];
  const seen = { ...inputs, observation: { ...observation, failures } };
  const cures = depositCures({ snapshot, before: state, transitions: evaluation.transitions, settings });
  const alerts = alertsDue({
    account,
    stored: documents.alerts,
    active: evaluation.active,
    conclusive,
    events: acted.events,
    asked: acted.asked,
    settled: acted.settled,
    inForce: controlsInForce(inputs.controls, account.id, laneNowMs),
    snapshot,
    failures,
    cures,
    transitions: evaluation.transitions,
    lanes: [...stored.lanes].map(([market, lane]) => acted.lanes.get(market) ?? lane),
    stopsBefore: [...stored.lanes.values()].flatMap(({ orders }) => orders.filter(isStandingStop)),
    before: state,
    view: accountAfter(seen, snapshot, evaluation, acted),
    reminderMs: inputs.reminderMs,
    escalation: inputs.escalation,
    nowMs: now.wallMs,
    laneNowMs,
  });
  const audit = [...cures.map((cure) => cureNote(cure, now.wallMs)), ...acted.audit];
  if (evaluation.transitions.length > 0) {
    const { transitions, decisions, active } = evaluation;
    const recorded = { ...judged, rules: account.rulesSource };
    audit.unshift({ kind: 'decision', atMs: now.wallMs, transitions, decisions, active, inputs: recorded });
  }
  const commit: AccountCommit = {
    base: stored,
    documents: {
      evaluation: evaluation.state,
      ...acted.documents,
      ...(observation.readings === undefined ? {} : { readings: observation.readings }),
      ...(alerts.alerts === undefined ? {} : { alerts: alerts.alerts }),
      ...figuresToStore(seen, snapshot, evaluation, acted),
    },
    ...(acted.lanes.size === 0 ? {} : { lanes: acted.lanes, separable: acted.separable }),
    ...(audit.length === 0 ? { quiet: 1 } : { audit }),
    ...(inputs.withHistory ? { history: historySamples(snapshot, evaluation.state, now, settings) } : {}),
  };
  const { toRun: lanes, events } = acted;
  return { snapshot, evaluation, commit, lanes, notices: alerts.notices, events, conclusive };
}

function isStandingStop({ role, trial, status }: OwnOrder): boolean {
  return role === 'cover' && trial !== true && status === 'open';
}

/** Figures of an idle account are not stored with every poll: see `figuresDue`. */
function figuresToStore(
  { account, stored, observation: { failures } }: DecideInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
  { lanes, toRun }: Acted,
): Pick<AccountDocuments, 'figures'> {
  const isBusy = lanes.size + toRun.length > 0;
  const scene = { before: stored.documents.figures, snapshot, failures, evaluation, isBusy };
  return figuresDue(scene) ? { figures: figuresOf(snapshot, account.rules.settings, failures) } : {};
}

/** The account as the page and `status` will show it once this evaluation is committed; computed at the first call. */
function accountAfter(
  { account, stored, observation, controls, now }: ActingInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
  acted: Acted,
): () => AccountView {
  const made = (): AccountView => {
    const documents = {
      ...stored.documents,
      evaluation: evaluation.state,
      ...acted.documents,
      ...(observation.readings === undefined ? {} : { readings: observation.readings }),
      figures: figuresOf(snapshot, account.rules.settings, observation.failures),
    };
    const lanes = new Map(stored.lanes);
    for (const [market, lane] of acted.lanes) {
      if (lane === null) lanes.delete(market);
      else lanes.set(market, lane);
    }
    return viewAccount({
      load: { kind: 'loaded', account: { ...stored, documents, lanes } },
      rules: account.rules,
      controls,
      nowMs: now.wallMs,
    });
  };
  let view: AccountView | undefined;
  return () => {
    view ??= made();
    return view;
  };
}

/** The figures of each subject that curves and digests use. */
export function historySamples(
  snapshot: Snapshot,
  state: AccountState,
  now: Instant,
  settings: AccountSettings,
): readonly HistorySample[] {
  const account = evaluatedAccount(snapshot, settings, now, state);
  const samples: HistorySample[] = account.positions.map((position) => {
    const { direction, markPrice, liquidationDistance, record } = position;
    const { market, amount } = record;
    const values = { market, amount, ...known({ direction, markPrice, liquidationDistance }) };
    return { subject: positionKey(record.positionId), values };
  });
  // For a single position the joint distance equals its own distance.
  if (samples.length > 1) {
    const { jointDistance } = account;
    if (jointDistance.kind === 'value')
      samples.push({ subject: ALL_MARKETS, values: { jointDistance: jointDistance.value } });
  }
  for (const creditLine of account.creditLines) {
    const [currentLtv, marginCallLtv] = [creditLine.ltv('currentLtv'), creditLine.ltv('marginCallLtv')];
    samples.push({
      subject: creditLineKey(creditLine.record),
      values: { amount: creditLine.record.amount, ...known({ currentLtv, marginCallLtv }) },
    });
  }
  return samples;
}

function known(quantities: Readonly<Record<string, Quantity<number | string>>>): HistorySample['values'] {
  return Object.fromEntries(
    Object.entries(quantities).flatMap(([name, one]) => (one.kind === 'value' ? [[name, one.value]] : [])),
  );
}
