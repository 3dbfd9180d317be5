/** What rules say of an account's recorded past. Times are Unix milliseconds; table, JSON and page are made from it. */
export interface HistoryRecord {
  /** Names what was judged, without secrets. */
  readonly source: string;
  readonly notes: readonly string[];
  readonly accounts: readonly AccountHistory[];
}

export interface AccountHistory {
  readonly id: string;
  /** How many moments were judged. */
  readonly moments: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Usual time between two moments (the median); 0 where only changes are recorded. */
  readonly everyMs: number;
  /** Times of which nothing is recorded. */
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[];
  readonly rules: readonly RuleHistory[];
}

export interface RuleHistory {
  readonly id: string;
  readonly severity: string;
  /** What of the record does not suffice for this rule, in a sentence; null: it was judged. */
  readonly notJudged: string | null;
  /** Moments at which the data did not decide, for some subject. */
  readonly undecided: number;
  /** In the order in which they fired. */
  readonly episodes: readonly HistoryEpisode[];
}

/** From the moment at which a rule fires to the one at which it stops. */
export interface HistoryEpisode {
  /** The position, loan or account, in words. */
  readonly subject: string;
  readonly firedMs: number;
  /** null: it fired to the end of the record. */
  readonly endedMs: number | null;
  /** The figures with which it fired. */
  readonly words: string;
  /** Why it ended; null where it did not. */
  readonly endWords: string | null;
  /** Escalation stages that were reached after firing. */
  readonly stages: readonly { readonly stage: number; readonly atMs: number; readonly words: string }[];
}
