import type { StartingAccount } from '../../src/replay/positions/starting-account.ts';
import type { RunConditions } from '../../src/replay/run/plan.ts';
import type { PriceSeries } from '../../src/simulator/prices/price-file.ts';
import type { PathModel } from '../../src/simulator/prices/price-path.ts';
import type { MarketTerms } from '../../src/world/spec.ts';

/** One account over one stretch of prices, on one path through its candles. Plain data, to be sent to threads. */
export interface TuneCase {
  readonly id: string;
  /** The part of the book it represents, such as `5x long`; figures are kept by it. */
  readonly book: string;
  /** `quiet`: nothing happens in it, so every closing is a false action. */
  readonly kind: 'market' | 'quiet';
  /** How lively the quiet market is, such as `2.5 % a day`; figures are kept by it. */
  readonly pace?: string;
  readonly account: StartingAccount;
  readonly prices: readonly TunePrices[];
  readonly model: PathModel;
  readonly terms: Readonly<Record<string, MarketTerms>>;
  readonly fromMs: number;
  readonly durationMs: number;
  readonly conditions: RunConditions;
  readonly seed: number;
}

export type TunePrices = { readonly market: string; readonly start: string } & (
  | { readonly series: PriceSeries }
  /** The simulator's own walk; standard deviation of the change per square root of a day. */
  | { readonly dailyVolatility: number }
);

/** Outcome of a case. Equity in the reference asset. */
export interface CaseOutcome {
  readonly liquidated: boolean;
  readonly equityStart: number;
  readonly equityEnd: number;
  /** Orders accepted by the exchange. */
  readonly orders: number;
  /** Orders of the daemon that closed something. */
  readonly closings: number;
  /** Market time until nothing was open, or until the end, milliseconds. */
  readonly playedMs: number;
}

/** Outcome of a case without rules, and how near the price came to liquidation. */
export interface BareOutcome extends CaseOutcome {
  /**
   * Largest part of the way from the first price to liquidation that the price went, for an account with a single
   * position; 1: all of it. Null: it depends on several prices.
   */
  readonly way: number | null;
  /** Distance to liquidation at the start, a fraction of the price; null as above. */
  readonly distance: number | null;
}

export interface Candidate {
  /** Describes the set in the words of a config, such as `stop at 90%; below 4% until 8%`. */
  readonly name: string;
  /** As in `rules:` of a config, which refuses invalid values. */
  readonly rules: readonly Readonly<Record<string, unknown>>[];
  /** Instead of all `rules`: what an account's `rules:` names, such as `{ use: balanced }`. */
  readonly uses?: readonly unknown[];
  /**
   * Nothing is closed before the price has gone this part of the way to liquidation, or is this near to it. Absent:
   * unknown, so that every case is played.
   */
  readonly reach?: { readonly way: number; readonly distance: number };
  /** A way to protect that every table compares with. */
  readonly isAnchor?: boolean;
  /** Books that it is made for: the table adds figures over these alone. Absent: figures over all only. */
  readonly madeFor?: readonly string[];
}
