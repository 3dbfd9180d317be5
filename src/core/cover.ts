import { type Decimal, decimal, toDecimal, toNumber } from './decimal.ts';
import type { PositionQuantities } from './position.ts';
import { known, type Quantity, unknown } from './quantity.ts';
import type { OwnStop } from './snapshot.ts';

export type StopCover = 'ok' | 'missing' | 'beyondLiquidation' | 'unconfirmed';

interface Stop {
  readonly activationPrice: number;
  /** `undefined`: covers whatever the size is, as a stop attached to the position does. */
  readonly amount: Decimal | undefined;
  readonly confirmed: boolean;
}

/**
 * Whether stops cover the whole position before liquidation (without a liquidation price every stop is before
 * it). `ok`: confirmed ones do; `unconfirmed`: they would, if those in doubt stand; `beyondLiquidation`: there
 * are stops, but one that would be needed activates at or past the liquidation price; else `missing`. Unknown when
 * the exchange does not say what is attached (and our own stops do not suffice), or for want of direction or
 * liquidation price.
 */
export function stopCover(position: PositionQuantities, ownStops: readonly OwnStop[]): Quantity<StopCover> {
  const stops = stopsOf(position, ownStops);
  const attachedUnknown = position.record.tpsl === undefined;
  if (stops.length === 0) return attachedUnknown ? unknown('fieldMissing') : known('missing');
  const { direction, liquidationPrice } = position;
  if (direction.kind === 'unknown') return direction;
  if (liquidationPrice.kind === 'unknown') return liquidationPrice;
  const sign = direction.kind === 'value' && direction.value === 'short' ? -1 : 1;
  const isBefore = (stop: Stop): boolean =>
    liquidationPrice.kind === 'none' || sign * (stop.activationPrice - liquidationPrice.value) > 0;
  const size = toDecimal(position.record.amount).abs();
  if (covers(size, stops, (stop) => stop.confirmed && isBefore(stop))) return known('ok');
  if (attachedUnknown) return unknown('fieldMissing');
  if (covers(size, stops, isBefore)) return known('unconfirmed');
  return known(stops.every(isBefore) ? 'missing' : 'beyondLiquidation');
}

function stopsOf(position: PositionQuantities, ownStops: readonly OwnStop[]): readonly Stop[] {
  const { positionId, tpsl } = position.record;
  const stops: Stop[] = [];
  if (tpsl?.stopLoss !== undefined) {
    stops.push({ activationPrice: toNumber(tpsl.stopLoss), amount: undefined, confirmed: true });
  }
  for (const own of ownStops) {
    if (own.positionId !== positionId) continue;
    const { activationPrice, amount, confirmed } = own;
    stops.push({ activationPrice: toNumber(activationPrice), amount: toDecimal(amount), confirmed });
  }
  return stops;
}

function covers(size: Decimal, stops: readonly Stop[], counts: (stop: Stop) => boolean): boolean {
  let sum = decimal('0');
  for (const stop of stops) {
    if (!counts(stop)) continue;
    if (stop.amount === undefined) return true;
    sum = sum.plus(stop.amount);
  }
  return sum.gte(size) && sum.gt(decimal('0'));
}
