import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import type { DecimalString } from '../quantities/decimal.ts';

/** One of our orders that may still stand, or whose outcome is uncertain. */
export interface OwnOrder {
  readonly role: 'reduce' | 'cover';
  /** Key of the intent or cover it was sent for. */
  readonly key: string;
  readonly ruleId: string;
  readonly positionId: string;
  /** Open date of the position it was sent for; a position rebuilt under the same id is another one. */
  readonly openDate: number | null;
  readonly request: ReduceOnlyStopRequest;
  /** The amount that may still fill, as accepted. */
  readonly amount: DecimalString;
  readonly slippage: number;
  /** `sending`: recorded before it is sent. `unsure`: the outcome is unknown. */
  readonly status: 'sending' | 'open' | 'unsure';
  readonly sentMs: number;
  /** By this time it is at the exchange, if it ever arrives: it was accepted, or `lateArrivalMs` has passed. */
  readonly arrivedByMs: number;
  /** Size of its position in the read it was sized by, less what our other orders filled since. */
  readonly placedSizeBase: DecimalString;
  /** Size of its position in the newest read. */
  readonly baseSizeBase: DecimalString;
  /** The mark was certainly on this side of the activation since the order arrived. Both: it was activated. */
  readonly seenAbove: boolean;
  readonly seenBelow: boolean;
  readonly activatedMs: number | null;
  /** Since when the mark has been at or past the activation without a break; null while it is not. */
  readonly reachedMs: number | null;
  /** The position fell by its amount, so it counts as filled; to be sure, it is cancelled before anything is placed. */
  readonly presumedFilled: boolean;
  /** The market had passed its activation before the order arrived. */
  readonly inverted?: boolean;
  /** It stood when an outage began, or in an earlier store epoch. A taken id does not show that it still stands. */
  readonly mayHaveVanished?: boolean;
  /** It was never confirmed as accepted, and dates from an earlier store epoch. */
  readonly neverConfirmed?: true;
  /** The mark when its rule fired. Absent: a standing stop, or unknown. */
  readonly decidedPrice?: DecimalString;
  /** The position moved in a way that this order may or may not explain. */
  readonly ambiguous: boolean;
  /** Sent before the fence had passed, or where earlier orders could not be ruled out. */
  readonly overshoot: boolean;
  /** Sent before a cancel to learn whether orders are accepted at all; not wanted afterwards. */
  readonly trial?: boolean;
  /** Since when it should be gone and could not be cancelled. Absent: it is wanted, or goes at once. */
  readonly unwantedSinceMs?: number;
  /** It was known to stand when it was sent again; it still does if it is refused for anything but its id. */
  readonly wasOpen?: boolean;
  /** An unanswered cancel, or one unknown to this store, may have taken it down. A taken id proves nothing. */
  readonly behindCancel?: boolean;
  /** Why a question about it was refused, last. */
  readonly refusedQuestion?: RefusedQuestion;
  /** Basis of a cover's stop, which changes only with it. */
  readonly coverBasis: CoverBasis | null;
}

/** For its price: with the prices, as parts of the mark, at which it would not be refused. */
export type RefusedQuestion =
  | {
      readonly why: 'priceBand' | 'activationPassed';
      readonly lowestPart: number;
      readonly highestPart: number;
      readonly atMs: number;
    }
  | { readonly why: 'noRoom' };

export interface CoverBasis {
  readonly liquidationPrice: DecimalString;
  readonly roomBase: number;
  /** For a rung: the share of the anchor's size left by it and those before it. Absent: a stop for everything. */
  readonly leave?: number;
  /** The size left by `leave` at placement; counts while there is no anchor. */
  readonly leftBase?: DecimalString;
}
