import type { LaneLeases } from '../../core/ports/state-store.ts';

/** A place to keep texts in; what they mean is decided above it. Each call is atomic within its bucket. */
export interface Backend {
  readonly leases: LaneLeases;
  view(bucket: number, request: RawRequest): Promise<RawView>;
  /** Makes each change for which everything it compares is as expected. */
  commit(bucket: number, batch: RawBatch): Promise<RawCommitReply>;
  /** Replaces the store epoch if it is still `expected`; resolves to the one in force. */
  startEpoch(bucket: number, expected: string | null, next: string): Promise<string>;
  /** Replaces the controls if their stamp is still `expected`; resolves to those in force. */
  setControls(bucket: number, expected: string, next: string): Promise<string>;
  /** Controls of all buckets, by bucket; empty where there are none. */
  allControls(): Promise<readonly string[]>;
  /** Due after `inMs`, unless it is earlier. */
  makeDue(bucket: number, accountId: string, inMs: number): Promise<void>;
  /** Due after `inMs` and no earlier; accounts that are due now stay due. */
  holdDue(bucket: number, accountIds: readonly string[], inMs: number): Promise<void>;
  fields(bucket: number, accountId: string): Promise<ReadonlyMap<string, string>>;
  forget(bucket: number, accountId: string): Promise<void>;
  /** Records with numbers from `from` to `to`, both inclusive: the first `count` of them, or the last. */
  records(bucket: number, accountId: string, range: RecordRange): Promise<readonly RawRecord[]>;
  file(bucket: number, accountId: string, hash: string): Promise<string | null>;
  fileHashes(bucket: number, accountId: string): Promise<readonly string[]>;
  /** What each account's header and tally are: they change whenever anybody writes for it. */
  stands(bucket: number, accountIds: readonly string[]): Promise<readonly RawStand[]>;
  /** The last `count` samples of a time, oldest first. */
  history(bucket: number, accountId: string, range: HistoryRange): Promise<readonly RawSample[]>;
}

/** By the store's clock, Unix milliseconds, both inclusive. */
export interface HistoryRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

export interface RecordRange {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly newest: boolean;
}

export interface RawRequest {
  /** Fields of an account that this writer committed last are not sent. */
  readonly writer: string;
  /** Controls that bear this stamp are not sent. */
  readonly stamp: string;
  readonly accountIds: readonly string[];
  /** Only accounts that are due; they are due again after `claimMs`. */
  readonly due: { readonly claimMs: number; readonly maxAheadMs: number } | null;
}

export interface RawStand {
  readonly accountId: string;
  /** Empty: never committed. */
  readonly header: string;
  /** Empty: none yet. */
  readonly tally: string;
}

export interface RawAccount extends RawStand {
  /** Everything, header included; null: not sent, the caller wrote it itself. */
  readonly fields: ReadonlyMap<string, string> | null;
}

export interface RawView {
  /** Identity of the server that answered: changes whenever it may have lost something. */
  readonly run: string;
  readonly epoch: string | null;
  /** null: those with the stamp of the request. */
  readonly controls: string | null;
  readonly accounts: readonly RawAccount[];
  readonly nextDueInMs: number | null;
  /** The clock of the backend; null unless the request was for what is due. */
  readonly nowMs: number | null;
}

export interface RawBatch {
  readonly epoch: string;
  /** Who commits: goes into the tally. */
  readonly writer: string;
  readonly changes: readonly RawChange[];
  /** Replaces the controls if all changes are made; all are refused unless the stamp is `expected`. */
  readonly controls: { readonly expected: string; readonly next: string } | null;
}

/** An audit record that is to be numbered. */
export interface RawText {
  readonly text: string;
  readonly hash: string;
}

export interface RawRecord extends RawText {
  readonly number: number;
}

export interface RawChange {
  readonly accountId: string;
  /** The header; null: of the lanes alone, neither compared nor changed. */
  readonly expected: string | null;
  readonly header: string;
  /** Further fields and their texts by turns. */
  readonly set: readonly string[];
  readonly remove: readonly string[];
  readonly dueInMs: number | null;
  readonly records: readonly RawText[];
  readonly lanes: readonly RawLaneChange[];
  /** Number of the last record, where there is no tally yet. */
  readonly lastNumber: number;
  /** Hashes and texts by turns; those that are there already stay. */
  readonly files: readonly string[];
  readonly removeFiles: readonly string[];
  /** Takes away the records before this one; 0: none. */
  readonly trimBefore: number;
  /** Subjects and values by turns; empty: no sample. */
  readonly history: readonly string[];
  readonly lease: { readonly market: string | null; readonly token: number } | null;
  /** The stamp that the controls must bear; null: any. */
  readonly stamp: string | null;
}

/** Of a change of the lanes alone. */
export const NOTHING_OF_ACCOUNT: Pick<RawChange, 'expected' | 'header' | 'set' | 'remove'> = {
  expected: null,
  header: '',
  set: [],
  remove: [],
};

export interface RawLaneChange {
  readonly market: string;
  /** Its header; empty: none yet. */
  readonly expected: string;
  /** The expected one: it is only compared. */
  readonly header: string;
  /** If the header is not the expected one, this lane alone is left out. */
  readonly isSeparable: boolean;
  /** The text of the lane; null: removed. */
  readonly text: string | null | undefined;
  readonly records: readonly RawText[];
}

/** Whether a change counts in the tally. A quiet poll does not: it is most of what Redis is sent. */
export function leavesTally(change: RawChange): boolean {
  const { expected, remove, records, lanes, files, removeFiles, history, trimBefore, lease, stamp } = change;
  const others = remove.length + records.length + lanes.length + files.length + removeFiles.length;
  const hasConditions = expected === null || lease !== null || stamp !== null;
  return others + history.length > 0 || trimBefore > 0 || hasConditions;
}

/** A poll that finds nothing to do is none: without a record, and of no lane that is being worked on. */
export function isDecision({ records, lanes, lease }: RawChange): boolean {
  return lease !== null || records.length > 0 || lanes.some((lane) => lane.records.length > 0);
}

export type RawOutcome =
  | {
      readonly kind: 'committed';
      /** Before and after; null: the change is one that leaves it alone. */
      readonly tally: { readonly before: string; readonly after: string } | null;
      /** Markets of separable lanes that somebody else has changed. */
      readonly leftOut: readonly string[];
    }
  | { readonly kind: 'conflict' | 'leaseLost' | 'controlsChanged' | 'auditContradicts' };

export type RawCommitReply =
  | { readonly kind: 'epochChanged' }
  | {
      readonly kind: 'answered';
      readonly run: string;
      readonly outcomes: readonly RawOutcome[];
      /** As they were when some outcome is `controlsChanged`. */
      readonly controls: string;
    };

export interface RawSample {
  readonly atMs: number;
  readonly values: ReadonlyMap<string, string>;
}

/** When due times were last looked at. No configured account can have this id. */
export const CLOCK_MEMBER = '@clock';
/** A clock that goes back by less was not set. */
export const CLOCK_STEP_MS = 1_000;

/** Length of the stamp that a text of controls begins with. */
export const STAMP_LENGTH = 12;
