import { type Decimal, type DecimalString, toDecimal, toNumber, ZERO } from './decimal.ts';
import type { PositionQuantities } from './position.ts';
import { known, type Quantity, unknown } from './quantity.ts';
import type { OwnStop } from './snapshot.ts';

export type StopCover = 'ok' | 'missing' | 'beyondLiquidation' | 'unconfirmed';

const COVERED: Quantity<StopCover> = known('ok');

/**
 * Whether stops cover the whole position before liquidation. `unconfirmed`: only if the doubtful ones stand.
 * `beyondLiquidation`: a needed stop activates at or past it. Unknown if the exchange does not report attached stops.
 */
export function stopCover(position: PositionQuantities, ownStops: readonly OwnStop[]): Quantity<StopCover> {
  const { positionId, tpsl } = position.record;
  const attached = tpsl?.stopLoss;
  const hasOwn = ownStops.some((own) => own.positionId === positionId);
  if (attached === undefined && !hasOwn)
    return tpsl === undefined ? unknown('fieldMissing') : known('missing');
  const { direction, liquidationPrice } = position;
  if (direction.kind === 'unknown') return direction;
  if (liquidationPrice.kind === 'unknown') return liquidationPrice;
  const sign = direction.kind === 'value' && direction.value === 'short' ? -1 : 1;
  const isBefore = (activationPrice: number): boolean =>
    liquidationPrice.kind === 'none' || sign * (activationPrice - liquidationPrice.value) > 0;
  // A stop attached to the position covers any size.
  const attachedIsBefore = attached !== undefined && isBefore(toNumber(attached));
  if (attachedIsBefore) return COVERED;
  const own = hasOwn ? ownCover(position, ownStops, isBefore) : 'missing';
  if (own === 'ok') return COVERED;
  if (tpsl === undefined) return unknown('fieldMissing');
  return known(own === 'missing' && attached !== undefined ? 'beyondLiquidation' : own);
}

/** Cover by our own stops alone. */
function ownCover(
  position: PositionQuantities,
  ownStops: readonly OwnStop[],
  isBefore: (activationPrice: number) => boolean,
): StopCover {
  const stops = ownStops.filter((own) => own.positionId === position.positionId);
  const before = stops.filter((own) => isBefore(toNumber(own.activationPrice)));
  const size = toDecimal(position.record.amount).abs();
  if (sumOf(before.filter(({ confirmed }) => confirmed)).gte(size)) return 'ok';
  if (sumOf(before).gte(size)) return 'unconfirmed';
  return before.length === stops.length ? 'missing' : 'beyondLiquidation';
}

/** The part of a position that our own confirmed stops close before liquidation, and where. */
export interface StandingCover {
  /** Fraction of the size, at most 1. */
  readonly share: number;
  /** Activation prices, nearest to the market first. */
  readonly prices: readonly DecimalString[];
}

/** Undefined if none of our stops certainly stands there, or if the side of liquidation is unknown. */
export function standingCover(
  position: PositionQuantities,
  ownStops: readonly OwnStop[],
): StandingCover | undefined {
  const { direction, liquidationPrice, record } = position;
  if (direction.kind !== 'value' || liquidationPrice.kind === 'unknown') return undefined;
  const sign = direction.value === 'short' ? -1 : 1;
  const stops = ownStops
    .filter(({ positionId, confirmed, activationPrice }) => {
      if (positionId !== record.positionId || !confirmed) return false;
      return (
        liquidationPrice.kind === 'none' || sign * (toNumber(activationPrice) - liquidationPrice.value) > 0
      );
    })
    .toSorted((a, b) => sign * (toNumber(b.activationPrice) - toNumber(a.activationPrice)));
  const size = toNumber(toDecimal(record.amount).abs());
  if (stops.length === 0 || size === 0) return undefined;
  const prices = [...new Set(stops.map(({ activationPrice }) => activationPrice))];
  return { share: Math.min(1, toNumber(sumOf(stops)) / size), prices };
}

function sumOf(stops: readonly OwnStop[]): Decimal {
  return stops.reduce((sum, { amount }) => sum.plus(toDecimal(amount)), ZERO);
}
