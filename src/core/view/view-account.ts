import { type Controls, controlsInForce } from '../controls/controls.ts';
import { SOURCE_NAMES } from '../fields/field-catalogue.ts';
import type { RecordList } from '../ports/exchange.ts';
import type { AccountLoad, RefusedAccount, StoredAccount } from '../ports/state-store.ts';
import { type DecimalString, isDecimalString, toDecimal, ZERO } from '../quantities/decimal.ts';
import { countSetAside } from '../quantities/snapshot.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { Severity } from '../rules/rule.ts';
import {
  type AccountFigures,
  type AccountView,
  emptyView,
  type RuleLine,
  type SourceView,
} from './account-view.ts';
import {
  creditLineFigures,
  creditLineLines,
  figureOf,
  positionFigures,
  positionLines,
} from './figure-lines.ts';
import { doubtLines, intentLines, orderLines } from './lane-lines.ts';
import { ruleLines } from './rule-lines.ts';
import { type Scene, sceneOf } from './scene.ts';

export interface ViewInputs {
  readonly load: AccountLoad;
  /** Absent: the account is not in the config of this process. */
  readonly rules?: CompiledRules | undefined;
  readonly controls: Controls;
  readonly nowMs: number;
  /** Assets of the main balance to show; absent: those that are not zero. */
  readonly balances?: readonly string[] | undefined;
}

/** Everything there is to say of one account now: a pure function of the shared state and the config. */
export function viewAccount(inputs: ViewInputs): AccountView {
  const { load, balances } = inputs;
  if (load.kind === 'refused') return refusedView(load.problem, inputs);
  const { account: stored } = load;
  const { figures, inbox } = stored.documents;
  const scene = sceneOf({ ...inputs, stored, withReasons: true });
  const lanes = [...stored.lanes.values()];
  const { passage } = scene.evaluation;
  const shared = sharedView(stored, scene, inputs);
  return {
    // First, as it has the order in which JSON shows all of it.
    ...emptyView(stored.accountId),
    ...shared,
    labels: scene.rules.settings.labels,
    silences: scene.inForce.silences,
    epoch: stored.version === 0 ? null : stored.epoch,
    nextDueAtMs: passage === undefined ? null : passage.at.wallMs + passage.plannedMs,
    figuresAtMs: figures?.at.wallMs ?? null,
    worst: worstOf(shared.rules),
    positions: positionLines(scene),
    creditLines: creditLineLines(scene),
    balances: balanceLines(scene, balances),
    orders: orderLines(lanes),
    inbox: inbox?.orders ?? [],
    doubts: doubtLines(lanes),
  };
}

/** The figures of `viewAccount` alone: a third of its work, for metrics, which need those of all accounts at once. */
export function accountFigures(inputs: Omit<ViewInputs, 'balances'>): AccountFigures {
  const { load } = inputs;
  if (load.kind === 'refused') return refusedView(load.problem, inputs);
  const { account: stored } = load;
  const scene = sceneOf({ ...inputs, stored, withReasons: false });
  return {
    ...sharedView(stored, scene, inputs),
    positions: scene.subjects.positions.subjects.map(positionFigures),
    creditLines: scene.subjects.creditLines.subjects.map(creditLineFigures),
  };
}

function sharedView(
  { accountId, danger, documents, lanes }: StoredAccount,
  scene: Scene,
  { rules }: ViewInputs,
) {
  return {
    accountId,
    mode: rules?.settings.mode ?? documents.figures?.settings.mode ?? null,
    pause: scene.inForce.pause ?? null,
    judgedAtMs: scene.evaluation.passage?.at.wallMs ?? null,
    danger,
    jointDistance: figureOf(scene.account.jointDistance),
    sources: sourceViews(scene),
    rules: ruleLines(scene),
    intents: intentLines([...lanes.values()]),
    refused: null,
  };
}

function refusedView(
  { accountId, document, message }: RefusedAccount,
  { rules, controls, nowMs }: ViewInputs,
): AccountView {
  const { pause, silences } = controlsInForce(controls, accountId, nowMs);
  return {
    ...emptyView(accountId),
    labels: rules?.settings.labels ?? {},
    mode: rules?.settings.mode ?? null,
    pause: pause ?? null,
    silences,
    refused: { document, message },
  };
}

const RANKS: Readonly<Record<Severity, number>> = { info: 1, warning: 2, critical: 3 };

function worstOf(lines: readonly RuleLine[]): Severity | null {
  let worst: Severity | null = null;
  for (const { phase, severity } of lines) {
    if (phase !== 'firing' || severity === null) continue;
    if (worst === null || RANKS[severity] > RANKS[worst]) worst = severity;
  }
  return worst;
}

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
        readAtMs: isRead ? nowMs - ageMs : null,
        ageMs,
        complete: isRead && complete,
        setAside: countSetAside(aside),
        tooOld: !isRead || ageMs > account.settings.maxSnapshotAgeMs,
      },
    ];
  });
}

const EVERYTHING: RecordList<unknown> = { records: [], setAside: [], complete: true };

/** An asset that is absent from a valid reply is zero; without a reply nothing is known of any. */
function balanceLines({ account }: Scene, wanted: readonly string[] | undefined): AccountView['balances'] {
  const reading = account.snapshot.sources.mainBalance;
  if (reading?.kind !== 'read') return [];
  const reported = reading.value;
  const isShown = (text: DecimalString): boolean => isDecimalString(text) && !toDecimal(text).eq(ZERO);
  const assets = wanted ?? Object.keys(reported).filter((asset) => isShown(reported[asset]!));
  return assets.map((asset) => ({
    asset,
    available: Object.hasOwn(reported, asset) ? reported[asset]! : ('0' as DecimalString),
  }));
}
