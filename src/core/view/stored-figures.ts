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
}

export type FigureSettings = Pick<AccountSettings, 'mode' | 'bothSign' | 'ltvUnit' | 'maxSnapshotAgeMs'>;

/** Every write is 2 KB through Redis and its append-only file; a calm page need not be newer. */
export const FIGURES_EVERY_MS = 5_000;

export function figuresOf({ at, sources }: Snapshot, settings: FigureSettings): StoredFigures {
  const { mode, bothSign, ltvUnit, maxSnapshotAgeMs } = settings;
  return {
    version: 1,
    at,
    settings: { mode, bothSign, ltvUnit, maxSnapshotAgeMs },
    ...(sources.positions === undefined ? {} : { positions: sources.positions }),
    ...(sources.creditLine === undefined ? {} : { creditLine: sources.creditLine }),
  };
}

export interface FiguresScene {
  readonly before: StoredFigures | undefined;
  readonly snapshot: Snapshot;
  readonly evaluation: Pick<Evaluation, 'state' | 'transitions' | 'nextDue'>;
  /** Something is to be done in some market of the account. */
  readonly isBusy: boolean;
}

/** Whether figures are to be written with this evaluation: at once where something is going on. */
export function figuresDue({ before, snapshot, evaluation, isBusy }: FiguresScene): boolean {
  if (before === undefined || isBusy || evaluation.transitions.length > 0) return true;
  const { reason } = evaluation.nextDue;
  if (reason === 'ruleActive' || reason === 'marginCall' || reason === 'blind') return true;
  return sinceMs(before.at, snapshot.at) >= FIGURES_EVERY_MS || !hasSameSubjects(before, snapshot);
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
