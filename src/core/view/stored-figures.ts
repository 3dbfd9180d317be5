import type { SourceName } from '../fields/field-catalogue.ts';
import type { CreditLineRecord, PositionRecord, RecordList } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { Instant, Snapshot, SourceReading } from '../quantities/snapshot.ts';
import type { Evaluation } from '../rules/evaluate.ts';

/**
 * The last read of positions and credit lines, as it came: polls compute nothing for pages that nobody has open, and
 * every figure that a rule can ask for can be shown.
 */
export interface StoredFigures {
  readonly version: 1;
  readonly at: Instant;
  /** By which the records were read, for whoever has no config. */
  readonly settings: FigureSettings;
  readonly positions?: SourceReading<RecordList<PositionRecord>>;
  readonly creditLine?: SourceReading<RecordList<CreditLineRecord>>;
  /** Sources whose newest read failed; absent: none. */
  readonly failures?: readonly ReadFailure[];
}

/** Why the newest read of a source failed. */
export interface ReadFailure {
  readonly source: SourceName;
  /** Name in the exchange's error catalogue, or `noReply`: it is still being waited for. */
  readonly error: string;
  readonly httpStatus?: number;
  /** Without secrets and personal data. */
  readonly words: string;
  /** Since when reads have failed like this, Unix milliseconds. */
  readonly sinceMs: number;
}

export type FigureSettings = Pick<AccountSettings, 'mode' | 'bothSign' | 'ltvUnit' | 'maxSnapshotAgeMs'>;

/** Every write is 2 KB through Redis and its append-only file; a calm page need not be newer. */
export const FIGURES_EVERY_MS = 5_000;

export function figuresOf(
  { at, sources }: Snapshot,
  settings: FigureSettings,
  failures: readonly ReadFailure[] = [],
): StoredFigures {
  const { mode, bothSign, ltvUnit, maxSnapshotAgeMs } = settings;
  return {
    version: 1,
    at,
    settings: { mode, bothSign, ltvUnit, maxSnapshotAgeMs },
    ...(sources.positions === undefined ? {} : { positions: sources.positions }),
    ...(sources.creditLine === undefined ? {} : { creditLine: sources.creditLine }),
    ...(failures.length === 0 ? {} : { failures }),
  };
}

export interface FiguresScene {
  readonly before: StoredFigures | undefined;
  readonly snapshot: Snapshot;
  readonly failures: readonly ReadFailure[];
  readonly evaluation: Pick<Evaluation, 'state' | 'transitions' | 'nextDue'>;
  /** Something is to be done in some market of the account. */
  readonly isBusy: boolean;
}

/** Whether figures are to be written with this evaluation: at once where something is going on. */
export function figuresDue({ before, snapshot, failures, evaluation, isBusy }: FiguresScene): boolean {
  if (before === undefined || isBusy || evaluation.transitions.length > 0) return true;
  if (!failsAlike(before.failures ?? [], failures)) return true;
  const { reason } = evaluation.nextDue;
  if (reason === 'ruleActive' || reason === 'marginCall' || reason === 'blind') return true;
  return sinceMs(before.at, snapshot.at) >= FIGURES_EVERY_MS || !hasSameSubjects(before, snapshot);
}

function failsAlike(before: readonly ReadFailure[], now: readonly ReadFailure[]): boolean {
  return (
    before.length === now.length &&
    now.every(({ source, error, httpStatus }) =>
      before.some((one) => one.source === source && one.error === error && one.httpStatus === httpStatus),
    )
  );
}

/** A wall clock that stepped back makes them due rather than never due. */
function sinceMs(before: Instant, now: Instant): number {
  return before.clockId === now.clockId
    ? now.monotonicMs - before.monotonicMs
    : Math.abs(now.wallMs - before.wallMs);
}

function hasSameSubjects(before: StoredFigures, { sources }: Snapshot): boolean {
  return (
    isSameList(before.positions, sources.positions, ({ positionId }) => positionId) &&
    isSameList(before.creditLine, sources.creditLine, ({ asset, createdAt }) => `${asset}@${createdAt}`)
  );
}

function isSameList<T>(
  before: SourceReading<RecordList<T>> | undefined,
  now: SourceReading<RecordList<T>> | undefined,
  keyOf: (record: T) => string,
): boolean {
  if (before?.kind !== 'read' || now?.kind !== 'read') return before?.kind === now?.kind;
  const [old, current] = [before.value.records, now.value.records];
  return (
    old.length === current.length && old.every((record, index) => keyOf(record) === keyOf(current[index]!))
  );
}
