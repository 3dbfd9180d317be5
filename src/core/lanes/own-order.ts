import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import type { DecimalString } from '../quantities/decimal.ts';

/** An order of ours that may still stand, or that nobody can be sure of. */
export interface OwnOrder {
  readonly role: 'reduce' | 'cover';
  /** Intent or cover for which it was sent. */
  readonly key: string;
  readonly ruleId: string;
  readonly positionId: string;
  /** Of the position it was sent for: one rebuilt under the same id is another one. */
  readonly openDate: number | null;
  readonly request: ReduceOnlyStopRequest;
  /** What may still fill: the amount as accepted. */
  readonly amount: DecimalString;
  readonly slippage: number;
  /** `sending`: written ahead. `unsure`: the outcome is unknown. */
  readonly status: 'sending' | 'open' | 'unsure';
  readonly sentMs: number;
  /** From this time on it is at the exchange, if ever: accepted, or the late arrival has passed. */
  readonly arrivedByMs: number;
  /** Size of its position in the read it was sized by, less what our others filled since; and in the newest read. */
  readonly placedSizeBase: DecimalString;
  readonly baseSizeBase: DecimalString;
  /** Mark seen for certain on this side of the activation since it arrived; both: it was activated. */
  readonly seenAbove: boolean;
  readonly seenBelow: boolean;
  readonly activatedMs: number | null;
  /** Since when, without a break, the mark has been at or past the activation; null while it is not. */
  readonly reachedMs: number | null;
  /**
   * The position fell by its amount, perhaps by others: counts as filled, and is cancelled before anything is placed.
   */
  readonly presumedFilled: boolean;
  /** The market had passed its activation before it arrived. */
  readonly inverted?: boolean;
  /** It stood when an outage began, or in an earlier store epoch: that its id is taken does not show that it still does. */
  readonly mayHaveVanished?: boolean;
  /** No answer has said that it was accepted, and what asks after it now is a new store epoch. */
  readonly neverConfirmed?: true;
  /** The mark when its rule fired; absent: a standing stop, or not known. */
  readonly decidedPrice?: DecimalString;
  /** One of two that share an amount, at a small and at a large gap; absent: it has all of it. */
  readonly part?: 'near' | 'far';
  /** The position moved in a way that this order may or may not explain. */
  readonly ambiguous: boolean;
  /** Sent before the fence had passed, or where earlier orders could not be ruled out. */
  readonly overshoot: boolean;
  /** Sent to learn whether orders are taken at all, before a cancel; nobody wants it afterwards. */
  readonly trial?: boolean;
  /** Since when it should have gone and no cancel could be sent; absent: it is wanted, or goes at once. */
  readonly unwantedSinceMs?: number;
  /** It was known to stand when it was sent again: a refusal for anything but its id changes nothing. */
  readonly wasOpen?: boolean;
  /** A cancel without an answer, or one that this store does not know of, may have taken it down: that its id is taken proves nothing. */
  readonly behindCancel?: boolean;
  /** What a cover was placed for; it changes only with these. */
  readonly coverBasis: CoverBasis | null;
}

export interface CoverBasis {
  readonly liquidationPrice: DecimalString;
  readonly roomBase: number;
  /** Of a rung: the share of the anchor's size that it and the ones before it leave. Absent: a stop for all of it. */
  readonly leave?: number;
  /** That share of the size at placement: it counts while there is no anchor. */
  readonly leftBase?: DecimalString;
}
