import {
  type Decimal,
  decimal,
  divide,
  formatDecimal,
  maxDecimal,
  ONE,
  roundToStep,
} from '../core/quantities/decimal.ts';
import { DEFAULT_MARKETS } from '../simulator/defaults.ts';
import type { MarketSpec } from '../simulator/model/types.ts';

export const SPOT = 'BTC_USDT';
export const PERPETUAL = 'BTC_PERP';
export const COIN = 'BTC';

/** The exchange's own coin at another price, with the same worth per level and the same distances in percent. */
export function demoMarkets(price: Decimal): readonly MarketSpec[] {
  return DEFAULT_MARKETS.filter(({ name }) => name === SPOT || name === PERPETUAL).map((market) =>
    startingAt(market, price),
  );
}

function startingAt(market: MarketSpec, price: Decimal): MarketSpec {
  const factor = divide(price, market.price, 12, 'halfUp');
  const priceStep = stepFor(market.priceStep.times(factor));
  const { depth } = market;
  return {
    ...market,
    price: roundToStep(price, priceStep, 'halfUp'),
    priceStep,
    amountStep: AMOUNT_STEP,
    minAmount: AMOUNT_STEP,
    depth: {
      ...depth,
      halfSpread: maxDecimal(roundToStep(depth.halfSpread.times(factor), priceStep, 'up'), priceStep),
      levelStep: maxDecimal(roundToStep(depth.levelStep.times(factor), priceStep, 'up'), priceStep),
      amountPerLevel: roundToStep(divide(depth.amountPerLevel, factor, 12, 'down'), AMOUNT_STEP, 'up'),
    },
  };
}

const AMOUNT_STEP = decimal('0.0001');

/** The power of ten at or below. */
function stepFor(size: Decimal): Decimal {
  let step = ONE;
  while (step.gt(size)) step = step.times(decimal('0.1'));
  return step;
}

/** A crash moves some tenths of a percent between read and order, at the demo's speed and on a busy machine. */
const BASIS_ALLOWANCE = '0.5%';

/** As the config of the daemon says it. */
export function marketYaml(market: MarketSpec): string {
  const { name, amountStep, priceStep, minAmount, maintenanceMargin } = market;
  const quoted = (value: Decimal): string => `"${formatDecimal(value)}"`;
  return `  ${name}: { amountStep: ${quoted(amountStep)}, priceStep: ${quoted(priceStep)}, minAmount: ${quoted(minAmount)}, maintenanceMargin: ${quoted(maintenanceMargin)}, basisAllowance: ${BASIS_ALLOWANCE}, money: USDT, referencePrice: ${formatDecimal(market.price)} }`;
}
