import type { DecimalString } from '../quantities/decimal.ts';

/** What a lane sent while nothing changed that can be seen, whatever the replies said (design: a brake). */
export interface Brake {
  readonly orders?: BrakeCount | undefined;
  /** Counted by themselves: refused cancels hold no reduction back. */
  readonly cancels?: BrakeCount | undefined;
  /** What the newest set has sent. A second order for the same place begins another set. */
  readonly sent: readonly string[];
  /** Each position as first seen since, and again with each mark that it had not shown; the newest of them. */
  readonly seen: readonly SeenPosition[];
}

/** Order sets, or cancels, that changed nothing. */
export interface BrakeCount {
  /** As of `lastMs`; one a minute is forgotten. */
  readonly sets: number;
  readonly lastMs: number;
  /** People were told that further ones are held back. */
  readonly isTold: boolean;
}

export interface UnclosedOrder {
  readonly positionId: string;
  readonly clientOrderId: string;
  /** What of it no read has shown as closed, base currency. */
  readonly amount: DecimalString;
  readonly sentMs: number;
  readonly isTold?: true;
}

export interface SeenPosition {
  readonly positionId: string;
  readonly sizeBase: DecimalString;
  readonly markPrice: DecimalString | null;
  readonly markError: number;
  readonly openDate: number | null;
}
