import type { LaneLeases } from '../../core/ports/state-store.ts';

/** A store of texts; the layers above decide what they mean. Each call is atomic within its bucket. */
export interface Backend {
  readonly leases: LaneLeases;
  view(bucket: number, request: RawRequest): Promise<RawView>;
  /** Makes each change whose comparisons all hold. */
  commit(bucket: number, batch: RawBatch): Promise<RawCommitReply>;
  /** Replaces the store epoch if it is still `expected`; resolves to the one in force. */
  startEpoch(bucket: number, expected: string | null, next: string): Promise<string>;
  /** Replaces the controls if their stamp is still `expected`; resolves to those in force. */
  setControls(bucket: number, expected: string, next: string): Promise<string>;
  /** Controls of all buckets, by bucket; an empty text where there are none. */
  allControls(): Promise<readonly string[]>;
  /** Makes an account due after `inMs`, unless it is due earlier. */
  makeDue(bucket: number, accountId: string, inMs: number): Promise<void>;
  /** Makes accounts due after `inMs` at the earliest; accounts that are due now stay due. */
  holdDue(bucket: number, accountIds: readonly string[], inMs: number): Promise<void>;
  fields(bucket: number, accountId: string): Promise<ReadonlyMap<string, string>>;
  forget(bucket: number, accountId: string): Promise<void>;
  /** Records with numbers from `from` to `to`, both inclusive: the first `count` of them, or the last. */
  records(bucket: number, accountId: string, range: RecordRange): Promise<readonly RawRecord[]>;
  file(bucket: number, accountId: string, hash: string): Promise<string | null>;
  fileHashes(bucket: number, accountId: string): Promise<readonly string[]>;
  /** Header and tally of each account; they change with every write. */
  stands(bucket: number, accountIds: readonly string[]): Promise<readonly RawStand[]>;
  /** The last `count` samples of a period, oldest first. */
  history(bucket: number, accountId: string, range: HistoryRange): Promise<readonly RawSample[]>;
}

/** Unix milliseconds on the store's clock, both inclusive. */
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
  /** Fields are not sent for accounts that this writer committed last. */
  readonly writer: string;
  /** Controls with this stamp are not sent. */
  readonly stamp: string;
  readonly accountIds: readonly string[];
  /** Returns only due accounts, and makes them due again after `claimMs`; null: returns all. */
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
  /** All fields, header included; null: not sent, since the caller wrote them itself. */
  readonly fields: ReadonlyMap<string, string> | null;
}

export interface RawView {
  /** Identity of the server that answered: it changes whenever the server may have lost data. */
  readonly run: string;
  readonly epoch: string | null;
  /** null: those with the stamp of the request. */
  readonly controls: string | null;
  readonly accounts: readonly RawAccount[];
  readonly nextDueInMs: number | null;
  /** The backend's clock; null unless the request was for due accounts. */
  readonly nowMs: number | null;
}

export interface RawBatch {
  readonly epoch: string;
  /** The committing process; goes into the tally. */
  readonly writer: string;
  readonly changes: readonly RawChange[];
  /** Replaces the controls if all changes are made; all changes are refused unless the stamp is `expected`. */
  readonly controls: { readonly expected: string; readonly next: string } | null;
}

/** An audit record that has no number yet. */
export interface RawText {
  readonly text: string;
  readonly hash: string;
}

export interface RawRecord extends RawText {
  readonly number: number;
}

export interface RawChange {
  readonly accountId: string;
  /** Expected header; null: a change of lanes only, which neither compares nor changes the header. */
  readonly expected: string | null;
  readonly header: string;
  /** Further fields and their texts, alternating. */
  readonly set: readonly string[];
  readonly remove: readonly string[];
  readonly dueInMs: number | null;
  readonly records: readonly RawText[];
  readonly lanes: readonly RawLaneChange[];
  /** Number of the last record, for an account without a tally. */
  readonly lastNumber: number;
  /** Hashes and texts, alternating; existing files are kept. */
  readonly files: readonly string[];
  readonly removeFiles: readonly string[];
  /** Removes the records before this number; 0: none. */
  readonly trimBefore: number;
  /** Subjects and values, alternating; empty: no sample. */
  readonly history: readonly string[];
  readonly lease: { readonly market: string | null; readonly token: number } | null;
  /** Stamp that the controls must have; null: any. */
  readonly stamp: string | null;
}

/** The account's part in a change of lanes only. */
export const NOTHING_OF_ACCOUNT: Pick<RawChange, 'expected' | 'header' | 'set' | 'remove'> = {
  expected: null,
  header: '',
  set: [],
  remove: [],
};

export interface RawLaneChange {
  readonly market: string;
  /** Expected header of the lane; empty: none yet. */
  readonly expected: string;
  /** New header of the lane; if equal to `expected`, the lane is only compared. */
  readonly header: string;
  /** If the header is not the expected one, only this lane is left out. */
  readonly isSeparable: boolean;
  /** Text of the lane; null: removed; undefined: unchanged. */
  readonly text: string | null | undefined;
  readonly records: readonly RawText[];
}

/** Whether a change counts in the tally. A quiet poll does not: quiet polls are most of the traffic to Redis. */
export function leavesTally(change: RawChange): boolean {
  const { expected, remove, records, lanes, files, removeFiles, history, trimBefore, lease, stamp } = change;
  const others = remove.length + records.length + lanes.length + files.length + removeFiles.length;
  const hasConditions = expected === null || lease !== null || stamp !== null;
  return others + history.length > 0 || trimBefore > 0 || hasConditions;
}

/** Whether a change has records or a lease. A poll that finds nothing to do has neither. */
export function isDecision({ records, lanes, lease }: RawChange): boolean {
  return lease !== null || records.length > 0 || lanes.some((lane) => lane.records.length > 0);
}

export type RawOutcome =
  | {
      readonly kind: 'committed';
      /** Tally before and after; null: the change does not count in it. */
      readonly tally: { readonly before: string; readonly after: string } | null;
      /** Markets of separable lanes that others have changed. */
      readonly leftOut: readonly string[];
    }
  | { readonly kind: 'conflict' | 'leaseLost' | 'controlsChanged' | 'auditContradicts' };

export type RawCommitReply =
  | { readonly kind: 'epochChanged' }
  | {
      readonly kind: 'answered';
      readonly run: string;
      readonly outcomes: readonly RawOutcome[];
      /** The controls as they were, if some outcome is `controlsChanged`. */
      readonly controls: string;
    };

export interface RawSample {
  readonly atMs: number;
  readonly values: ReadonlyMap<string, string>;
}

/** Member that holds when due times were last looked at. No configured account can have this id. */
export const CLOCK_MEMBER = '@clock';
/** A smaller step back is not taken for a clock that was set. */
export const CLOCK_STEP_MS = 1_000;

/** Length of the stamp at the start of a text of controls. */
export const STAMP_LENGTH = 12;
