import { z } from 'zod';
import { SOURCE_NAMES } from '../fields/field-catalogue.ts';
import type { CreditLineRecord, PositionList, RecordList } from '../ports/exchange.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { Instant, Snapshot, SourceReading } from '../quantities/snapshot.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import { creditLineKey } from '../rules/memory.ts';
import { named, type OutputOf, timeMs } from '../schema/parts.ts';

/**
 * The last read of positions and credit lines, unprocessed: polls compute nothing for pages that are not open, and
 * every field can still be shown.
 */
export interface StoredFigures {
  readonly version: 1;
  readonly at: Instant;
  /** The settings for reading the records, for processes without the account's config. */
  readonly settings: FigureSettings;
  readonly positions?: SourceReading<PositionList>;
  readonly creditLine?: SourceReading<RecordList<CreditLineRecord>>;
  /** Sources whose newest read failed or lacks something; absent: none. */
  readonly failures?: readonly ReadFailure[];
}

/** Why the newest read of a source failed, or what rules need that it does not show. */
export const failureSchema = named('ReadFailure', () => ({
  source: z.enum(SOURCE_NAMES),
  /** Or `noReply` while the reply is outstanding, or see `isInPart`. */
  error: z.string().describe('Name in the error catalogue of the client.'),
  httpStatus: z.number().int().exactOptional(),
  /** Contains no secrets or personal data. */
  words: z.string(),
  /** Since when reads have failed this way. */
  sinceMs: timeMs(),
}));
export type ReadFailure = OutputOf<typeof failureSchema>;

export type FigureSettings = Pick<AccountSettings, 'mode' | 'bothSign' | 'ltvUnit' | 'maxSnapshotAgeMs'>;

/** Each write sends 2 KB through Redis and its append-only file, and a calm page need not be newer. */
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
  /** A market of the account has work to do. */
  readonly isBusy: boolean;
}

/** Whether to write figures with this evaluation: at once if something is going on. */
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

/** The absolute value makes figures due, not overdue forever, after a wall clock stepped back. */
function sinceMs(before: Instant, now: Instant): number {
  return before.clockId === now.clockId
    ? now.monotonicMs - before.monotonicMs
    : Math.abs(now.wallMs - before.wallMs);
}

function hasSameSubjects(before: StoredFigures, { sources }: Snapshot): boolean {
  return (
    isSameList(before.positions, sources.positions, ({ positionId }) => positionId) &&
    isSameList(before.creditLine, sources.creditLine, creditLineKey)
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
