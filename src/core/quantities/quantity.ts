/** A value or its absence: `unknown` freezes rules and is never 0; `none` (infinitely far) clears them. */
export type Quantity<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly why: UnknownReason };

/** Why a quantity cannot be computed, in words. Closed list, also a metric label. */
export const UNKNOWN_WORDS = {
  notRead: 'it could not be read',
  stale: 'what was read is too old',
  fieldMissing: 'the exchange did not say it',
  zeroSize: 'the size is zero',
  directionUnknown: 'the direction of the position is unknown',
  disagreement: 'the liquidation price is passed although the exchange does not liquidate',
  markUnknown: 'the mark price is unknown',
  markTooCoarse: 'the mark price is not exact enough',
  notPositive: 'the figures make no sense together',
  ltvUnitUnclear: 'the LTV may be a fraction or a percentage',
  listIncomplete: 'the list is not complete',
  zeroUncertain: 'the exchange shows 0 where there was more: waiting to be sure',
  presumedClosed: 'it is not in the list any more: presumed closed, waiting to be sure',
  tooFewSamples: 'it has not been watched for long enough',
  serverTimeUnknown: 'the clock of the exchange is unknown',
  notDocumented: 'the exchange said something that is not documented',
  duplicateRecord: 'the exchange sent it twice',
  currenciesDiffer: 'the positions are in different currencies',
  marketNotConfigured: 'the market is not in the config',
};

export type UnknownReason = keyof typeof UNKNOWN_WORDS;

export function known<T>(value: T): Quantity<T> {
  return { kind: 'value', value };
}

export const NONE: Quantity<never> = { kind: 'none' };

export function unknown(why: UnknownReason): Quantity<never> {
  return { kind: 'unknown', why };
}

/** For plain data without reasons: `none` and unknown become null. */
export function valueOf<T>(quantity: Quantity<T>): T | null {
  return quantity.kind === 'value' ? quantity.value : null;
}

/** A lower bound, counted in an incomplete list. Decides only what further records could not change. */
export interface AtLeast {
  readonly kind: 'atLeast';
  readonly value: number;
}

/** An upper bound: the least of several, some of them unknown. Decides only what the unknown ones could not change. */
export interface AtMost {
  readonly kind: 'atMost';
  readonly value: number;
}

export function atLeast(value: number): AtLeast {
  return { kind: 'atLeast', value };
}

/** The least quantity, `none` counting as infinite; an upper bound if any is one, or is unknown. */
export function leastOf(quantities: readonly (Quantity<number> | AtMost)[]): Quantity<number> | AtMost {
  let least: number | undefined;
  let undecided: Quantity<number> | AtMost | undefined;
  for (const one of quantities) {
    if (one.kind === 'unknown' || one.kind === 'atMost') undecided ??= one;
    if ('value' in one && (least === undefined || one.value < least)) least = one.value;
  }
  if (undecided === undefined) return least === undefined ? NONE : known(least);
  return least === undefined ? undecided : { kind: 'atMost', value: least };
}
