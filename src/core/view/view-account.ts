import { type Controls, controlsInForce } from '../controls/controls.ts';
import { SOURCE_NAMES } from '../fields/field-catalogue.ts';
import type { RecordList } from '../ports/exchange.ts';
import type { AccountLoad, RefusedAccount } from '../ports/state-store.ts';
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
import { doubtLines, intentFigures, intentLines, orderLines } from './lane-lines.ts';
import { ruleLines } from './rule-lines.ts';
import { type Scene, sceneOf } from './scene.ts';

export interface ViewInputs {
  readonly load: AccountLoad;
  /** Absent: the account is not in the config of this process. */
  readonly rules?: CompiledRules | undefined;
  /** Those of its bucket. */
  readonly controls: Controls;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Assets of the main balance to show; absent: those that are not zero. */
  readonly balances?: readonly string[] | undefined;
}

/** Everything there is to say of one account now: a pure function of the shared state and the config. */
export function viewAccount(inputs: ViewInputs): AccountView {
  const { load, rules, controls, nowMs } = inputs;
  if (load.kind === 'refused') return refusedView(load.problem, inputs);
  const { account: stored } = load;
  const scene = sceneOf({ stored, rules, controls, nowMs, withReasons: true });
  const { evaluation, inForce } = scene;
  const { documents, accountId } = stored;
  const lanes = [...stored.lanes.values()];
  const passage = evaluation.passage;
  const lines = ruleLines(scene);
  return {
    accountId,
    labels: scene.rules.settings.labels,
    mode: rules?.settings.mode ?? documents.figures?.settings.mode ?? null,
    pause: inForce.pause ?? null,
    silences: inForce.silences,
    epoch: stored.version === 0 ? null : stored.epoch,
    judgedAtMs: passage?.at.wallMs ?? null,
    nextDueAtMs: passage === undefined ? null : passage.at.wallMs + passage.plannedMs,
    figuresAtMs: documents.figures?.at.wallMs ?? null,
    worst: worstOf(lines),
    danger: stored.danger,
    jointDistance: figureOf(scene.account.jointDistance),
    sources: sourceViews(scene),
    positions: positionLines(scene),
    creditLines: creditLineLines(scene),
    balances: balanceLines(scene, inputs.balances),
    rules: lines,
    intents: intentLines(lanes),
    orders: orderLines(lanes),
    inbox: documents.inbox?.orders ?? [],
    doubts: doubtLines(lanes),
    refused: null,
  };
}

/** The figures of `viewAccount` alone: a third of its work, for whoever needs them of all accounts at once. */
export function accountFigures(inputs: Omit<ViewInputs, 'balances'>): AccountFigures {
  const { load, rules, controls, nowMs } = inputs;
  if (load.kind === 'refused') return refusedView(load.problem, inputs);
  const { account: stored } = load;
  const scene = sceneOf({ stored, rules, controls, nowMs, withReasons: false });
  const { documents, accountId, danger } = stored;
  return {
    accountId,
    mode: rules?.settings.mode ?? documents.figures?.settings.mode ?? null,
    pause: scene.inForce.pause ?? null,
    judgedAtMs: scene.evaluation.passage?.at.wallMs ?? null,
    danger,
    jointDistance: figureOf(scene.account.jointDistance),
    sources: sourceViews(scene),
    positions: scene.subjects.positions.subjects.map(positionFigures),
    creditLines: scene.subjects.creditLines.subjects.map(creditLineFigures),
    rules: ruleLines(scene),
    intents: intentFigures([...stored.lanes.values()]),
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
