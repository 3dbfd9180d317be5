import { toNumber } from './decimal.ts';
import type { PositionQuantities } from './position.ts';
import { known, NONE, type Quantity, unknown } from './quantity.ts';
import type { AccountSettings } from './settings.ts';
import { moneyOf, reported } from './units.ts';

/** What an account's positions and config say of the collateral that they share. */
export type PoolSettings = Pick<AccountSettings, 'marginModel' | 'holdings' | 'marketSettings'>;

/** How one market, or one coin held as collateral, uses up the pool of an account under cross margin. */
export interface PoolMarket {
  /** Name of the market; of a coin without one its ticker. */
  readonly market: string;
  readonly positions: readonly PositionQuantities[];
  /** The part of the pool's buffer that a fall of this price to 0 would take: 1 / distance; negative for a rise. */
  readonly pull: number;
  /** The same for one base unit of the net side alone, never negative; what a reduction there gives back. */
  readonly pullPerBase: number;
  /** Part of the market's price that it may move alone, a fraction; `none`: it has no liquidation price. */
  readonly distance: Quantity<number>;
}

/** `pooled`: all positions share one buffer. `apart`: they do not, so each stands alone. */
export type JointPool =
  | { readonly kind: 'pooled'; readonly markets: readonly PoolMarket[]; readonly pull: number }
  | { readonly kind: 'apart' };

/** Two liquidation prices of one market nearer than this, as a share of its price, are the same. */
const SAME_PRICE = 0.001;
/** At its liquidation price a market is as near as this. */
const LEAST_DISTANCE = 1e-9;
/** Buffers that differ by more than this are not one pool. */
const SAME_BUFFER = 0.2;

/**
 * The pool of a complete list. A liquidation price holds every other price still, so each market tells the same buffer:
 * `notional * distance`. Unknown as soon as one market is: it could weigh on either side.
 */
export function jointPool(
  positions: readonly PositionQuantities[],
  settings: PoolSettings,
): Quantity<JointPool> {
  if (settings.marginModel === 'isolated') return known(APART);
  const sides: MarketSide[] = [];
  for (const legs of byMarket(positions).values()) {
    const side = marketSide(legs, settings);
    if (side.kind !== 'value') return side;
    sides.push(side.value);
  }
  if (settings.marginModel === 'auto' && !isOnePool(sides, settings)) return known(APART);
  const buffer = bufferOf(sides, positions, settings);
  const markets: PoolMarket[] = [];
  for (const side of sides) {
    const market = poolMarket(side, buffer);
    if (market.kind !== 'value') return market;
    markets.push(market.value);
  }
  for (const [asset, worth] of Object.entries(settings.holdings ?? {})) {
    if (sides.some((side) => stockOf(side.market) === asset && side.liquidation !== undefined)) continue;
    if (buffer.kind !== 'value') return buffer;
    const pull = worth / buffer.value;
    markets.push({ market: asset, positions: [], pull, pullPerBase: 0, distance: NONE });
  }
  const pull = markets.reduce((sum, market) => sum + market.pull, 0);
  return known({ kind: 'pooled', markets, pull });
}

const APART: JointPool = { kind: 'apart' };

/** The uniform move of all prices that uses the pool up: `1 / |sum of pulls|`; `none` where no such move does. */
export function uniformDistance({ markets, pull }: Extract<JointPool, { kind: 'pooled' }>): Quantity<number> {
  const [first] = markets;
  if (first !== undefined && markets.length === 1 && first.distance.kind === 'value') return first.distance;
  return pull === 0 ? NONE : known(1 / Math.abs(pull));
}

/**
 * The price at which the pool is used up if all prices move together, where that is nearer than the position's own
 * liquidation price. Undefined for positions that gain by such a move, and without a pool of several markets.
 */
export function jointLiquidationPrice(
  { direction, markPrice, liquidationDistance }: PositionQuantities,
  pool: Quantity<JointPool>,
): number | undefined {
  if (pool.kind !== 'value' || pool.value.kind === 'apart' || pool.value.markets.length === 1)
    return undefined;
  if (direction.kind !== 'value' || markPrice.kind !== 'value') return undefined;
  const { pull, markets } = pool.value;
  // Without any liquidation price the pool is estimated: too coarsely for an order that stands.
  if (!markets.some((market) => market.distance.kind === 'value')) return undefined;
  const dir = direction.value === 'long' ? 1 : -1;
  if (pull * dir <= 0) return undefined;
  const distance = 1 / Math.abs(pull);
  if (liquidationDistance.kind === 'value' && liquidationDistance.value <= distance) return undefined;
  const price = markPrice.value * (1 - dir * distance);
  return price > 0 ? price : undefined;
}

interface MarketSide {
  readonly market: string;
  readonly legs: readonly PositionQuantities[];
  readonly markPrice: number;
  /** Change of equity less maintenance margin per unit of its price, base units; positive: a fall hurts. */
  readonly slopeBase: number;
  /** Change of it per base unit of the net side that is closed, never negative. */
  readonly leverPerBase: number;
  readonly liquidation: LiquidationSide | undefined;
  readonly money: string;
}

interface LiquidationSide {
  readonly distance: number;
  /** 1 / distance, positive where the liquidation price lies below the mark. */
  readonly pull: number;
  /** In the money currency of the market, and how far rounding may have moved it. */
  readonly buffer: number;
  readonly bufferError: number;
  /** All legs say the same. */
  readonly isAgreed: boolean;
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
  return known({ ...side, liquidation: liquidationSide(prices, side, settings) });
}

/** Of different liquidation prices the nearest one counts. */
function liquidationSide(
  prices: readonly number[],
  { market, legs, markPrice, slopeBase }: Omit<MarketSide, 'liquidation'>,
  { holdings, marketSettings }: PoolSettings,
): LiquidationSide | undefined {
  if (prices.length === 0) return undefined;
  const wayTo = (price: number): number => Math.abs(price - markPrice);
  const nearest = prices.reduce((best, price) => (wayTo(price) < wayTo(best) ? price : best));
  const distance = wayTo(nearest) / markPrice;
  const reach = Math.max(distance, LEAST_DISTANCE);
  // A coin that is held as collateral as well makes its market heavier.
  const held = holdings?.[stockOf(market)] ?? 0;
  const weight = Math.abs(slopeBase * markPrice + held);
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
    isAgreed: prices.every((price) => Math.abs(price - nearest) <= SAME_PRICE * markPrice),
  };
}

/** What a position has left until liquidation, money: by its liquidation price, and by its own margin. */
interface Buffers {
  readonly told: number;
  readonly own: number;
  /** How far rounding may have moved what its liquidation price tells. */
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

/** Whether the liquidation price is where the position's own margin is used up, as under isolated margin. */
function hasOwnMargin(position: PositionQuantities, settings: PoolSettings): boolean {
  const buffers = buffersOf(position, settings);
  if (buffers === undefined) return false;
  return Math.abs(buffers.own - buffers.told) <= SAME_BUFFER * buffers.told + buffers.error;
}

/** Free funds have to be so many times what rounding moves to be told from none. */
const CLEARLY_FREE = 4;

/** Whether a single position stands by its own margin although the account has funds that a pool would add. */
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

/** What stands behind a position. A single one looks the same under both models where no funds are free: undefined. */
export function marginBehind(
  position: PositionQuantities,
  pool: Quantity<JointPool>,
  settings: PoolSettings,
): 'own' | 'shared' | undefined {
  if (settings.marginModel !== 'auto') return settings.marginModel === 'isolated' ? 'own' : 'shared';
  if (pool.kind !== 'value') return undefined;
  if (pool.value.kind === 'apart') return hasOwnMargin(position, settings) ? 'own' : undefined;
  const [market, ...others] = pool.value.markets;
  if (others.length > 0) return 'shared';
  return market?.positions.length === 1 && leavesFundsOut(position, settings) ? 'own' : undefined;
}

/** Whether all markets of each currency tell the same buffer. Buffers in different currencies are not compared. */
function isOnePool(sides: readonly MarketSide[], settings: PoolSettings): boolean {
  const isOwn = ({ legs }: MarketSide): boolean => {
    const [leg] = legs;
    return leg !== undefined && legs.length === 1 && hasOwnMargin(leg, settings);
  };
  if (sides.length > 1 && sides.every(isOwn)) return false;
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

/** The pool's buffer as an amount: the least that a market tells, else `margin + freeMargin` less maintenance. */
function bufferOf(
  sides: readonly MarketSide[],
  positions: readonly PositionQuantities[],
  settings: PoolSettings,
): Quantity<number> {
  if (new Set(sides.map(({ money }) => money)).size !== 1) return unknown('currenciesDiffer');
  const told = sides.flatMap(({ liquidation }) => (liquidation === undefined ? [] : [liquidation.buffer]));
  if (told.length > 0) return positive(Math.min(...told));
  let free = Number.POSITIVE_INFINITY;
  let funds = 0;
  for (const { record } of positions) {
    const margin = reported(record.margin);
    const freeMargin = reported(record.freeMargin);
    if (margin.kind !== 'value') return margin;
    if (freeMargin.kind !== 'value') return freeMargin;
    funds += margin.value;
    free = Math.min(free, freeMargin.value);
  }
  let maintenance = 0;
  for (const { market, legs, markPrice } of sides) {
    const terms = settings.marketSettings(market);
    if (terms === undefined) return unknown('marketNotConfigured');
    maintenance += legs.reduce((sum, { size }) => sum + size, 0) * markPrice * terms.maintenanceMargin;
  }
  // Margin in use may exceed the equity, and how far is not told once nothing is free: too large a buffer is no answer.
  return free > 0 ? positive(funds + free - maintenance) : unknown('notPositive');
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

/** What a market trades: what comes before the underscore of its name. */
export function stockOf(market: string): string {
  const end = market.indexOf('_');
  return end < 0 ? market : market.slice(0, end);
}
