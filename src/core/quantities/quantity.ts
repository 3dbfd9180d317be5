/**
 * A measured number, or one of two of the three kinds of "no number", which are never mixed up:
 * `unknown` cannot be computed from what came, freezes rules and is never zero; `none` is a valid statement
 * that there is none (infinitely far), and clears rules. The third, zero, is a value like any other.
 */
export type Quantity<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown'; readonly why: UnknownReason };

/** Why a quantity cannot be computed; a closed list, also a metric label. */
export type UnknownReason =
  | 'notRead'
  | 'stale'
  | 'fieldMissing'
  | 'zeroSize'
  | 'directionUnknown'
  | 'directionContradicted'
  | 'disagreement'
  | 'markUnknown'
  | 'markTooCoarse'
  | 'notPositive'
  | 'ltvUnitUnclear'
  | 'listIncomplete'
  /** Something that was open is not in the list, and not certainly closed. */
  | 'presumedClosed'
  | 'tooFewSamples'
  | 'serverTimeUnknown'
  | 'notDocumented'
  | 'duplicateRecord'
  | 'currenciesDiffer'
  | 'marketNotConfigured';

export function known<T>(value: T): Quantity<T> {
  return { kind: 'value', value };
}

export const NONE: Quantity<never> = { kind: 'none' };

export function unknown(why: UnknownReason): Quantity<never> {
  return { kind: 'unknown', why };
}
