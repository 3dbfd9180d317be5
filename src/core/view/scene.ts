import { type Controls, type ControlsInForce, controlsInForce } from '../controls/controls.ts';
import { SOURCE_NAMES, type SourceName } from '../fields/field-catalogue.ts';
import { ownStopsOf } from '../orders/protective-stop.ts';
import type { AccountDocuments, StoredAccount } from '../ports/state-store.ts';
import type { AccountQuantities } from '../quantities/account.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import {
  elapsedMs,
  type Instant,
  type Snapshot,
  type SnapshotSources,
  type SourceReading,
} from '../quantities/snapshot.ts';
import { type AccountState, emptyAccountState } from '../rules/account-state.ts';
import { type CompiledRules, compileRules } from '../rules/compiled-rules.ts';
import { evaluatedAccount, marketForecasts, type Subjects, subjectsOf } from '../rules/subjects.ts';

/** A stored account restored as it was evaluated, seen from now. */
export interface Scene {
  /** Rules of the config; without one no rules, with the settings by which the figures were read. */
  readonly rules: CompiledRules;
  readonly evaluation: AccountState;
  readonly isJudged: boolean;
  readonly account: AccountQuantities;
  readonly subjects: Subjects;
  readonly inForce: ControlsInForce;
  readonly nowMs: number;
  readonly withReasons: boolean;
}

interface SceneInputs extends Pick<Scene, 'nowMs' | 'withReasons'> {
  readonly stored: StoredAccount;
  readonly rules?: CompiledRules | undefined;
  readonly controls: Controls;
}

/** Clock id of the viewer: durations to it are measured by the wall clocks. */
const VIEWER = 'viewer';

export function sceneOf({ stored, rules, controls, nowMs, withReasons }: SceneInputs): Scene {
  const { accountId, documents } = stored;
  const used = rules ?? compileRules([], settingsAsRead(accountId, documents));
  const evaluation = documents.evaluation ?? emptyAccountState(accountId);
  const now: Instant = { wallMs: nowMs, monotonicMs: 0, clockId: VIEWER };
  const snapshot = snapshotOf(stored, evaluation);
  const account = evaluatedAccount(snapshot ?? nothingRead(accountId, now), used.settings, now, evaluation);
  return {
    rules: used,
    evaluation,
    isJudged: snapshot !== undefined,
    account,
    subjects: subjectsOf(account, evaluation, marketForecasts(evaluation)),
    inForce: controlsInForce(controls, accountId, nowMs),
    nowMs,
    withReasons,
  };
}

function nothingRead(accountId: string, at: Instant): Snapshot {
  return { version: 1, accountId, at, sources: {}, ownStops: [] };
}

/** Data of the last evaluation; the figures may be slightly older than the read that was evaluated last. */
function snapshotOf(stored: StoredAccount, evaluation: AccountState): Snapshot | undefined {
  const { documents, accountId } = stored;
  const at = evaluation.passage?.at;
  if (at === undefined) return undefined;
  const { figures } = documents;
  const { ages } = evaluation;
  const sources: Partial<Record<SourceName, SourceReading<unknown>>> = {};
  for (const source of SOURCE_NAMES) {
    const reading: SourceReading<unknown> | undefined =
      source === 'positions' || source === 'creditLine'
        ? everyPoll(figures?.[source], ages[source], figures && elapsedMs(figures.at, at))
        : carriedOver(documents, source, at);
    if (reading !== undefined) sources[source] = reading;
  }
  const ownStops = ownStopsOf(stored);
  return { version: 1, accountId, at, sources: sources as SnapshotSources, ownStops };
}

/** The read that the figures show, dated as the one evaluated last. */
function everyPoll(
  figures: SourceReading<unknown> | undefined,
  ageMs: number | undefined,
  sinceFiguresMs = 0,
): SourceReading<unknown> | undefined {
  if (ageMs === undefined) return undefined;
  if (figures?.kind !== 'read') return { kind: 'notRead', ageMs };
  if (figures.serverDateMs === undefined) return { ...figures, ageMs };
  const serverDateMs = figures.serverDateMs + Math.max(0, figures.ageMs + sinceFiguresMs - ageMs);
  return { ...figures, ageMs, serverDateMs };
}

function carriedOver(
  { readings }: AccountDocuments,
  source: SourceName,
  at: Instant,
): SourceReading<unknown> | undefined {
  const reading: SourceReading<unknown> | undefined = readings?.sources[source];
  if (readings === undefined || reading === undefined) return undefined;
  return { ...reading, ageMs: reading.ageMs + elapsedMs(readings.at, at) };
}

/** Settings of an account that is not in the config: those that decide how records are read are stored. */
function settingsAsRead(accountId: string, { figures }: AccountDocuments): AccountSettings {
  return {
    ...UNKNOWN_SETTINGS,
    accountId,
    ...(figures?.settings ?? { mode: 'observe', bothSign: 'signed', ltvUnit: 'auto', maxSnapshotAgeMs: 0 }),
  };
}

/** Stand-ins for settings that are not stored. Most of the view is independent of them. */
const UNKNOWN_SETTINGS = {
  labels: {},
  marginModel: 'auto',
  nonceMode: 'unique',
  cancelCoversStops: false,
  cancel: 'never',
  ownOrders: 'possible',
  hedge: 'net',
  overshoot: 'never',
  lateArrivalMs: 0,
  readLagMs: 0,
  fillWithinMs: 0,
  intentTtlMs: 0,
  maxOrderReadAgeMs: 0,
  maxRenewals: 0,
  maxAttempts: 0,
  mostSets: 12,
  distanceTolerance: 0,
  largestReduction: 0,
  cadence: { calmMs: 0, alertMs: 0 },
  marketSettings: () => undefined,
} as const;
