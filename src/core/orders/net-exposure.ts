import { leastAmount } from '../intents/targets.ts';
import type { Intent, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import { type Decimal, maxDecimal, ONE, toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { outstandingBase } from './outstanding.ts';

/** Whether both sides of a market are open, or may be. Positions of unknown direction count as a side of their own. */
export function isHedged(read: MarketRead): boolean {
  return countSides(read) > 1 || mayHideSide(read);
}

/** Whether, in hedge mode, the record that was set aside may be the other side of the market. */
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

/** How much larger this side of a market is than the other; negative if it is smaller, zero if unknown. */
export function netExposure(position: ReadPosition, read: MarketRead): Decimal {
  if (mayHideSide(read)) return ZERO;
  return read.positions.reduce((sum, other) => {
    const size = toDecimal(other.sizeBase);
    return other.direction === position.direction ? sum.plus(size) : sum.minus(size);
  }, ZERO);
}

/**
 * Whether reducing this side could raise the market's net exposure, in some order of fills. It cannot if the other side
 * is at most half as large.
 */
export function mayRaiseNet(position: ReadPosition, read: MarketRead): boolean {
  if (!isHedged(read)) return false;
  if (position.direction === null || mayHideSide(read)) return true;
  const net = netExposure(position, read);
  return otherSideBase(position, read).gt(net);
}

/** Size of the other sides of a market; an unknown direction counts as another side. */
function otherSideBase({ direction }: ReadPosition, { positions }: MarketRead): Decimal {
  return positions
    .filter((other) => other.direction !== direction)
    .reduce((sum, { sizeBase }) => sum.plus(toDecimal(sizeBase)), ZERO);
}

/**
 * Returns how much more may be taken without ever raising the net exposure: all our orders together take at most twice
 * it, or at most it if `mayHideOrders` (orders of an earlier epoch may stand). Undefined: no bound.
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

/** Whether one order must close everything: past the net exposure, a part alone could leave a forbidden rest. */
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
