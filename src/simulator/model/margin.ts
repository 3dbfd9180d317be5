import {
  type Decimal,
  decimalFromNumber,
  divide,
  formatDecimal,
  maxDecimal,
  minDecimal,
  ONE,
  roundToStep,
  toNumber,
  writtenDecimalPlaces,
  ZERO,
} from '../../core/quantities/decimal.ts';
import { worstPrice } from './market.ts';
import {
  type Account,
  type CostFigures,
  collateralBook,
  type ExchangeState,
  type MarginUnit,
  type Market,
  MONEY_PLACES,
  marginOf,
  type Order,
  type Position,
  sign,
} from './state.ts';

const DAY_MS = decimalFromNumber(86_400_000);

/** The market that prices an asset; `undefined` for the reference asset itself or an unpriced asset. */
export function pricingMarket(world: ExchangeState, asset: string): Market | undefined {
  return asset === world.config.referenceAsset
    ? undefined
    : world.markets.get(`${asset}_${world.config.referenceAsset}`);
}

/** Value of one unit of an asset in the reference asset, at mark; zero if no market prices it. */
export function assetRate(world: ExchangeState, asset: string): Decimal {
  return asset === world.config.referenceAsset ? ONE : (pricingMarket(world, asset)?.mark ?? ZERO);
}

/** The share of a balance's value that counts as collateral; debts count in full. */
export function weight(world: ExchangeState, asset: string, balance: Decimal): Decimal {
  return balance.lt(ZERO) ? ONE : (world.assets.get(asset)?.collateralWeight ?? ZERO);
}

export function collateralValue(world: ExchangeState, account: Account): Decimal {
  let value = ZERO;
  for (const [asset, balance] of world.ledger.balances(collateralBook(account))) {
    value = value.plus(balance.times(weight(world, asset, balance)).times(assetRate(world, asset)));
  }
  return value;
}

export function unrealizedPnl(position: Position): Decimal {
  const worth = position.size.times(position.market.mark);
  return position.direction === 'long' ? worth.minus(position.cost) : position.cost.minus(worth);
}

/** `amount * ratePerDay * elapsed`, rounded to `MONEY_PLACES`. */
export function accrued(amount: Decimal, ratePerDay: Decimal, elapsedMs: number): Decimal {
  if (elapsedMs === 0 || ratePerDay.eq(ZERO)) return ZERO;
  return divide(amount.times(ratePerDay).times(decimalFromNumber(elapsedMs)), DAY_MS, MONEY_PLACES, 'halfUp');
}

/** Funding of a margin position since it was last settled; always zero on perpetuals (specification 2.4). */
export function unrealizedFunding(world: ExchangeState, position: Position): Decimal {
  if (position.market.spec.kind === 'perpetual') return ZERO;
  const elapsed = world.nowMs - position.accrualFromMs;
  return position.fundingCarried.plus(accrued(position.cost, position.market.fundingRate, elapsed));
}

export function initialMargin(value: Decimal, leverage: number): Decimal {
  return divide(value, decimalFromNumber(leverage), MONEY_PLACES, 'up');
}

export function positionMargin(world: ExchangeState, position: Position): Decimal {
  return world.readings.marginModel === 'isolated'
    ? marginOf(world, position)
    : costFigures(position).initialMargin;
}

/** Cached, so that it divides once per fill instead of once per read. */
export function costFigures(position: Position): CostFigures {
  const { size, cost, account, market, costFigures: known } = position;
  const { leverage } = account;
  const { spec } = market;
  const isSame = known?.size === size && known.cost === cost;
  if (isSame && known.leverage === leverage && known.spec === spec) return known;
  const basePrice = divide(cost, size, pricePlaces(market), 'halfUp');
  position.costFigures = {
    size,
    cost,
    leverage,
    spec,
    basePrice,
    initialMargin: initialMargin(cost, leverage),
  };
  return position.costFigures;
}

/** Prices of coins worth a fraction of a cent have more places than `MONEY_PLACES`. */
function pricePlaces({ spec }: Market): number {
  return Math.max(MONEY_PLACES, writtenDecimalPlaces(formatDecimal(spec.priceStep)));
}

export function unitPositions(unit: MarginUnit): readonly Position[] {
  return unit.position === null ? [...unit.account.positions.values()] : [unit.position];
}

/** Sums of a unit, or their slopes d(equity) / d(mark) and d(maintenance) / d(mark) in one of its markets. */
export interface MarginSums {
  readonly equity: Decimal;
  readonly maintenance: Decimal;
}

export function marginSums(world: ExchangeState, unit: MarginUnit): MarginSums {
  let equity = unit.position === null ? collateralValue(world, unit.account) : marginOf(world, unit.position);
  let maintenance = ZERO;
  for (const position of unitPositions(unit)) {
    equity = equity.plus(unrealizedPnl(position)).minus(unrealizedFunding(world, position));
    maintenance = maintenance.plus(maintenanceOf(position));
  }
  return { equity, maintenance };
}

export function maintenanceOf(position: Position): Decimal {
  return position.size.times(position.market.mark).times(position.market.spec.maintenanceMargin);
}

export function marketSlopes(world: ExchangeState, unit: MarginUnit): ReadonlyMap<Market, MarginSums> {
  const slopes = new Map<Market, MarginSums>();
  const add = (market: Market, equity: Decimal, maintenance: Decimal): void => {
    const known = slopes.get(market);
    slopes.set(market, {
      equity: known?.equity.plus(equity) ?? equity,
      maintenance: known?.maintenance.plus(maintenance) ?? maintenance,
    });
  };
  for (const { market, size, direction } of unitPositions(unit)) {
    add(market, size.times(sign(direction)), size.times(market.spec.maintenanceMargin));
  }
  if (unit.position !== null) return slopes;
  for (const [asset, balance] of world.ledger.balances(collateralBook(unit.account))) {
    const market = pricingMarket(world, asset);
    if (market !== undefined) add(market, balance.times(weight(world, asset, balance)), ZERO);
  }
  return slopes;
}

/** Unrealized funding that the unit loses per millisecond; negative if it earns. */
export function drainPerMs(unit: MarginUnit): number {
  let perDay = 0;
  for (const { market, cost } of unitPositions(unit)) {
    if (market.spec.kind === 'spot') perDay += toNumber(cost) * toNumber(market.fundingRate);
  }
  return perDay / 86_400_000;
}

/**
 * The mark price at which equity equals maintenance margin: `mark - (equity - maintenance) / slope`, rounded to the
 * safe side; null if no positive price exists.
 */
export function liquidationPrice(
  position: Position,
  sums: MarginSums,
  slopes: ReadonlyMap<Market, MarginSums>,
): Decimal | null {
  const { market } = position;
  const known = slopes.get(market);
  if (known === undefined) return null;
  const slope = known.equity.minus(known.maintenance);
  if (slope.eq(ZERO)) return null;
  const distance = divide(sums.equity.minus(sums.maintenance), slope, pricePlaces(market), 'halfUp');
  const price = roundToStep(
    market.mark.minus(distance),
    market.spec.priceStep,
    slope.gt(ZERO) ? 'up' : 'down',
  );
  return price.gt(ZERO) ? price : null;
}

/** Margin that open orders would need if they filled, except for the parts that reduce existing positions. */
export function reservedMargin(account: Account): Decimal {
  const covers = new Map<string, Decimal>();
  let reserved = ZERO;
  for (const order of account.openOrders.values()) {
    if (!canOpen(order)) continue;
    const key = `${positionKey(order.market, order.positionSide)}|${order.side}`;
    const cover = covers.get(key) ?? opposingSize(order);
    const closing = minDecimal(cover, order.left);
    covers.set(key, cover.minus(closing));
    const value = order.left.minus(closing).times(exposurePrice(order));
    reserved = reserved.plus(initialMargin(value, account.leverage));
  }
  return reserved;
}

/** The worst price that an order can open at. For a sell it is at least the best bid or the activation price. */
export function exposurePrice(order: Order): Decimal {
  const { market, side, price, activationPrice } = order;
  if (side === 'buy') return price.eq(ZERO) ? worstPrice(market, 'buy') : price;
  return maxDecimal(price, order.active ? market.bestBid : (activationPrice ?? market.bestBid));
}

/** The part of a new order that would open or grow a position after the open orders of its side have filled. */
export function openingAmount(order: Order): Decimal {
  const { account, market, positionSide, side } = order;
  let cover = opposingSize(order);
  for (const other of account.openOrders.values()) {
    const isAlike = other.market === market && other.positionSide === positionSide && other.side === side;
    if (canOpen(other) && isAlike) cover = cover.minus(other.left);
  }
  return order.amount.minus(minDecimal(order.amount, maxDecimal(ZERO, cover)));
}

export function canOpen(order: Order): boolean {
  return order.orderClass !== 'spot' && !order.closesOnly;
}

/** Size of the position that an order would reduce; zero if there is none. */
function opposingSize(order: Order): Decimal {
  const position = positionOf(order);
  return position === undefined || position.direction === directionOf(order.side) ? ZERO : position.size;
}

export function directionOf(side: 'buy' | 'sell'): 'long' | 'short' {
  return side === 'buy' ? 'long' : 'short';
}

export function positionKey(market: Market, positionSide: string): string {
  return `${market.spec.name}|${positionSide}`;
}

export function positionOf({ account, market, positionSide }: Order): Position | undefined {
  return account.positions.get(positionKey(market, positionSide));
}

export function usedMargin(world: ExchangeState, account: Account): Decimal {
  let used = ZERO;
  for (const position of account.positions.values()) used = used.plus(positionMargin(world, position));
  return used;
}

/** Free funds for trading, never below zero. Under isolated margin, used margin has already left the pool. */
export function freeMargin(world: ExchangeState, account: Account, equity: Decimal): Decimal {
  const pool =
    world.readings.marginModel === 'isolated'
      ? collateralValue(world, account)
      : equity.minus(usedMargin(world, account));
  return maxDecimal(ZERO, pool.minus(reservedMargin(account)));
}
