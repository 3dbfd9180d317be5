import type { KnownSum } from '../core/costs/cost-report.ts';

/**
 * What a replay found: variants (unprotected, the config's rules, others) by paths by accounts; report, table and JSON
 * are made from it. Times Unix milliseconds, shares fractions.
 */
export interface ReplayRecord {
  readonly title: string;
  readonly seed: number;
  readonly wallMs: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Set where it was stopped early: how far it came. */
  readonly stoppedAtMs?: number;
  /** What a reader should know of the input, in whole sentences. */
  readonly notes: readonly string[];
  /** Path by path; within each, the variants in the order in which they are shown. */
  readonly runs: readonly RunRecord[];
}

/** The variant that nobody protects, and the one with the user's own rules. */
export const UNPROTECTED = 'unprotected';
export const OWN_CONFIG = 'config';

export interface RunRecord {
  /** `unprotected`, `config` or the name of a file. */
  readonly variant: string;
  /** A path model, or `trades` where the file shows how the market went. */
  readonly path: string;
  /** By market. */
  readonly prices: Readonly<Record<string, Track>>;
  readonly accounts: readonly AccountRecord[];
}

/** Of all runs, each once. */
export function accountIds(runs: readonly RunRecord[]): readonly string[] {
  return [...new Set(runs.flatMap(({ accounts }) => accounts.map(({ id }) => id)))];
}

/** A course of values in the order of time; `null`: none, or not known, from there on. */
export type Track = readonly (readonly [atMs: number, value: number | null])[];

/** The value that holds at a moment. */
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
  /** When the exchange first liquidated, `null` when it did not. */
  readonly liquidatedAtMs: number | null;
  /** Share of what was held at the start that orders closed; liquidations do not count. */
  readonly closedFraction: number;
  /** Accepted by the exchange. */
  readonly orders: number;
  readonly fees: number;
  /** What fills lost against the mark price at that moment; negative is a gain. */
  readonly slippage: number;
  /** By what the price went on against what was closed within the next hour; negative: it came back. */
  readonly nextHour: KnownSum;
  /** Of each episode that ended in a fill: from the moment its threshold was crossed to the first fill. */
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

/** A rule of one subject, and when it was in which state; between the spans it was inactive. */
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

/** Something that was decided, done or suffered. What has a market and a price is marked in the picture. */
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
