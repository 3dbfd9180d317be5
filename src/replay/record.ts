/**
 * Result of a replay, by variant (unprotected, the config's rules, others), path and account. Report, table and JSON
 * are made from it. Times are Unix milliseconds, shares fractions.
 */
export interface ReplayRecord {
  readonly title: string;
  readonly seed: number;
  readonly wallMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** How far the replay came, if it was stopped early. */
  readonly stoppedAtMs?: number;
  /** Remarks on the input, in whole sentences. */
  readonly notes: readonly string[];
  /** Path by path; within each, the variants in display order. */
  readonly runs: readonly RunRecord[];
}

/** Names of the variant without rules, and of the one with the user's own rules. */
export const UNPROTECTED = 'unprotected';
export const OWN_CONFIG = 'config';

export interface RunRecord {
  /** `unprotected`, `config` or the name of a file. */
  readonly variant: string;
  /** A path model, or `trades` if the file has the actual trades. */
  readonly path: string;
  /** By market. */
  readonly prices: Readonly<Record<string, Track>>;
  readonly accounts: readonly AccountRecord[];
}

/** The ids of all runs, each once. */
export function accountIds(runs: readonly RunRecord[]): readonly string[] {
  return [...new Set(runs.flatMap(({ accounts }) => accounts.map(({ id }) => id)))];
}

/** Values in order of time; `null`: none, or unknown, from there on. */
export type Track = readonly (readonly [atMs: number, value: number | null])[];

/** The value in force at a moment. */
export function valueAt(track: Track, atMs: number): number | null {
  let [low, high] = [0, track.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((track[middle]?.[0] ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return track[low - 1]?.[1] ?? null;
}

export interface AccountRecord {
  readonly id: string;
  readonly money: string;
  readonly equityStart: number;
  readonly equityEnd: number;
  readonly equity: Track;
  /** When the exchange first liquidated; `null`: never. */
  readonly liquidatedAtMs: number | null;
  /** Share of the initial holdings that orders closed, liquidations excluded. */
  readonly closedFraction: number;
  /** Number of orders that the exchange accepted. */
  readonly orders: number;
  readonly fees: number;
  /** Loss of fills against the mark price at that moment; negative: a gain. */
  readonly slippage: number;
  /** For each episode that ended in a fill: time from crossing the threshold to the first fill. */
  readonly breachToFillMs: readonly number[];
  readonly positions: readonly PositionTrack[];
  readonly bands: readonly RuleBand[];
  /** Distances to liquidation below which a rule fires. */
  readonly thresholds: readonly { readonly ruleId: string; readonly distance: number }[];
  readonly events: readonly ReplayEvent[];
}

export interface PositionTrack {
  readonly market: string;
  readonly side: 'long' | 'short';
  /** To liquidation, as a fraction of the mark price. */
  readonly distance: Track;
  readonly liquidationPrice: Track;
  /** Base asset, unsigned. */
  readonly size: Track;
}

/** A rule of one subject and its states over time; between spans it was inactive. */
export interface RuleBand {
  readonly ruleId: string;
  /** The position or loan, in words. */
  readonly subject: string;
  /** The condition in words. */
  readonly words: string;
  readonly spans: readonly { readonly fromMs: number; readonly toMs: number; readonly state: RuleState }[];
}

export type RuleState = 'pending' | 'firing' | 'frozen';

export type EventKind =
  | 'rule'
  | 'decision'
  | 'order'
  | 'trigger'
  | 'fill'
  | 'cancel'
  | 'refusal'
  | 'margin-call'
  | 'liquidation'
  | 'notice';

/** A decision, action or event. An event with market and price is marked in the picture. */
export interface ReplayEvent {
  readonly atMs: number;
  readonly kind: EventKind;
  readonly market?: string;
  readonly side?: 'buy' | 'sell';
  readonly price?: number;
  readonly amount?: string;
  /** What happened, in a sentence. */
  readonly words: string;
  /** Why, in a sentence. */
  readonly reason?: string;
}
