import type { PriceSeries } from '../../simulator/prices/price-file.ts';
import type { PathModel } from '../../simulator/prices/price-path.ts';
import type { MarketTerms } from '../../world/spec.ts';
import type { StartingAccount } from '../positions/starting-account.ts';
import type { RunConditions } from '../run/plan.ts';

/** One account over one stretch of prices, in one way through its candles. Plain data: it goes to threads. */
export interface TuneCase {
  readonly id: string;
  /** Which part of the book it stands for, such as `5x long`; figures are kept by it. */
  readonly book: string;
  /** `quiet`: nothing happens in it, and whatever closes something is a false action. */
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

/** What came of a case. Equity in the reference asset. */
export interface CaseOutcome {
  readonly liquidated: boolean;
  readonly equityStart: number;
  readonly equityEnd: number;
  /** Accepted by the exchange. */
  readonly orders: number;
  /** Orders of the daemon that closed something. */
  readonly closings: number;
  /** Of market time until nothing was open any more, or the end. */
  readonly playedMs: number;
}

/** How a case goes by itself, and how near the price came. */
export interface BareOutcome extends CaseOutcome {
  /**
   * The part of the way from the first price to liquidation that the price went at most, for an account with a single
   * position; 1: all of it. Null: it depends on more than one price.
   */
  readonly way: number | null;
  /** Distance to liquidation at the start, a fraction of the price; null as above. */
  readonly distance: number | null;
}

/** A set of rules to be tried. */
export interface Candidate {
  /** Says what it is, in the words of a config, such as `stop at 90%; below 4% until 8%`. */
  readonly name: string;
  /** As in `rules:` of a config; what its values cannot be is refused by the config. */
  readonly rules: readonly Readonly<Record<string, unknown>>[];
  /** A part of a config instead, such as `{ use: balanced }`: what an account's `rules:` names; `own`: the config as it is. Absent: all `rules`. */
  readonly uses?: readonly unknown[] | 'own';
  /**
   * Nothing closes anything before the price has gone this part of the way to liquidation, or is this near to it.
   * Absent: not known, so that every case is played.
   */
  readonly reach?: { readonly way: number; readonly distance: number };
  /** A way to protect that every table compares with. */
  readonly isAnchor?: boolean;
  /** Books that it is made for; figures over these alone stand beside those over all. Absent: over all only. */
  readonly madeFor?: readonly string[];
}
