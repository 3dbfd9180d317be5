import type { LaneState, MarkSample, OwnOrder, ReadPosition } from '../lanes/lane-state.ts';
import { roundTripOf } from '../lanes/market-read.ts';
import {
  type Decimal,
  decimalFromNumber,
  maxDecimal,
  minDecimal,
  toDecimal,
  ZERO,
} from '../quantities/decimal.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import type { Direction } from '../rules/subject.ts';
import { activationGap } from './order-prices.ts';
import { offsetFromActivation } from './outstanding.ts';
import type { SetScene } from './want.ts';

/** Time over which the speed of a market is taken: what it does now, and what it has been doing. */
const HORIZONS_MS = [3_000, 20_000];
const SHORT_HORIZON_MS = [3_000];
/** Marks that are kept. */
export const MARKS_KEPT_MS = 20_000;
/** Two marks nearer in time than this say more of a single step than of a speed. */
const LEAST_SPAN_MS = 1_000;

/** Adverse move per millisecond, a fraction of the mark; the larger over the horizons, 0 where nothing is known. */
function adverseSpeed(
  marks: readonly MarkSample[],
  direction: Direction,
  horizonsMs: readonly number[],
): number {
  const newest = marks.at(-1);
  if (newest === undefined) return 0;
  const speeds = horizonsMs.map((horizonMs) => {
    const earlier = marks.slice(0, -1);
    const since = earlier.find(({ atMs }) => newest.atMs - atMs <= horizonMs) ?? earlier.at(-1);
    if (since === undefined) return 0;
    const change = (newest.mark - since.mark) / newest.mark;
    const adverse = direction === 'long' ? -change : change;
    return Math.max(0, adverse) / Math.max(newest.atMs - since.atMs, LEAST_SPAN_MS);
  });
  return Math.max(...speeds);
}

/** The market with the allowance for the gap between mark and last price that inversions have taught. */
export function asLearned(market: MarketSettings, { learnedBasis = 0 }: LaneState): MarketSettings {
  return learnedBasis > market.basisAllowance ? { ...market, basisAllowance: learnedBasis } : market;
}

/** An allowance that an order with it was inverted all the same becomes so many times itself, up to a bound. */
const BASIS_GROWTH = 4;
const LARGEST_BASIS = 0.1;

export function grownBasis(market: MarketSettings, state: LaneState): number {
  const basis = asLearned(market, state).basisAllowance;
  return Math.min(Math.max(basis, LEAST_BASIS) * BASIS_GROWTH, LARGEST_BASIS);
}

/** What an allowance of zero grows from. */
const LEAST_BASIS = 0.0005;

type Priced = ReadPosition & { readonly markPrice: NonNullable<ReadPosition['markPrice']> };

/**
 * How far from the mark a reduction activates: the allowance, and as far as the market may run between the read and
 * the order's arrival, so that it has not been passed by then. At most half of the distance to liquidation, but never
 * less than what is needed in a market that stands.
 */
export function placingGap(position: Priced, direction: Direction, scene: SetScene): Decimal {
  const { market, state } = scene;
  const { marks = [] } = state;
  const standing = activationGap(position, market);
  const wanted = activationGap(position, asLearned(market, state)).plus(
    runOf(position, travelMs(scene), adverseSpeed(marks, direction, HORIZONS_MS)),
  );
  const { liquidationPrice, markPrice } = position;
  if (liquidationPrice === null || liquidationPrice === 'none') return wanted;
  const left = toDecimal(markPrice).minus(toDecimal(liquidationPrice));
  const distance = direction === 'long' ? left : left.neg();
  const half = distance.times(decimalFromNumber(0.5));
  return maxDecimal(minDecimal(wanted, half), standing);
}

/** Age of what is known of the market when an order sent now arrives. */
function travelMs({ state, read, nowMs }: SetScene): number {
  return Math.max(0, nowMs - read.sentAtMs) + roundTripOf(state, read);
}

function runOf({ markPrice }: Priced, forMs: number, speed: number): Decimal {
  const share = Number((speed * forMs).toFixed(6));
  return share === 0 ? ZERO : toDecimal(markPrice).times(decimalFromNumber(share));
}

/** Times the gap of a market as fast as it is now at which it counts as moved away from an activation. */
const AWAY_GAPS = 4;

/** Whether the market is so far from an activation that it should be drawn nearer. */
export function hasMovedAway(offset: Decimal, position: ReadPosition, scene: SetScene): boolean {
  const { direction, markPrice } = position;
  if (markPrice === null) return false;
  const priced = { ...position, markPrice };
  // What the market will soon reach at its pace of the last seconds is not too far away.
  const speed = direction === null ? 0 : adverseSpeed(scene.state.marks ?? [], direction, SHORT_HORIZON_MS);
  const run = runOf(priced, travelMs(scene) + scene.settings.fillWithinMs, speed);
  return offset.gt(activationGap(priced, scene.market).plus(run).times(decimalFromNumber(AWAY_GAPS)));
}

/**
 * Whether an order came too late: a read from after it was accepted shows the market past its activation, by more
 * than mark and last price differ, and it was never seen to be activated. The exchange took it for the opposite
 * trigger, which does not fire on the way on.
 */
export function isInverted(
  order: OwnOrder,
  position: ReadPosition | undefined,
  market: MarketSettings,
): boolean {
  if (order.role !== 'reduce' || order.status !== 'open' || order.activatedMs !== null) return false;
  const offset = position && offsetFromActivation(order, position);
  if (position === undefined || offset === undefined || position.markPrice === null) return false;
  return offset.lte(activationGap({ ...position, markPrice: position.markPrice }, market).neg());
}
