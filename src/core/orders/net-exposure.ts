import type { Intent, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import { type Decimal, maxDecimal, toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';

/** Whether both sides of a market are open; a position of unknown direction counts as a side of its own. */
export function isHedged(read: MarketRead): boolean {
  const directions = new Set(read.positions.map((position) => position.direction));
  return directions.size > 1;
}

/** What this side of a market has more than the other one; negative when it has less. */
export function netExposure(position: ReadPosition, read: MarketRead): Decimal {
  return read.positions.reduce((sum, other) => {
    const size = toDecimal(other.sizeBase);
    return other.direction === position.direction ? sum.plus(size) : sum.minus(size);
  }, ZERO);
}

/** The smallest amount that an order can have. */
export function leastAmount(market: MarketSettings): Decimal {
  return maxDecimal(toDecimal(market.amountStep), toDecimal(market.minAmount));
}

/** Whether an intent may take anything from a position without raising the market's net exposure. */
export function mayReduce(
  intent: Pick<Intent, 'perLeg'>,
  position: ReadPosition,
  read: MarketRead,
  market: MarketSettings,
  settings: AccountSettings,
): boolean {
  if (settings.hedge === 'perLeg' || intent.perLeg || !isHedged(read)) return true;
  return netExposure(position, read).gte(leastAmount(market));
}
