import type { Intent, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import { type Decimal, maxDecimal, ONE, toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { outstandingBase } from './outstanding.ts';

/** Whether both sides of a market are open, or may be; a position of unknown direction counts as a side of its own. */
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

/**
 * Whether taking from this side could raise the market's net exposure, in whatever order ours fill. Not where the other
 * side has at most half as much.
 */
export function mayRaiseNet(position: ReadPosition, read: MarketRead): boolean {
  if (!isHedged(read)) return false;
  if (position.direction === null || mayHideSide(read)) return true;
  const net = netExposure(position, read);
  return otherSideBase(position, read).gt(net);
}

/** What is open on other sides of a market; what has no known direction counts as another side. */
function otherSideBase({ direction }: ReadPosition, { positions }: MarketRead): Decimal {
  return positions
    .filter((other) => other.direction !== direction)
    .reduce((sum, { sizeBase }) => sum.plus(toDecimal(sizeBase)), ZERO);
}

/**
 * How much more may be taken so that the net exposure is never larger than now: all our orders together at most twice
 * it. `mayHideOrders`: orders of an earlier epoch may stand. Undefined: all may be taken.
 */
export function netRoom(
  position: ReadPosition,
  read: MarketRead,
  orders: readonly OwnOrder[],
  mayHideOrders: boolean,
): Decimal | undefined {
  if (!mayRaiseNet(position, read)) return undefined;
  const own = orders.filter(({ positionId }) => positionId === position.positionId);
  const net = maxDecimal(netExposure(position, read), ZERO);
  const isAllOut = outstandingBase(own, standsForCertain).gte(toDecimal(position.sizeBase));
  if (net.gt(ZERO) && isAllOut) return undefined;
  return maxDecimal((mayHideOrders ? net : net.times(TWO)).minus(outstandingBase(own)), ZERO);
}

/** Of what is closed past the net exposure, a part that filled alone would leave a rest that may not be: one order takes all. */
export function closesAsOne(
  budget: Decimal | undefined,
  read: MarketRead,
  { hedge }: Pick<AccountSettings, 'hedge'>,
): boolean {
  return budget === undefined && hedge === 'net' && isHedged(read);
}

function standsForCertain(order: OwnOrder): boolean {
  return (
    order.status === 'open' &&
    !order.presumedFilled &&
    !order.ambiguous &&
    order.mayHaveVanished !== true &&
    order.behindCancel !== true
  );
}

const TWO = ONE.plus(ONE);

export function leastAmount(market: MarketSettings): Decimal {
  return maxDecimal(toDecimal(market.amountStep), toDecimal(market.minAmount));
}

interface ExposureScene {
  readonly exposure: MarketRead;
  readonly market: MarketSettings;
  readonly settings: AccountSettings;
}

/** Whether an intent may take anything from a position without raising the market's net exposure. */
export function mayReduce(
  intent: Pick<Intent, 'perLeg'>,
  position: ReadPosition,
  { exposure, market, settings }: ExposureScene,
): boolean {
  if (settings.hedge === 'perLeg' || intent.perLeg || !isHedged(exposure)) return true;
  return netExposure(position, exposure).gte(leastAmount(market));
}
