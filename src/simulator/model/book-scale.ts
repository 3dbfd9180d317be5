import { type Decimal, divide, maxDecimal, roundToStep } from '../../core/quantities/decimal.ts';
import type { MarketSpec } from './types.ts';

const PLACES = 18;

/** Returns the market at another price. Spread and depth in money stay the same relative to the price. */
export function atPrice(spec: MarketSpec, price: Decimal): MarketSpec {
  const { depth, priceStep, amountStep } = spec;
  if (price.eq(spec.price)) return spec;
  const ratio = divide(price, spec.price, PLACES, 'halfUp');
  const scaled = (distance: Decimal): Decimal =>
    maxDecimal(priceStep, roundToStep(distance.times(ratio), priceStep, 'halfUp'));
  const levelStep = scaled(depth.levelStep);
  const widened = divide(levelStep, depth.levelStep, PLACES, 'halfUp');
  const amount = divide(depth.amountPerLevel.times(widened), ratio.times(ratio), PLACES, 'halfUp');
  const amountPerLevel = maxDecimal(amountStep, roundToStep(amount, amountStep, 'halfUp'));
  return {
    ...spec,
    price,
    depth: { ...depth, halfSpread: scaled(depth.halfSpread), levelStep, amountPerLevel },
  };
}
