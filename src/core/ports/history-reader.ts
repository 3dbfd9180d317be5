import type { SubjectKey } from '../rules/subject.ts';

/** Figures of one subject at one time, by name; prices and amounts as decimal texts. Keep it small. */
export interface HistorySample {
  readonly subject: SubjectKey;
  readonly values: Readonly<Record<string, number | string>>;
}

export interface HistoryPoint {
  /** Unix milliseconds, by the store's clock. */
  readonly atMs: number;
  readonly values: HistorySample['values'];
}

export interface HistoryQuery {
  /** Unix milliseconds; default: the oldest sample. */
  readonly fromMs?: number;
  /** Maximum number of points, the newest; default 1000. */
  readonly limit?: number;
}

/** Unix milliseconds by the store's clock. */
export interface MomentQuery {
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly limit?: number;
}

/** Figures of all subjects of an account at one time. */
export interface HistoryMoment {
  /** Unix milliseconds, by the store's clock. */
  readonly atMs: number;
  readonly samples: readonly HistorySample[];
}

/** Samples committed with the account's state (`AccountCommit.history`), oldest first; old ones are trimmed. */
export interface HistoryReader {
  read(accountId: string, subject: SubjectKey, query?: HistoryQuery): Promise<readonly HistoryPoint[]>;
  /** The newest `limit` moments of a range, both ends inclusive; default: all. */
  readAll(accountId: string, query?: MomentQuery): Promise<readonly HistoryMoment[]>;
}
