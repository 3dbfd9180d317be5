import { z } from 'zod';
import type { SubjectKey } from '../rules/subject.ts';
import { type OutputOf, timeMs } from '../schema/parts.ts';

/** Figures of one subject by the store's clock, by name; prices and amounts as decimal texts. Keep it small. */
export const historyPointSchema = z.strictObject({
  atMs: timeMs(),
  values: z.record(z.string(), z.union([z.number(), z.string()])),
});
export type HistoryPoint = OutputOf<typeof historyPointSchema>;

export interface HistorySample extends Pick<HistoryPoint, 'values'> {
  readonly subject: SubjectKey;
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
