import type { SubjectKey } from '../rules/subject.ts';

/** Figures of one subject at one time, by name; prices and amounts as decimal texts. Keep it small. */
export interface HistorySample {
  readonly subject: SubjectKey;
  readonly values: Readonly<Record<string, number | string>>;
}

export interface HistoryPoint {
  /** Unix milliseconds, of the store's clock. */
  readonly atMs: number;
  readonly values: HistorySample['values'];
}

export interface HistoryQuery {
  /** Unix milliseconds; default: as far as there are samples. */
  readonly fromMs?: number;
  /** The newest so many points at most; default 1000. */
  readonly limit?: number;
}

/** By the store's clock, Unix milliseconds. */
export interface MomentQuery {
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly limit?: number;
}

/** Figures of all subjects that an account had at one time. */
export interface HistoryMoment {
  /** Unix milliseconds, of the store's clock. */
  readonly atMs: number;
  readonly samples: readonly HistorySample[];
}

/** Samples that were committed with the account's state (`AccountCommit.history`), oldest first, trimmed. */
export interface HistoryReader {
  read(accountId: string, subject: SubjectKey, query?: HistoryQuery): Promise<readonly HistoryPoint[]>;
  /** The newest `limit` of a time, both ends included; default: all there are. */
  readAll(accountId: string, query?: MomentQuery): Promise<readonly HistoryMoment[]>;
}
