import type { Intent, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import { type Decimal, maxDecimal, toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';

/**
 * Whether both sides of a market are open, or may be; a position of unknown direction counts as a side of its own.
 */
export function isHedged(read: MarketRead): boolean {
  return countSides(read) > 1 || mayHideSide(read);
}

/** Whether the other side of a market, in hedge mode, may be the record that was set aside. */
export function mayHideSide(read: MarketRead): boolean {
  return (
    read.partial !== undefined &&
    countSides(read) === 1 &&
    read.positions.some(({ positionSide }) => positionSide === 'LONG' || positionSide === 'SHORT')
  );
}

function countSides({ positions }: MarketRead): number {
  return new Set(positions.map((position) => position.direction)).size;
}

/** What this side of a market has more than the other one; negative when it has less, zero where nobody knows. */
export function netExposure(position: ReadPosition, read: MarketRead): Decimal {
  if (mayHideSide(read)) return ZERO;
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
