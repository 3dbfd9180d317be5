import type { PositionRecord } from '../ports/exchange.ts';
import { type Crossing, crossingOf, type Motion, REACHED } from '../risk/forecast.ts';
import type { Direction, LiquidationStateValue } from '../rules/subject.ts';
import {
  type DecimalString,
  decimal,
  divide,
  formatDecimal,
  toDecimal,
  toNumber,
  writtenDecimalPlaces,
} from './decimal.ts';
import { known, NONE, type Quantity, unknown, valueOf } from './quantity.ts';
import type { AccountSettings } from './settings.ts';
import { reported, stockOf } from './units.ts';

/** Settings that decide how a record is read. */
export type PositionReading = Pick<AccountSettings, 'bothSign' | 'holdings' | 'marketSettings'> &
  Partial<Pick<AccountSettings, 'marginModel'>>;

/**
 * What reads have told of the side of a position. `untold`: its figures fitted no side, so that something else, as a coin
 * held as collateral that the config does not name, moves its liquidation price: they never tell its side.
 */
export type Told = Direction | 'untold';

/**
 * Quantities of one position record (specification 2.4). Numbers are for comparing; `exact...` values are for orders
 * and for people.
 */
export class PositionQuantities {
  readonly record: PositionRecord;
  /** `|amount|`, base currency. */
  readonly size: number;
  /** As reported: average entry price, money per base unit. */
  readonly basePrice: Quantity<number>;
  /** As reported, money currency. */
  readonly unrealizedPnl: Quantity<number>;
  /** As reported; `none` if the exchange says there is none (null), unknown if it was not sent. */
  readonly liquidationPrice: Quantity<number>;
  readonly #amount: number;
  readonly #settings: PositionReading;
  readonly #earlier: Told | undefined;
  #markError: Quantity<number> | undefined;
  #direction: Quantity<Direction> | undefined;
  #mark: Quantity<number> | undefined;
  #distance: Quantity<number> | undefined;

  /** `earlier`: the direction that earlier reads of the position showed; undefined: none. */
  constructor(record: PositionRecord, settings: PositionReading, earlier?: Told) {
    this.record = record;
    this.#amount = toNumber(record.amount);
    this.size = Math.abs(this.#amount);
    this.basePrice = reported(record.basePrice);
    this.unrealizedPnl = reported(record.unrealizedPnl);
    this.liquidationPrice = record.liquidationPrice === null ? NONE : reported(record.liquidationPrice);
    this.#settings = settings;
    this.#earlier = earlier;
  }

  get market(): string {
    return this.record.market;
  }

  get positionId(): string {
    return this.record.positionId;
  }

  /** `size` as a decimal. */
  get exactSize(): DecimalString {
    return formatDecimal(toDecimal(this.record.amount).abs());
  }

  /** Floating profit and loss as a fraction; the exchange reports percent. */
  get pnlPercent(): Quantity<number> {
    const percent = reported(this.record.pnlPercent);
    return percent.kind === 'value' ? known(percent.value / 100) : percent;
  }

  /**
   * `positionSide` LONG or SHORT decides, then a negative amount (short), then under `bothSign: signed` a positive one
   * (long). Else the side of the mark price on which the liquidation price lies, where the figures fit only one, else
   * what an earlier read decided. Never the side of basePrice: in profit the liquidation price may lie beyond it.
   */
  get direction(): Quantity<Direction> {
    this.#direction ??= directionOf(this.record, this.#amount, this.#settings, this.#earlier);
    return this.#direction;
  }

  /** What later reads are to go by; undefined: nothing, as of a size of zero, which is closed. */
  get told(): Told | undefined {
    const { direction, record } = this;
    if (direction.kind === 'value') return direction.value;
    if (direction.kind !== 'unknown' || direction.why !== 'directionUnknown') return undefined;
    const isContradicted =
      !isOpenToBoth(record, this.#settings) && !DIRECTIONS.some((side) => fits(record, side, MOST_ROUNDED));
    return isContradicted || this.#earlier === 'untold' ? 'untold' : undefined;
  }

  /** Its readings as a long and as a short where neither a stated side or sign nor its own figures tell; else none. */
  get ifEither(): readonly PositionQuantities[] {
    const read = (side: Direction) => directionOf(this.record, this.#amount, this.#settings, side);
    if (!DIRECTIONS.every((side) => valueOf(read(side)) === side)) return [];
    return DIRECTIONS.map((side) => new PositionQuantities(this.record, this.#settings, side));
  }

  /** True if the direction is unknown, or is long by a plus sign alone although the figures fit only a short. */
  get directionConflict(): boolean {
    const { direction, record } = this;
    if (direction.kind !== 'value')
      return direction.kind === 'unknown' && direction.why === 'directionUnknown';
    const isStated = record.positionSide?.known === true && record.positionSide.value !== 'BOTH';
    return !isStated && direction.value === 'long' && !fits(record, 'long') && fits(record, 'short');
  }

  /** `basePrice + dir * unrealizedPnl / size`, money per base unit; unknown for a zero size or a price not positive. */
  get markPrice(): Quantity<number> {
    this.#mark ??= this.#computeMark();
    return this.#mark;
  }

  #computeMark(): Quantity<number> {
    if (this.size === 0) return unknown('zeroSize');
    const direction = this.direction;
    if (direction.kind !== 'value') return direction;
    const { basePrice, unrealizedPnl } = this;
    if (basePrice.kind !== 'value') return basePrice;
    if (unrealizedPnl.kind !== 'value') return unrealizedPnl;
    const mark = basePrice.value + (signOf(direction) * unrealizedPnl.value) / this.size;
    return mark > 0 ? known(mark) : unknown('notPositive');
  }

  /** `markPrice` as a decimal. */
  get exactMarkPrice(): Quantity<DecimalString> {
    const { markPrice, direction } = this;
    const { basePrice, unrealizedPnl, amount } = this.record;
    if (markPrice.kind !== 'value') return markPrice;
    if (basePrice === undefined || unrealizedPnl === undefined) return unknown('fieldMissing');
    const places = Math.max(0, writtenDecimalPlaces(basePrice)) + MARK_EXTRA_PLACES;
    const change = divide(toDecimal(unrealizedPnl), toDecimal(amount).abs(), places, 'halfUp');
    const base = toDecimal(basePrice);
    return known(formatDecimal(signOf(direction) > 0 ? base.plus(change) : base.minus(change)));
  }

  /**
   * Error bound of `markPrice`: that of the profit divided by the size, plus half a unit of the last digit of basePrice
   * but at most half a price step (missing digits are stripped zeros, not rounding). The profit is known to half a unit
   * of the last digit of unrealizedPnl. A pnlPercent bounds the share of the price to half a percent.
   */
  get markError(): Quantity<number> {
    this.#markError ??= this.#computeMarkError();
    return this.#markError;
  }

  #computeMarkError(): Quantity<number> {
    const { basePrice, unrealizedPnl, pnlPercent, market } = this.record;
    if (basePrice === undefined || unrealizedPnl === undefined) return unknown('fieldMissing');
    if (this.size === 0) return unknown('zeroSize');
    const step = this.#settings.marketSettings(market)?.priceStep;
    const lastDigit = unitOfLastDigit(basePrice);
    const isFineEnough = step === undefined || writtenDecimalPlaces(basePrice) > writtenDecimalPlaces(step);
    const baseError = isFineEnough ? lastDigit : Math.min(lastDigit, toNumber(step));
    const byPercent = pnlPercent === undefined ? Infinity : toNumber(basePrice) / 100;
    const pnlError = Math.min(unitOfLastDigit(unrealizedPnl) / this.size, byPercent);
    return known((pnlError + baseError) / 2);
  }

  /** `liquidationPrice` as written by the exchange. */
  get exactLiquidationPrice(): Quantity<DecimalString> {
    const price = this.record.liquidationPrice;
    if (price === null) return NONE;
    return price === undefined ? unknown('fieldMissing') : known(price);
  }

  /**
   * `dir * (markPrice - liquidationPrice) / markPrice`; `none` without a liquidation price, unknown in disagreement.
   */
  get liquidationDistance(): Quantity<number> {
    const isPassed = this.disagreement;
    return isPassed.kind === 'value' && isPassed.value ? unknown('disagreement') : this.#reportedDistance;
  }

  get #reportedDistance(): Quantity<number> {
    this.#distance ??= this.#computeDistance();
    return this.#distance;
  }

  #computeDistance(): Quantity<number> {
    const liquidation = this.liquidationPrice;
    if (liquidation.kind !== 'value') return liquidation;
    const mark = this.markPrice;
    if (mark.kind !== 'value') return mark;
    return known((signOf(this.direction) * (mark.value - liquidation.value)) / mark.value);
  }

  /** As reported: null is `none`, an undocumented value `unrecognised`, absent is unknown. */
  get liquidationState(): Quantity<LiquidationStateValue> {
    const state = this.record.liquidationState;
    if (state === undefined) return unknown('fieldMissing');
    if (state === null) return known('none');
    return known(state.known ? state.value : 'unrecognised');
  }

  /**
   * True if the liquidation price is passed without liquidation, as in hedged accounts, or is none that a short can reach
   * (0 or less); unfit for sizing orders.
   */
  get disagreement(): Quantity<boolean> {
    const distance = this.#reportedDistance;
    if (distance.kind === 'unknown') return distance;
    if (distance.kind === 'none' || distance.value >= 0) return known(false);
    const state = this.record.liquidationState;
    const isLiquidated = state?.known === true && state.value === 'liquidation';
    const isReachable = this.liquidationPrice.kind === 'value' && this.liquidationPrice.value > 0;
    return known(!(isLiquidated && isReachable));
  }

  /** `size * markPrice`, money currency. */
  get notional(): Quantity<number> {
    const mark = this.markPrice;
    return mark.kind === 'value' ? known(this.size * mark.value) : mark;
  }

  /** Crossing to liquidation, b = dir * ln(markPrice / liquidationPrice); `none` if no positive price reaches it. */
  crossing(motion: Quantity<Motion>): Quantity<Crossing> {
    const distance = this.liquidationDistance;
    const liquidation = this.liquidationPrice;
    const mark = this.markPrice;
    if (distance.kind !== 'value') return distance;
    if (liquidation.kind !== 'value' || mark.kind !== 'value') return NONE;
    const long = signOf(this.direction) > 0;
    if (long && liquidation.value <= 0) return NONE;
    if (distance.value <= 0) return known(REACHED);
    if (motion.kind !== 'value') return motion;
    return known(crossingOf(mark.value, liquidation.value, long ? 'fall' : 'rise', motion.value));
  }
}

/** +1 for long, -1 for short; the direction must be known. */
function signOf(direction: Quantity<Direction>): number {
  return direction.kind === 'value' && direction.value === 'short' ? -1 : 1;
}

/** True if the figures fit a direction: a positive mark price, past the liquidation price by that part of it at most. */
function fits(record: PositionRecord, direction: Direction, mostPassed = 0): boolean {
  const { basePrice, liquidationPrice, unrealizedPnl } = record;
  if (basePrice === undefined || unrealizedPnl === undefined) return true;
  if (liquidationPrice === undefined || liquidationPrice === null) return true;
  const dir = direction === 'long' ? 1 : -1;
  const mark = toNumber(basePrice) + (dir * toNumber(unrealizedPnl)) / Math.abs(toNumber(record.amount));
  const liquidation = toNumber(liquidationPrice);
  return mark > 0 && dir * (mark - liquidation) >= -mostPassed * Math.abs(liquidation);
}

function directionOf(
  record: PositionRecord,
  amount: number,
  settings: PositionReading,
  earlier: Told | undefined,
): Quantity<Direction> {
  const { bothSign } = settings;
  const side = record.positionSide?.known === true ? record.positionSide.value : undefined;
  if (side === 'LONG') return amount < 0 ? unknown('directionUnknown') : known('long');
  if (side === 'SHORT') return known('short');
  if (amount === 0) return unknown('zeroSize');
  if (amount < 0) return known('short');
  if (side === 'BOTH' && bothSign === 'signed') return known('long');
  const isDoubtful = record.sideDoubtful === true;
  const isUndecided = earlier === 'untold' || isOpenToBoth(record, settings);
  const isHeld = worthOf(record, settings) > 0;
  // A price has no upper bound: only a long, or a short whose coin is held, has no price that liquidates it.
  const isNeverLiquidated = record.liquidationPrice === null && side === 'BOTH' && !isHeld && !isUndecided;
  const mostPassed = (side: Direction) => (side === earlier ? MOST_ROUNDED : 0);
  const fitting = isUndecided ? [] : DIRECTIONS.filter((side) => fits(record, side, mostPassed(side)));
  // If the figures fit only the side that it was not earlier, it has flipped.
  const [only] = fitting.length === 1 ? fitting : [];
  const shown =
    only ?? (earlier === 'untold' ? undefined : earlier) ?? (isNeverLiquidated ? 'long' : undefined);
  if (shown !== undefined) return known(shown);
  return bothSign === 'signed' && !isDoubtful ? known('long') : unknown('directionUnknown');
}

/** Whether the liquidation price may lie on either side of the mark, whatever the side of the position. */
function isOpenToBoth(record: PositionRecord, settings: PositionReading): boolean {
  // In liquidation the mark has passed that price, and as much of the coin held as collateral moves it to the other side.
  const isPassed = record.liquidationState?.known === true && record.liquidationState.value === 'liquidation';
  const worth = worthOf(record, settings);
  const size = Math.abs(toNumber(record.amount));
  const isHeld = worth > 0 && worth >= HEAVY_SHARE * size * Number(record.basePrice ?? 0);
  return record.sideDoubtful === true || isPassed || isHeld;
}

/** Worth of the coin of a position that is held as collateral beside it, as the config says. */
function worthOf({ market }: PositionRecord, { marginModel, holdings }: PositionReading): number {
  return marginModel === 'isolated' ? 0 : (holdings?.[stockOf(market)] ?? 0);
}

/** At liquidation rounded figures may show a position past it. Coarser prices give no order either. */
const MOST_ROUNDED = 0.005;

/** A price may have halved since the position was opened. */
const HEAVY_SHARE = 0.5;

const DIRECTIONS: readonly Direction[] = ['long', 'short'];

const TEN_TO_MINUS: readonly number[] = Array.from({ length: 20 }, (_, places) => Number(`1e-${places}`));

/** `0.01` for "1.25", `1` for "7", `100` for "5e2". */
function unitOfLastDigit(text: DecimalString): number {
  const places = writtenDecimalPlaces(text);
  return TEN_TO_MINUS[places] ?? Number(`1e${-places}`);
}

/** Digits of a written mark price beyond those of basePrice. */
const MARK_EXTRA_PLACES = 8;

/** Net amount of the positions of one market, base currency: `|sum of dir * size|`, exact. */
export function netExposure(positions: readonly PositionQuantities[]): Quantity<number> {
  let net = decimal('0');
  for (const position of positions) {
    const { direction } = position;
    if (direction.kind !== 'value') return direction;
    const size = toDecimal(position.record.amount).abs();
    net = direction.value === 'long' ? net.plus(size) : net.minus(size);
  }
  return known(toNumber(net.abs()));
}

/** Used and free margin together; undefined if a record does not say. */
export function marginsOf(records: readonly PositionRecord[]): number | undefined {
  const free = records.find(({ freeMargin }) => freeMargin !== undefined)?.freeMargin;
  if (free === undefined || records.some(({ margin }) => margin === undefined)) return undefined;
  return records.reduce((sum, { margin }) => sum + Number(margin), toNumber(free));
}
