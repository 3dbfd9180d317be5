import type { BlockReason } from '../audit/audit-event.ts';
import { leastAmount } from '../intents/targets.ts';
import type { Cover, CoverAnchor, Intent, LaneState, ReadPosition } from '../lanes/lane-state.ts';
import { isSameHolding } from '../lanes/market-read.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import {
  type Decimal,
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  maxDecimal,
  minDecimal,
  roundToStep,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import type { Rung } from '../rules/rule.ts';
import { crashShare, type OrderPrices, shapeProtect } from './order-prices.ts';
import { anchorOf, type BlockedStop, type DesiredStop, stopBlock } from './protective-stop.ts';
import type { SetScene } from './want.ts';
import { nearestLiquidation } from './way-to-liquidation.ts';

/** One stop of a ladder as it should stand. */
export interface DesiredRung {
  readonly leave: number;
  readonly left: Decimal;
  readonly amount: Decimal;
  readonly prices: OrderPrices;
}

/** The stops that a position should have, nearest first, all its `protect` actions taken together. */
export interface DesiredLadder
  extends Pick<DesiredStop, 'cover' | 'position' | 'slippage' | 'basis' | 'anchor'> {
  readonly rungs: readonly DesiredRung[];
  /** With both sides of a market open: the most that may be placed, and then nothing beside standing stops. */
  readonly most: Decimal | undefined;
}

export interface LadderBounds {
  /** Nothing reduces the position, and the market does not run towards the stops. */
  readonly isCalm: boolean;
  /** None of our stops stands. */
  readonly isNew: boolean;
  readonly most: Decimal | undefined;
  /** Partial closes are not allowed (`closesAsOne`): one stop closes all, where the last rung would lie. */
  readonly isOne: boolean;
}

/** Returns the size left once an order's rung, or a whole stop, has triggered, in base currency. */
export function leftBy(
  { coverBasis }: OwnOrder,
  anchor: CoverAnchor | null | undefined,
  market: MarketSettings,
): Decimal {
  const { leave = 0, leftBase } = coverBasis ?? {};
  const size = anchor?.sizeBase;
  if (size !== undefined) return leftOf(toDecimal(size), leave, market);
  return leftBase === undefined ? ZERO : toDecimal(leftBase);
}

function leftOf(size: Decimal, leave: number, { amountStep }: MarketSettings): Decimal {
  return roundToStep(size.times(decimalFromNumber(leave)), toDecimal(amountStep), 'up');
}

/** Returns the intent of the lowest rung that has triggered: open, or reached and not released yet. */
export function triggeredIntent(
  { intents }: Pick<LaneState, 'intents'>,
  { key }: Pick<Cover, 'key'>,
  position: ReadPosition,
): Intent | undefined {
  return intents.find(
    (intent) =>
      intent.source === 'cover' &&
      intent.key === key &&
      (intent.basis === null || isSameHolding(intent.basis, position)),
  );
}

/** Whether some `protect` action for a position asks for several stops. */
export function hasLadder({ positionId }: ReadPosition, covers: readonly Cover[]): boolean {
  return covers.some((cover) => cover.positionId === positionId && cover.ladder !== undefined);
}

/** Returns the ladder that a position should have; undefined if none is asked for, or its place is unknown. */
export function desiredLadder(
  position: ReadPosition,
  bounds: LadderBounds,
  scene: SetScene,
): DesiredLadder | BlockedStop | undefined {
  const asked = scene.admitted.covers.filter((cover) => cover.positionId === position.positionId);
  const [first, ...others] = asked;
  const liquidationPrice = nearestLiquidation(position, scene.state);
  if (first === undefined || liquidationPrice === 'none') return undefined;
  const cover = others.reduce((nearest, other) => (other.at < nearest.at ? other : nearest), first);
  const why = stopBlock(position);
  if (why !== undefined) return { key: cover.key, blocked: why };
  const { markPrice } = position;
  if (markPrice === null || liquidationPrice === null) return undefined;
  const spent = triggeredIntent(scene.state, cover, position);
  const reckoned = anchorOf(cover, position, markPrice, liquidationPrice);
  const size = ladderSize(position, cover.anchor, spent, bounds);
  const anchor = { ...reckoned, sizeBase: formatDecimal(size) };
  const slippage = Math.max(...asked.map((other) => other.slippage));
  const rungs = bounds.isOne ? rungsOf(asked).slice(-1) : rungsOf(asked);
  const shaped = shapeRungs(rungs, position, { anchor, liquidationPrice, slippage }, scene.market);
  if (typeof shaped === 'string') return { key: cover.key, blocked: shaped };
  const above = spent === undefined ? size : leftAfter(spent, position);
  return {
    cover,
    position,
    rungs: sized(shaped, above, size, scene.market),
    slippage,
    basis: { liquidationPrice, roomBase: Math.abs(Number(markPrice) - Number(liquidationPrice)) },
    anchor,
    most: bounds.most,
  };
}

function leftAfter({ targetBase }: Intent, { sizeBase }: ReadPosition): Decimal {
  return targetBase === null ? ZERO : minDecimal(toDecimal(sizeBase), toDecimal(targetBase));
}

/** Returns the rungs of all covers, without those that leave no less than a rung nearer to the market. */
function rungsOf(asked: readonly Cover[]): readonly Rung[] {
  const all = asked
    .flatMap(({ at, ladder }) => ladder ?? [{ at, leave: 0 }])
    .toSorted((a, b) => a.at - b.at || a.leave - b.leave);
  return all.filter(({ leave }, index) => all.slice(0, index).every((nearer) => nearer.leave > leave));
}

/** The size that the ladder divides up, fixed when placed. It grows with the position and shrinks only in calm. */
function ladderSize(
  { sizeBase }: ReadPosition,
  before: CoverAnchor | null,
  spent: Intent | undefined,
  { isCalm, isNew }: LadderBounds,
): Decimal {
  const size = toDecimal(sizeBase);
  const placed = before?.sizeBase;
  if (placed === undefined) return size;
  if (spent !== undefined) return toDecimal(placed);
  return isCalm || isNew ? size : maxDecimal(size, toDecimal(placed));
}

interface ShapedRung {
  readonly leave: number;
  readonly prices: OrderPrices;
}

interface LadderPlace {
  readonly anchor: CoverAnchor;
  readonly liquidationPrice: DecimalString;
  readonly slippage: number;
}

/** Prices the rungs. One at the price of the rung before, or without room before liquidation, is merged into it. */
function shapeRungs(
  rungs: readonly Rung[],
  position: ReadPosition,
  { anchor, liquidationPrice, slippage }: LadderPlace,
  market: MarketSettings,
): readonly ShapedRung[] | BlockReason {
  const { direction, markPrice, markError } = position;
  if (direction === null || markPrice === null) return 'directionUnknown';
  const shaped: ShapedRung[] = [];
  let why: BlockReason = 'noRoomForStop';
  for (const { at, leave } of rungs) {
    const share = Math.min(at, lastShare(anchor.markPrice, liquidationPrice, market));
    const inputs = { liquidationPrice, anchor: anchor.markPrice, at: share, slippage };
    const shape = share > 0 ? shapeProtect({ direction, markPrice, markError }, inputs, market) : undefined;
    if (shape?.ok === false) ({ why } = shape);
    const before = shaped.at(-1);
    const prices =
      shape?.ok === true && isClear(shape.prices, liquidationPrice, market) ? shape.prices : undefined;
    if (before === undefined) {
      if (prices !== undefined) shaped.push({ leave, prices });
    } else if (prices === undefined || prices.activationPrice === before.prices.activationPrice) {
      shaped[shaped.length - 1] = { leave, prices: before.prices };
    } else shaped.push({ leave, prices });
  }
  return shaped.length === 0 ? why : shaped;
}

/** The last rung's share of the way to liquidation: clear of it by what mark and last price differ in a crash. */
function lastShare(
  markPrice: DecimalString,
  liquidationPrice: DecimalString,
  market: MarketSettings,
): number {
  const way = Math.abs(Number(markPrice) - Number(liquidationPrice));
  // One step more, as prices are rounded away from the market.
  const least =
    market.basisAllowance * Number(liquidationPrice) + (CLEAR_STEPS + 1) * Number(market.priceStep);
  return 1 - Math.max(crashShare(liquidationPrice, way), least / way);
}

const CLEAR_STEPS = 2;

/** Whether an activation is no nearer to liquidation than the basis and two price steps. */
function isClear(
  { activationPrice }: OrderPrices,
  liquidationPrice: DecimalString,
  market: MarketSettings,
): boolean {
  const liquidation = toDecimal(liquidationPrice);
  const basis = liquidation.times(decimalFromNumber(market.basisAllowance));
  const steps = toDecimal(market.priceStep).times(decimalFromNumber(CLEAR_STEPS));
  return toDecimal(activationPrice).minus(liquidation).abs().gte(basis.plus(steps));
}

/**
 * Sizes the rungs: each closes what is above what it leaves. A part too small to be sent goes to the next rung, the
 * last part to the one before it.
 */
function sized(
  shaped: readonly ShapedRung[],
  above: Decimal,
  size: Decimal,
  market: MarketSettings,
): readonly DesiredRung[] {
  const least = leastAmount(market);
  const step = toDecimal(market.amountStep);
  const rungs: DesiredRung[] = [];
  let left = above;
  for (const { leave, prices } of shaped) {
    const target = leftOf(size, leave, market);
    const amount = roundToStep(left.minus(target), step, target.eq(ZERO) ? 'up' : 'down');
    const before = rungs.at(-1);
    if (amount.gte(least)) rungs.push({ leave, left: target, amount, prices });
    else if (!target.eq(ZERO) || left.lte(ZERO)) continue;
    else if (before === undefined) rungs.push({ leave, left: target, amount: least, prices });
    else rungs[rungs.length - 1] = { ...before, leave, left: target, amount: before.amount.plus(amount) };
    left = minDecimal(left, target);
  }
  return rungs;
}
