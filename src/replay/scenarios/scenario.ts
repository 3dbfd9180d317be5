import {
  type Decimal,
  decimalFromNumber,
  maxDecimal,
  roundToStep,
  toNumber,
} from '../../core/quantities/decimal.ts';
import { MS_PER_MINUTE, stockOf } from '../../core/quantities/units.ts';
import { type PricePoint, type PriceSource, sourceFromPoints } from '../../simulator/prices/price-source.ts';
import { straightLine, tickFor } from '../../simulator/prices/straight-line.ts';

/** Minutes from the start, and percent away from the first price; two points in the same minute form a jump. */
export type ScenarioPoint = readonly [minute: number, percent: number];

/** Parses points from a text such as `0 0, 5 -12, 25 -20`: minute and percent of each. */
export function course(text: string): readonly ScenarioPoint[] {
  return text.split(',').map((point): ScenarioPoint => {
    const [minute = Number.NaN, percent = Number.NaN] = point.trim().split(' ').map(Number);
    return [minute, percent];
  });
}

/** A scripted path of all markets, relative to their first prices. */
export interface Scenario {
  /** Stable, for `--scenario` and JSON. */
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly kind: 'shock' | 'history' | 'shape' | 'grid';
  /** Moves of the majors (bitcoin). */
  readonly majors: readonly ScenarioPoint[];
  /** Moves of all other coins; absent: by their beta to the majors. */
  readonly others?: readonly ScenarioPoint[];
}

export function durationMsOf({ majors }: Scenario): number {
  return Math.round((majors.at(-1)?.[0] ?? 0) * MS_PER_MINUTE);
}

const MAJORS = new Set(['BTC', 'XBT', 'WBTC', 'ETH', 'WETH']);
const MAJOR_BETA = 1;
/** Ether, the mildest of the alternatives, fell 1.2 to 1.5 times as far as bitcoin in the crashes of the library. */
const OTHER_BETA = 1.4;

/** Usual move of a market, as a multiple of the majors' move. */
export function usualBeta(market: string): number {
  return MAJORS.has(stockOf(market)) ? MAJOR_BETA : OTHER_BETA;
}

/** A rise is multiplied by beta. A fall is compounded, (1 + move) ** beta - 1, so that no coin falls below zero. */
export function movedBy(percent: number, beta: number): number {
  const move = percent / 100;
  return move >= 0 ? move * beta : (1 + move) ** beta - 1;
}

export interface ScenarioMarket {
  readonly market: string;
  readonly startMs: number;
  readonly startPrice: Decimal;
  readonly priceStep: Decimal;
  /** Its move as a multiple of the majors' move; absent: as usual for its coin. */
  readonly beta?: number | undefined;
}

/** Prices of a scenario in one market: straight lines between its points. */
export function scenarioPrices(scenario: Scenario, place: ScenarioMarket): PriceSource {
  return sourceFromPoints(pricePoints(scenario, place));
}

function* pricePoints(scenario: Scenario, place: ScenarioMarket): Generator<PricePoint> {
  let from: PricePoint | undefined;
  for (const { atMs, move } of movesIn(scenario, place)) {
    const to = { atMs, price: priceAfter(place, move) };
    if (from !== undefined) yield* straightLine(from, to, place.priceStep, tickBetween(from, to));
    yield to;
    from = to;
  }
}

/** Quiet hours need fewer points: steps do not get larger, and a poll just sees the same price again. */
const LONGEST_TICK_MS = 10_000;

function tickBetween(from: PricePoint, to: PricePoint): number {
  const change = Math.abs(toNumber(to.price) / toNumber(from.price) - 1);
  return tickFor(to.atMs - from.atMs, change, LONGEST_TICK_MS);
}

function movesIn({ majors, others }: Scenario, { market, startMs, beta: ownBeta }: ScenarioMarket) {
  const isMajor = MAJORS.has(stockOf(market));
  const isDecoupled = others !== undefined && !isMajor;
  const beta = isDecoupled ? MAJOR_BETA : (ownBeta ?? usualBeta(market));
  return (isDecoupled ? others : majors).map(([minute, percent]) => ({
    atMs: startMs + Math.round(minute * MS_PER_MINUTE),
    move: movedBy(percent, beta),
  }));
}

function priceAfter({ startPrice, priceStep }: ScenarioMarket, move: number): Decimal {
  const factor = decimalFromNumber(Math.round((1 + move) * 1e9) / 1e9);
  return maxDecimal(priceStep, roundToStep(startPrice.times(factor), priceStep, 'halfUp'));
}

/** Milliseconds until the majors, or coins that move on their own, first moved by `percent`; the end if never. */
export function firstMoveMs({ majors, others = majors }: Scenario, percent: number): number {
  return Math.min(firstMoveOf(majors, percent), firstMoveOf(others, percent));
}

function firstMoveOf(points: readonly ScenarioPoint[], percent: number): number {
  for (const [index, [minute, move]] of points.entries()) {
    if (Math.abs(move) < percent) continue;
    const [before, from] = points[index - 1] ?? [0, 0];
    // Negative where the line comes from the other side of the first price.
    const wentBefore = from * Math.sign(move);
    const share = (percent - wentBefore) / (Math.abs(move) - wentBefore || 1);
    return Math.round((before + (minute - before) * share) * MS_PER_MINUTE);
  }
  return Math.round((points.at(-1)?.[0] ?? 0) * MS_PER_MINUTE);
}
