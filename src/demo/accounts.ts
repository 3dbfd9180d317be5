import { type Decimal, decimal, formatDecimal } from '../core/quantities/decimal.ts';
import { DEFAULT_MARKETS } from '../simulator/defaults.ts';
import type { MarketSpec, SeedAccount } from '../simulator/model/types.ts';

/** Two equal accounts, which begin with the same position and money. The daemon acts for the first one only. */
export const PROTECTED = 'protected';
export const TWIN = 'unprotected';

export const SPOT = 'BTC_USDT';
export const PERPETUAL = 'BTC_PERP';
export const BASE = 'BTC';
export const CURRENCY = 'USDT';
export const LEVERAGE = 10;

/** The perpetual market in which the accounts hold positions. */
export const MARKET = DEFAULT_MARKETS.find(({ name }) => name === PERPETUAL) as MarketSpec;

/** An account that is long at 10x with all its money. */
export function seedOf(id: string): SeedAccount {
  return {
    id,
    hedgeMode: false,
    leverage: LEVERAGE,
    collateral: { [CURRENCY]: decimal('3000') },
    positions: [{ market: PERPETUAL, direction: 'long', amount: decimal('0.5') }],
  };
}

/** The price moves by some tenths of a percent between read and order, at the demo's speed and on a busy machine. */
const BASIS_ALLOWANCE = '0.5%';

export function marketYaml(): string {
  const { name, amountStep, priceStep, minAmount, maintenanceMargin, price } = MARKET;
  const quoted = (value: Decimal): string => `"${formatDecimal(value)}"`;
  return `  ${name}:
    { amountStep: ${quoted(amountStep)}, priceStep: ${quoted(priceStep)}, minAmount: ${quoted(minAmount)},
      maintenanceMargin: ${quoted(maintenanceMargin)}, basisAllowance: ${BASIS_ALLOWANCE},
      money: ${CURRENCY}, referencePrice: ${formatDecimal(price)} }`;
}
