import {
  type Decimal,
  decimal,
  formatDecimal,
  maxDecimal,
  toNumber,
  ZERO,
} from '../../src/core/quantities/decimal.ts';
import type { SimulatedExchange } from '../../src/simulator/simulated-exchange.ts';
import { fitsBothSides } from '../accounts/judge.ts';

/** Closer to liquidation than this, every rule of these worlds fires. */
const FIRING_DISTANCE = 0.045;

type Position = ReturnType<SimulatedExchange['model']['openPositions']>[number];

/** Whether a position is where its rules fire. */
export function isBreachedPosition({ markPrice, liquidationPrice, direction }: Position): boolean {
  if (liquidationPrice === null) return false;
  const mark = toNumber(markPrice);
  const distance = ((mark - toNumber(liquidationPrice)) / mark) * (direction === 'long' ? 1 : -1);
  return distance > 0 && distance < FIRING_DISTANCE;
}

export function isBreached(exchange: SimulatedExchange, accountId: string): boolean {
  if (!exchange.accounts.has(accountId)) return false;
  const positions = exchange.model.openPositions(accountId);
  return positions.some(
    (one) => isBreachedPosition(one) && !isUnclosable(exchange, one) && !isHedge(exchange, one, positions),
  );
}

/** Whether a position hedges as much of its market, or more: reducing it raises the net exposure. */
function isHedge({ model }: SimulatedExchange, position: Position, positions: readonly Position[]): boolean {
  const { market, amount, direction } = position;
  const other = positions.find((one) => one.market === market && one.direction !== direction);
  const least = leastAmount(model.market(market)?.spec);
  return other !== undefined && amount.minus(other.amount).lt(least);
}

function leastAmount(
  terms: { readonly minAmount: Decimal; readonly amountStep: Decimal } | undefined,
): Decimal {
  return maxDecimal(terms?.minAmount ?? ZERO, terms?.amountStep ?? ZERO);
}

/**
 * Whether the exchange takes no order that could reduce a position: it takes none of this type, the least amount is
 * worth more than it takes at once, or the whole position less; or the figures sent leave its price or its side
 * too open for an order.
 */
export function isUnclosable({ model }: SimulatedExchange, position: Position): boolean {
  const { market, amount, markPrice } = position;
  if (isUntold(model, position)) return true;
  const { stopLimitOrders, minTotal, maxTotal } = model.readings();
  const least = leastAmount(model.market(market)?.spec);
  return (
    stopLimitOrders === 'closed' ||
    (maxTotal !== 'none' && least.times(markPrice).gt(decimal(maxTotal))) ||
    (minTotal !== 'none' && amount.times(markPrice).lt(decimal(minTotal)))
  );
}

/** Whether the figures sent leave the side or the price of a position too open for an order. */
export function isUntold(model: SimulatedExchange['model'], position: Position): boolean {
  return isUnpriced(position) || showsNoSide(model, position);
}

/** Where amounts have no sign, its own figures have to show the side of a position. */
function showsNoSide({ readings }: SimulatedExchange['model'], position: Position): boolean {
  return readings().shortAmount === 'unsigned' && position.positionSide === 'BOTH' && fitsBothSides(position);
}

/** Half the least slippage of the rules: a mark price that is less exact gives no limit price. */
const COARSEST_PART = 0.005;

/** No reply has the mark price: it follows from profit, size and base price, to half of the last digit of each. */
function isUnpriced({
  amount,
  basePrice,
  unrealizedPnl,
  markPrice,
}: Pick<Position, 'amount' | 'basePrice' | 'unrealizedPnl' | 'markPrice'>): boolean {
  const error = halfDigit(basePrice) + halfDigit(unrealizedPnl) / toNumber(amount);
  return error > COARSEST_PART * toNumber(markPrice);
}

function halfDigit(value: Decimal): number {
  const [, decimals = ''] = formatDecimal(value).split('.');
  return 10 ** -decimals.length / 2;
}

/** A breach shorter than the interval between polls may pass unseen. */
const UNSEEN_MS = 2_000;

/** `askedMs`: time that people have to answer first; a breach that ends within it needs no action. */
export function breachSince(
  sinceMs: number | undefined,
  isNow: boolean,
  atMs: number,
  askedMs = 0,
): number | undefined {
  if (isNow) return sinceMs ?? atMs;
  return sinceMs !== undefined && atMs - sinceMs > UNSEEN_MS + askedMs ? sinceMs : undefined;
}
