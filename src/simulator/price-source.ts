import type { Decimal } from '../core/decimal.ts';

/** A price of one market from `atMs` on. */
export interface PricePoint {
  readonly atMs: number;
  readonly price: Decimal;
}

/**
 * A source of prices of one market in virtual time: points in order of time, each asked for once.
 * `undefined` = the source has ended, and the price stays where it is.
 */
export interface PriceSource {
  next(): PricePoint | undefined;
}
