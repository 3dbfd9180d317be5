import { type Controls, controlsInForce } from '../controls/controls.ts';
import { SOURCE_NAMES } from '../fields/field-catalogue.ts';
import type { RecordList } from '../ports/exchange.ts';
import type { AccountLoad, RefusedAccount, StoredAccount } from '../ports/state-store.ts';
import { type DecimalString, isDecimalString, toDecimal, ZERO } from '../quantities/decimal.ts';
import { countSetAside } from '../quantities/snapshot.ts';
import { moneyOf } from '../quantities/units.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import {
  type AccountFigures,
  type AccountView,
  emptyView,
  type PositionFigures,
  type SourceView,
} from './account-view.ts';
import { atRiskOf, nearestOf } from './at-risk.ts';
import {
  creditLineFigures,
  creditLineLines,
  figureOf,
  positionFigures,
  positionLines,
} from './figure-lines.ts';
import { doubtLines, intentLines, orderLines, questionLines } from './lane-lines.ts';
import { noticeLines } from './notice-lines.ts';
import { ruleLines } from './rule-lines.ts';
import { type Scene, sceneOf } from './scene.ts';
import { type StateInputs, stateOf, worstFiring } from './state-of.ts';

export interface ViewInputs {
  readonly load: AccountLoad;
  /** Absent: the account is not in the config of this process. */
  readonly rules?: CompiledRules | undefined;
  readonly controls: Controls;
  readonly nowMs: number;
  /** Assets of the main balance to show; absent: those that are not zero. */
  readonly balances?: readonly string[] | undefined;
  /** `lost`: the stored state can no longer be read and was read earlier. Default: `ok`. */
  readonly storeLink?: StateInputs['storeLink'];
}

/** The complete view of an account now: a pure function of shared state and config. */
export function viewAccount(inputs: ViewInputs): AccountView {
  const { load, balances } = inputs;
  if (load.kind === 'refused') return refusedView(load.problem, inputs);
  const { account: stored } = load;
  const { figures, inbox, alerts } = stored.documents;
  const scene = sceneOf({ ...inputs, stored, withReasons: true });
  const lanes = [...stored.lanes.values()];
  const { passage } = scene.evaluation;
  const positions = positionLines(scene);
  const creditLines = creditLineLines(scene);
  const shared = sharedView(stored, scene, inputs, positions);
  return {
    // First, because it defines the key order of the JSON.
    ...emptyView(stored.accountId, shared.state),
    ...shared,
    labels: scene.rules.settings.labels,
    silences: scene.inForce.silences,
    epoch: stored.version === 0 ? null : stored.epoch,
    nextDueAtMs: passage === undefined ? null : Math.round(passage.at.wallMs + passage.plannedMs),
    figuresAtMs: figures?.at.wallMs ?? null,
    worst: worstFiring(shared.rules),
    positions,
    failures: figures?.failures ?? [],
    creditLines,
    nearest: nearestOf({ ...shared, positions, creditLines }),
    atRisk: atRiskOf({ positions, creditLines }, (market) => moneyOf(market, scene.rules.settings)),
    balances: balanceLines(scene, balances),
    notices: noticeLines(alerts, shared.rules, scene.inForce),
    orders: orderLines(lanes),
    inbox: inbox?.orders ?? [],
    doubts: doubtLines(lanes),
  };
}

/** The figures of `viewAccount` alone, for a third of its work: metrics need those of all accounts at once. */
export function accountFigures(inputs: Omit<ViewInputs, 'balances'>): AccountFigures {
  const { load } = inputs;
  if (load.kind === 'refused') return refusedView(load.problem, inputs);
  const { account: stored } = load;
  const scene = sceneOf({ ...inputs, stored, withReasons: false });
  const positions = scene.subjects.positions.subjects.map(positionFigures);
  const shared = sharedView(stored, scene, inputs, positions);
  const { kind, cause, severity } = shared.state;
  return {
    ...shared,
    state: { kind, cause, severity },
    positions,
    creditLines: scene.subjects.creditLines.subjects.map(creditLineFigures),
  };
}

function sharedView(
  { accountId, danger, documents, lanes: byMarket }: StoredAccount,
  scene: Scene,
  { rules, storeLink = 'ok', nowMs }: ViewInputs,
  positions: readonly PositionFigures[],
) {
  const lanes = [...byMarket.values()];
  const { passage } = scene.evaluation;
  const seen = {
    refused: null,
    mode: rules?.settings.mode ?? documents.figures?.settings.mode ?? null,
    pause: scene.inForce.pause ?? null,
    judgedAtMs: passage?.at.wallMs ?? null,
    sources: sourceViews(scene),
    rules: ruleLines(scene),
  };
  const { approval } = scene.rules.settings;
  const questions =
    documents.approvals === undefined
      ? []
      : questionLines(documents.approvals, lanes, approval?.withoutAnswer ?? 'act');
  return {
    accountId,
    questions,
    state: stateOf({
      ...seen,
      questions,
      overdueAfterMs: overdueAfterMs(scene),
      failures: documents.figures?.failures ?? [],
      positions,
      lanes,
      storeLink,
      nowMs,
    }),
    danger,
    jointDistance: figureOf(scene.account.jointDistance),
    intents: intentLines(lanes),
    ...seen,
  };
}

/** A dead process is replaced within 5 s; nothing is wrong before that. */
const LEAST_OVERDUE_MS = 10_000;
const MISSED_POLLS = 3;

function overdueAfterMs({ rules, evaluation }: Scene): number {
  const pollsMs = Math.max(rules.settings.cadence.calmMs, evaluation.passage?.plannedMs ?? 0);
  return Math.max(LEAST_OVERDUE_MS, MISSED_POLLS * pollsMs);
}

function refusedView(
  { accountId, document, message }: RefusedAccount,
  { rules, controls, nowMs, storeLink = 'ok' }: ViewInputs,
): AccountView {
  const { pause, silences } = controlsInForce(controls, accountId, nowMs);
  const refused = { document, message };
  return {
    ...emptyView(accountId, stateOf({ ...NOTHING_SEEN, refused, storeLink, nowMs })),
    labels: rules?.settings.labels ?? {},
    mode: rules?.settings.mode ?? null,
    pause: pause ?? null,
    silences,
    refused,
  };
}

const NOTHING_SEEN = {
  mode: null,
  pause: null,
  judgedAtMs: null,
  overdueAfterMs: LEAST_OVERDUE_MS,
  sources: [],
  failures: [],
  rules: [],
  positions: [],
  lanes: [],
  questions: [],
} as const;

/** View of an account that could not be read because the store is lost. */
export function lostView(accountId: string): AccountView {
  return emptyView(accountId, LOST);
}

const LOST = stateOf({ ...NOTHING_SEEN, refused: null, storeLink: 'lost', nowMs: 0 });

function sourceViews({ account, nowMs }: Scene): readonly SourceView[] {
  const { sources } = account.snapshot;
  return SOURCE_NAMES.flatMap((source): readonly SourceView[] => {
    const reading = sources[source];
    const ageMs = account.ageMs(source);
    if (reading === undefined || ageMs === undefined) return [];
    const list = reading.kind === 'read' && source !== 'mainBalance' ? reading.value : undefined;
    const { complete, ...aside } = (list ?? EVERYTHING) as RecordList<unknown>;
    const isRead = reading.kind === 'read';
    return [
      {
        source,
        readAtMs: isRead ? Math.round(nowMs - ageMs) : null,
        ageMs,
        complete: isRead && complete,
        setAside: countSetAside(aside),
        tooOld: !isRead || ageMs > account.settings.maxSnapshotAgeMs,
      },
    ];
  });
}

const EVERYTHING: RecordList<unknown> = { records: [], setAside: [], complete: true };

/** An asset absent from a valid reply is zero; without a reply all are unknown. */
function balanceLines({ account }: Scene, wanted: readonly string[] | undefined): AccountView['balances'] {
  const reading = account.snapshot.sources.mainBalance;
  if (reading?.kind !== 'read') return [];
  const reported = reading.value;
  const isShown = (text: DecimalString): boolean => isDecimalString(text) && !toDecimal(text).eq(ZERO);
  const assets = wanted ?? Object.keys(reported);
  return assets.flatMap((asset) => {
    const available = Object.hasOwn(reported, asset) ? reported[asset] : ('0' as DecimalString);
    const isKnown =
      available !== undefined && available !== null && (wanted !== undefined || isShown(available));
    return isKnown ? [{ asset, available }] : [];
  });
}
