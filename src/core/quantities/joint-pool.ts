import { toNumber } from './decimal.ts';
import type { PositionQuantities } from './position.ts';
import { type AtMost, known, NONE, type Quantity, unknown } from './quantity.ts';
import type { AccountSettings } from './settings.ts';
import { moneyOf, reported, stockOf } from './units.ts';

/** The settings that describe the account's shared collateral. */
export type PoolSettings = Pick<AccountSettings, 'marginModel' | 'holdings' | 'marketSettings' | 'ownOrders'>;

/** The share of one market, or of one coin held as collateral, in the pool of a cross-margin account. */
export interface PoolMarket {
  /** Name of the market; for a coin without a market its ticker. */
  readonly market: string;
  readonly positions: readonly PositionQuantities[];
  /** Fraction of the pool's buffer lost if this price fell to 0: 1 / distance; negative if a rise hurts. */
  readonly pull: number;
  /** The same per base unit of the net side, never negative: what reducing by one unit gives back. */
  readonly pullPerBase: number;
  /** Fraction of its price that the market may move alone; `none`: it has no liquidation price. */
  readonly distance: Quantity<number>;
}

/** `pooled`: all positions share one buffer. `apart`: each position has its own. */
export type JointPool = Pooled | { readonly kind: 'apart' };

export interface Pooled {
  readonly kind: 'pooled';
  readonly markets: readonly PoolMarket[];
  readonly pull: number;
  /** The exchange does not show the buffer: this is the most that it can be. A smaller one makes all pulls larger. */
  readonly isAtMost?: true;
}

/** Liquidation prices of one market count as equal if they differ by less than this fraction of its price. */
const SAME_PRICE = 0.001;
/** Distance that a market at its liquidation price counts with. */
const LEAST_DISTANCE = 1e-9;
/** Buffers that differ by more than this fraction do not belong to one pool. */
export const SAME_BUFFER = 0.2;

/**
 * The pool of a complete list. A liquidation price assumes that all other prices stay, so every market implies the same
 * buffer, `notional * distance`. Unknown if any market is unknown: it could add to either side. `isSpent`: free funds of
 * 0 are certain, and no position is missing.
 */
export function jointPool(
  positions: readonly PositionQuantities[],
  settings: PoolSettings,
  isSpent = false,
): Quantity<JointPool> {
  if (settings.marginModel === 'isolated') return known(APART);
  const sides: MarketSide[] = [];
  const funds = fundsOf(positions, settings);
  let told = funds;
  // First the markets whose coins are no collateral: their liquidation prices tell the buffer, if the funds do not.
  const isHeld = (market: string): number => (settings.holdings?.[stockOf(market)] === undefined ? 0 : 1);
  for (const [, legs] of [...byMarket(positions)].toSorted(([a], [b]) => isHeld(a) - isHeld(b))) {
    const side = marketSide(legs, settings, told);
    if (side.kind !== 'value') return side;
    const { liquidation } = side.value;
    if (told.kind !== 'value' && liquidation !== undefined) told = known(liquidation.buffer);
    sides.push(side.value);
  }
  if (settings.marginModel === 'auto' && !isOnePool(sides, settings)) return known(APART);
  if (sides.length === 0) return known({ kind: 'pooled', markets: [], pull: 0 });
  const exact = bufferOf(sides, funds);
  const isAtMost =
    exact.kind === 'unknown' && exact.why === 'notPositive' && isSpent && settings.ownOrders === 'none';
  const buffer = isAtMost ? mostBuffer(sides, fundsOf(positions, settings, true)) : exact;
  const markets: PoolMarket[] = [];
  for (const side of sides) {
    const market = poolMarket(side, buffer);
    if (market.kind !== 'value') return market;
    markets.push(market.value);
  }
  for (const [asset, worth] of Object.entries(settings.holdings ?? {})) {
    if (sides.some((side) => stockOf(side.market) === asset && side.liquidation?.isWithCoin)) continue;
    if (buffer.kind !== 'value') return buffer;
    const pull = worth / buffer.value;
    markets.push({ market: asset, positions: [], pull, pullPerBase: 0, distance: NONE });
  }
  const pull = markets.reduce((sum, market) => sum + market.pull, 0);
  return known({ kind: 'pooled', markets, pull, ...(isAtMost && { isAtMost }) });
}

const APART: JointPool = { kind: 'apart' };

/** The uniform move of all prices that exhausts the pool, `1 / |sum of pulls|`; `none` if there is none. */
export function uniformDistance({ markets, pull, isAtMost }: Pooled): Quantity<number> | AtMost {
  const [first] = markets;
  if (first !== undefined && markets.length === 1 && first.distance.kind === 'value') return first.distance;
  if (pull === 0) return NONE;
  return { kind: isAtMost ? 'atMost' : 'value', value: 1 / Math.abs(pull) };
}

/**
 * The price at which the pool is exhausted if all prices move together, if it is nearer than the position's own
 * liquidation price. Undefined if the position gains by such a move, or without a pool of several markets.
 */
export function jointLiquidationPrice(
  { direction, markPrice, liquidationDistance }: PositionQuantities,
  pool: Quantity<JointPool>,
  { ownOrders }: Pick<AccountSettings, 'ownOrders'>,
): number | undefined {
  if (pool.kind !== 'value' || pool.value.kind === 'apart' || pool.value.markets.length === 1)
    return undefined;
  if (direction.kind !== 'value' || markPrice.kind !== 'value') return undefined;
  const { pull, markets } = pool.value;
  // Without any liquidation price margin and free funds tell the pool, less what open orders reserve: with orders of
  // the owner a stop would lie too near.
  const isTold = markets.some((market) => market.distance.kind === 'value');
  if (!isTold && ownOrders === 'possible') return undefined;
  const dir = direction.value === 'long' ? 1 : -1;
  if (pull * dir <= 0) return undefined;
  const distance = 1 / Math.abs(pull);
  if (liquidationDistance.kind === 'value' && liquidationDistance.value <= distance) return undefined;
  const price = markPrice.value * (1 - dir * distance);
  return price > 0 ? price : undefined;
}

export interface MarketSide {
  readonly market: string;
  readonly legs: readonly PositionQuantities[];
  readonly markPrice: number;
  /** Change of (equity - maintenance margin) per unit of its price, in base units; positive: a fall hurts. */
  readonly slopeBase: number;
  /** Change of `slopeBase` per base unit of the net side that is closed, never negative. */
  readonly leverPerBase: number;
  readonly liquidation: LiquidationSide | undefined;
  readonly money: string;
}

interface LiquidationSide {
  readonly distance: number;
  /** 1 / distance; positive if the liquidation price is below the mark. */
  readonly pull: number;
  /** In the market's money currency, with the possible rounding error. */
  readonly buffer: number;
  readonly bufferError: number;
  /** All legs report the same liquidation price. */
  readonly isAgreed: boolean;
  /** The coin held as collateral falls with the market on the way to it. */
  readonly isWithCoin: boolean;
  /** Nothing tells whether it does: the buffer may be larger. */
  readonly isGuess: boolean;
}

export function byMarket(
  positions: readonly PositionQuantities[],
): ReadonlyMap<string, readonly PositionQuantities[]> {
  const legs = new Map<string, PositionQuantities[]>();
  for (const position of positions) {
    if (position.size === 0) continue;
    const listed = legs.get(position.market);
    if (listed === undefined) legs.set(position.market, [position]);
    else listed.push(position);
  }
  return legs;
}

export function marketSide(
  legs: readonly PositionQuantities[],
  settings: PoolSettings,
  funds?: Quantity<number>,
): Quantity<MarketSide> {
  const [first] = legs;
  if (first === undefined) return unknown('zeroSize');
  const { market } = first;
  let net = 0;
  let gross = 0;
  for (const { direction, size } of legs) {
    if (direction.kind !== 'value') return direction;
    net += direction.value === 'long' ? size : -size;
    gross += size;
  }
  const mark = first.markPrice;
  if (mark.kind !== 'value') return mark;
  const rate = settings.marketSettings(market)?.maintenanceMargin ?? 0;
  const slopeBase = net - rate * gross;
  const dir = net < 0 ? -1 : 1;
  const prices: number[] = [];
  for (const { liquidationPrice } of legs) {
    if (liquidationPrice.kind === 'unknown') return liquidationPrice;
    if (liquidationPrice.kind === 'value') prices.push(liquidationPrice.value);
  }
  const side: Omit<MarketSide, 'liquidation'> = {
    market,
    legs,
    markPrice: mark.value,
    slopeBase,
    leverPerBase: 1 - dir * rate,
    money: moneyOf(market, settings),
  };
  return known({ ...side, liquidation: liquidationSide(prices, side, settings, funds) });
}

/** If liquidation prices differ, the nearest counts. */
function liquidationSide(
  prices: readonly number[],
  { market, legs, markPrice, slopeBase }: Omit<MarketSide, 'liquidation'>,
  { holdings, marketSettings }: PoolSettings,
  funds?: Quantity<number>,
): LiquidationSide | undefined {
  if (prices.length === 0) return undefined;
  const wayTo = (price: number): number => Math.abs(price - markPrice);
  const nearest = prices.reduce((best, price) => (wayTo(price) < wayTo(best) ? price : best));
  const distance = wayTo(nearest) / markPrice;
  const reach = Math.max(distance, LEAST_DISTANCE);
  // The coin held as collateral too may make its market heavier: the account's own figures tell.
  const held = holdings?.[stockOf(market)] ?? 0;
  const [bare, heavy] = [Math.abs(slopeBase * markPrice), Math.abs(slopeBase * markPrice + held)];
  const missesBy = (worth: number): number =>
    funds?.kind === 'value' ? Math.abs(worth * reach - funds.value) : 0;
  // If nothing tells, the nearer liquidation counts.
  const isHeavier = missesBy(heavy) - missesBy(bare) || heavy - bare;
  const isWithCoin = held !== 0 && isHeavier < 0;
  const weight = isWithCoin ? heavy : bare;
  const step = marketSettings(market)?.priceStep;
  const markError = legs.reduce(
    (most, leg) => (leg.markError.kind === 'value' ? Math.max(most, leg.markError.value) : most),
    0,
  );
  const priceError = (step === undefined ? 0 : toNumber(step)) + markError;
  return {
    distance,
    pull: (nearest < markPrice ? 1 : -1) / reach,
    buffer: weight * reach,
    bufferError: (weight * priceError) / markPrice,
    isWithCoin,
    isGuess: held !== 0 && funds?.kind !== 'value',
    isAgreed: prices.every((price) => Math.abs(price - nearest) <= SAME_PRICE * markPrice),
  };
}

/** Money left of a position until liquidation, by its liquidation price (`told`) and by its own margin (`own`). */
interface Buffers {
  readonly told: number;
  readonly own: number;
  /** Possible rounding error of `told`. */
  readonly error: number;
}

function buffersOf(position: PositionQuantities, { marketSettings }: PoolSettings): Buffers | undefined {
  const { direction, markPrice, liquidationPrice, unrealizedPnl, markError, size } = position;
  const margin = reported(position.record.margin);
  if (direction.kind !== 'value' || markPrice.kind !== 'value' || liquidationPrice.kind !== 'value')
    return undefined;
  if (margin.kind !== 'value' || unrealizedPnl.kind !== 'value') return undefined;
  const terms = marketSettings(position.market);
  const rate = terms?.maintenanceMargin ?? 0;
  const dir = direction.value === 'long' ? 1 : -1;
  const priceError =
    (terms === undefined ? 0 : toNumber(terms.priceStep)) +
    (markError.kind === 'value' ? markError.value : 0);
  const told = size * (1 - dir * rate) * dir * (markPrice.value - liquidationPrice.value);
  const own = margin.value + unrealizedPnl.value - rate * size * markPrice.value;
  return told > 0 ? { told, own, error: size * priceError } : undefined;
}

/** True if the liquidation price is where the position's own margin is used up, as under isolated margin. */
export function hasOwnMargin(
  position: PositionQuantities,
  settings: PoolSettings,
  tolerance = SAME_BUFFER,
): boolean {
  const buffers = buffersOf(position, settings);
  if (buffers === undefined) return false;
  return Math.abs(buffers.own - buffers.told) <= tolerance * buffers.told + buffers.error;
}

/** Free funds count as such only if they are this many times the rounding error. */
const CLEARLY_FREE = 4;

/** True if a single position relies on its own margin although the account has free funds that a pool would add. */
function leavesFundsOut(position: PositionQuantities, settings: PoolSettings): boolean {
  const buffers = buffersOf(position, settings);
  const free = reported(position.record.freeMargin);
  if (buffers === undefined || free.kind !== 'value' || position.unrealizedPnl.kind !== 'value') return false;
  const { told, own, error } = buffers;
  const least = CLEARLY_FREE * error;
  const isOther = (buffer: number): boolean => Math.abs(buffer - told) >= least;
  return (
    free.value >= least &&
    Math.abs(own - told) <= error &&
    isOther(own + free.value) &&
    isOther(own + free.value - position.unrealizedPnl.value)
  );
}

/**
 * Whether a position has its own or shared margin. Undefined for a single position without free funds: both models look
 * the same.
 */
export function marginBehind(
  position: PositionQuantities,
  pool: Quantity<JointPool>,
  settings: PoolSettings,
): 'own' | 'shared' | undefined {
  if (settings.marginModel !== 'auto') return settings.marginModel === 'isolated' ? 'own' : 'shared';
  if (pool.kind !== 'value') return undefined;
  if (pool.value.kind === 'apart') return hasOwnMargin(position, settings) ? 'own' : undefined;
  return pool.value.markets.length > 1 ? 'shared' : undefined;
}

/** True if every position relies on its own margin. */
export function standApart(sides: readonly MarketSide[], settings: PoolSettings): boolean {
  const isOwn = sides.length > 1 ? hasOwnMargin : leavesFundsOut;
  return sides.every(
    ({ legs: [leg, ...others] }) => leg !== undefined && others.length === 0 && isOwn(leg, settings),
  );
}

/** True if all markets of each currency imply the same buffer. Different currencies are not compared. */
export function isOnePool(sides: readonly MarketSide[], settings: PoolSettings): boolean {
  if (sides.length > 0 && standApart(sides, settings)) return false;
  const bounds = new Map<string, { low: number; high: number }>();
  for (const { liquidation, money } of sides) {
    if (liquidation === undefined) continue;
    if (!liquidation.isAgreed) return false;
    const { buffer, bufferError } = liquidation;
    const known = bounds.get(money) ?? { low: 0, high: Number.POSITIVE_INFINITY };
    bounds.set(money, {
      low: Math.max(known.low, buffer - bufferError),
      high: Math.min(known.high, buffer + bufferError),
    });
  }
  return [...bounds.values()].every(({ low, high }) => low - high <= SAME_BUFFER * low);
}

/**
 * The pool's buffer: the smallest that a market implies, else that of the account's own figures. A guessed buffer may
 * be too small. It is not used while a market has no liquidation price: that market might hedge the others, and would
 * count for too much.
 */
function bufferOf(sides: readonly MarketSide[], funds: Quantity<number>): Quantity<number> {
  if (new Set(sides.map(({ money }) => money)).size !== 1) return unknown('currenciesDiffer');
  const isEachTold = sides.every(({ liquidation }) => liquidation !== undefined);
  const told = sides.flatMap(({ liquidation }) =>
    liquidation === undefined || (liquidation.isGuess && !isEachTold) ? [] : [liquidation.buffer],
  );
  return told.length > 0 ? positive(Math.min(...told)) : funds;
}

/**
 * The most that the buffer of an account without free funds and without orders of the owner can be, as its margin in use
 * is at least its equity. Unknown if a market would then show a liquidation price: the figures contradict each other. So
 * too if it is worth as much as all markets: each may have its own margin then, and no price that liquidates it.
 */
function mostBuffer(sides: readonly MarketSide[], most: Quantity<number>): Quantity<number> {
  if (most.kind !== 'value' || sides.some(({ liquidation }) => liquidation)) return unknown('notPositive');
  const worths = sides.map(({ slopeBase, markPrice }) => Math.abs(slopeBase * markPrice));
  const all = worths.reduce((sum, worth) => sum + worth, 0);
  return most.value < Math.max(...worths) || most.value >= all ? unknown('notPositive') : most;
}

/** `margin + freeMargin` less maintenance margin. `isMost`: an upper bound, also if `freeMargin` leaves profits out. */
function fundsOf(
  positions: readonly PositionQuantities[],
  settings: PoolSettings,
  isMost = false,
): Quantity<number> {
  let free = Number.POSITIVE_INFINITY;
  let funds = 0;
  for (const { record, market, size, markPrice, unrealizedPnl } of positions) {
    const margin = reported(record.margin);
    const freeMargin = reported(record.freeMargin);
    if (margin.kind !== 'value') return margin;
    if (freeMargin.kind !== 'value') return freeMargin;
    if (markPrice.kind !== 'value') return markPrice;
    const terms = settings.marketSettings(market);
    if (terms === undefined) return unknown('marketNotConfigured');
    funds += margin.value - size * markPrice.value * terms.maintenanceMargin;
    if (isMost && unrealizedPnl.kind === 'value') funds += Math.max(0, unrealizedPnl.value);
    free = Math.min(free, freeMargin.value);
  }
  // Without free funds, margin in use may exceed the equity by an unknown amount: the buffer would be too large.
  return free > 0 || isMost ? positive(funds + free) : unknown('notPositive');
}

function positive(buffer: number): Quantity<number> {
  return buffer > 0 ? known(buffer) : unknown('notPositive');
}

function poolMarket(side: MarketSide, buffer: Quantity<number>): Quantity<PoolMarket> {
  const { market, legs: positions, slopeBase, leverPerBase, liquidation, markPrice } = side;
  if (liquidation === undefined) {
    if (buffer.kind !== 'value') return buffer;
    const perBase = markPrice / buffer.value;
    return known({
      market,
      positions,
      pull: slopeBase * perBase,
      pullPerBase: leverPerBase * perBase,
      distance: NONE,
    });
  }
  const { distance, pull, buffer: own } = liquidation;
  const pullPerBase = own > 0 ? (leverPerBase * markPrice) / own : 0;
  return known({ market, positions, pull, pullPerBase, distance: known(distance) });
}
