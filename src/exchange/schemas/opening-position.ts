import type { OpeningPosition } from '../../core/ports/exchange.ts';
import { asDecimal, asId, asName, isNone } from './fields.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * A position that an order is about to open. The live service lists it without an amount, a base price and a realized
 * result. An amount above zero says that it is open, whatever else is missing.
 */
export function asOpeningPosition(value: unknown): OpeningPosition | undefined {
  const { amount, basePrice, pnl, positionId, market } = value as Fields;
  const isOpening = isNone(amount) || ((isNone(basePrice) || isNone(pnl)) && isZero(amount));
  if (!isOpening) return undefined;
  const known = { positionId: asId(positionId), market: asName(market) };
  return known.positionId === undefined || known.market === undefined
    ? undefined
    : { positionId: known.positionId, market: known.market };
}

/** What the live service leaves out of a position that is being opened; of one that is open it is missed. */
const NEVER_NULL = ['basePrice', 'pnl', 'pnlPercent'] as const;

/** Fields of an open position that are null or empty although the exchange documents that they have a value. */
export function nullsOf(value: unknown): readonly string[] {
  return NEVER_NULL.filter((name) => name in (value as object) && isNone((value as Fields)[name]));
}

const isZero = (amount: unknown): boolean => /^-?0+(\.0*)?$/.test(asDecimal(amount) ?? '');
