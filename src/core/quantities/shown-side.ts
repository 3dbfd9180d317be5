import {
  byMarket,
  hasOwnMargin,
  isOnePool,
  jointPool,
  type MarketSide,
  marketSide,
  type PoolSettings,
  SAME_BUFFER,
  standApart,
} from './joint-pool.ts';
import type { PositionQuantities } from './position.ts';
import { valueOf } from './quantity.ts';
import { moneyOf, stockOf } from './units.ts';

/** Other markets that show how much is left before that tells a side. */
const LEAST_WITNESSES = 2;
/** The coin may be worth up to this many times what the config says: prices may have moved since. */
const MOST_WORTH = 2;
/** Other markets may look apart by chance: only a buffer as near to its own margin as this tells a side. */
const OWN_MARGIN = 0.02;

/**
 * Gives a position whose own figures fit both sides, as where its coin is held as collateral too, the side with which it
 * fits what other markets show of the account's margin. If both do, or neither, it stays as it is.
 */
export function withShownSide(
  position: PositionQuantities,
  positions: readonly PositionQuantities[],
  settings: PoolSettings,
): PositionQuantities {
  const { record, market, ifEither } = position;
  const isPassed = record.liquidationState?.known === true && record.liquidationState.value === 'liquidation';
  if (ifEither.length === 0 || isPassed || record.sideDoubtful === true) return position;
  const sides = [...byMarket(positions)].flatMap(([name, legs]) => {
    if (name === market || settings.holdings?.[stockOf(name)] !== undefined) return [];
    const side = valueOf(marketSide(legs, settings));
    const isAlike = side?.liquidation !== undefined && side.money === moneyOf(market, settings);
    return isAlike ? [side] : [];
  });
  const isApart = settings.marginModel !== 'cross' && standApart(sides, settings);
  if (sides.length < LEAST_WITNESSES || (!isApart && !isOnePool(sides, settings))) return position;
  const fitting = ifEither.filter((one) =>
    isApart ? hasOwnMargin(one, settings, OWN_MARGIN) : fitsPool(one, sides, settings),
  );
  const isExact = (one: PositionQuantities): boolean => fitsPool(one, sides, settings, AS_TOLD);
  const [shown, ...others] = fitting.length > 1 && !isApart ? fitting.filter(isExact) : fitting;
  return shown === undefined || others.length > 0 ? position : shown;
}

/**
 * The positions, with one of unknown side read as the side that leaves the account farther from liquidation: the true
 * distance is at most that. They stay as they are if a fall endangers the account with one side and a rise with the
 * other, as a hedge might then be closed, and if the buffer is a guess.
 */
export function hedgedAtBest(
  positions: readonly PositionQuantities[],
  settings: PoolSettings,
): readonly PositionQuantities[] {
  const [hidden, ...others] = positions.filter(({ direction }) => direction.kind === 'unknown');
  if (hidden === undefined || others.length > 0) return positions;
  const readings = hidden.ifEither.map((side) => {
    const read = positions.map((position) => (position === hidden ? side : position));
    const pool = valueOf(jointPool(read, settings));
    const isTold = [...byMarket(read).values()].every(
      (legs) => valueOf(marketSide(legs, settings))?.liquidation?.isGuess !== true,
    );
    return { read, pull: pool?.kind === 'pooled' && isTold ? pool.pull : 0 };
  });
  const [first, second] = readings.toSorted((a, b) => Math.abs(a.pull) - Math.abs(b.pull));
  return first === undefined || second === undefined || first.pull * second.pull <= 0
    ? positions
    : first.read;
}

/** What the coin and the buffer may differ by from what the config and the other markets say. */
interface Leeway {
  readonly coin: number;
  readonly buffer: number;
}

const AT_MOST: Leeway = { coin: MOST_WORTH, buffer: SAME_BUFFER };
/** Where both sides are possible: the coin has a market of its own, so that it does not move with this one. */
const AS_TOLD: Leeway = { coin: 0, buffer: 0.02 };

/** True if its liquidation price may be where the buffer that other markets show is used up. */
function fitsPool(
  position: PositionQuantities,
  sides: readonly MarketSide[],
  settings: PoolSettings,
  leeway: Leeway = AT_MOST,
): boolean {
  const side = valueOf(marketSide([position], settings));
  if (side?.liquidation === undefined) return false;
  const { market, markPrice, slopeBase, liquidation } = side;
  const way = Math.sign(liquidation.pull) * liquidation.distance;
  const bare = way * slopeBase * markPrice;
  const heavy = bare + way * leeway.coin * (settings.holdings?.[stockOf(market)] ?? 0);
  return sides.every(({ liquidation: { buffer = 0, bufferError = 0 } = {} }) => {
    const error = bufferError + liquidation.bufferError;
    return (
      Math.min(bare, heavy) * (1 - leeway.buffer) <= buffer + error &&
      Math.max(bare, heavy) * (1 + leeway.buffer) >= buffer - error
    );
  });
}
