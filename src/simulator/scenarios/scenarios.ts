import {
  type Decimal,
  decimal,
  decimalFromNumber,
  ONE,
  roundToStep,
  ZERO,
} from '../../core/quantities/decimal.ts';
import { interpolate, type PricePoint, type PriceSource, sourceFromPoints } from '../prices/price-source.ts';
import { createRandom } from './random.ts';

/** Price move at a fraction of the duration, as a fraction of the magnitude: 1 is the full move. */
interface Waypoint {
  readonly at: number;
  readonly move: string;
}

interface ScenarioShape {
  readonly note: string;
  /** 1: the magnitude is a rise; -1: a fall. */
  readonly direction: 1 | -1;
  readonly magnitude: string;
  readonly durationMs: number;
  readonly waypoints: readonly Waypoint[];
}

const MINUTE_MS = 60_000;

function way(...points: readonly (readonly [at: number, move: string])[]): Waypoint[] {
  return points.map(([at, move]) => ({ at, move }));
}

/** Scripted price paths; magnitude is a fraction of the start price. */
export const SCENARIOS = {
  crash: {
    note: 'a fast fall in waves that stays down',
    direction: -1,
    magnitude: '0.3',
    durationMs: 10 * MINUTE_MS,
    waypoints: way([0.1, '0.05'], [0.3, '0.45'], [0.4, '0.35'], [0.7, '1'], [0.8, '0.85'], [1, '0.95']),
  },
  wick: {
    note: 'a fall within seconds that comes back as fast',
    direction: -1,
    magnitude: '0.15',
    durationMs: MINUTE_MS,
    waypoints: way([0.45, '0.02'], [0.5, '1'], [0.55, '0.05'], [1, '0']),
  },
  slowBleed: {
    note: 'a long steady fall without a single alarming tick',
    direction: -1,
    magnitude: '0.2',
    durationMs: 240 * MINUTE_MS,
    waypoints: way([1, '1']),
  },
  gap: {
    note: 'one jump down with nothing traded in between; skips stop-limit orders',
    direction: -1,
    magnitude: '0.1',
    durationMs: MINUTE_MS,
    waypoints: way([0.5, '0'], [0.5, '1'], [1, '1']),
  },
  rally: {
    note: 'a rise in waves, against shorts',
    direction: 1,
    magnitude: '0.35',
    durationMs: 10 * MINUTE_MS,
    waypoints: way([0.2, '0.2'], [0.5, '0.7'], [0.6, '0.6'], [1, '1']),
  },
  ltvSqueeze: {
    note: 'collateral loses value in steps with pauses, through margin call towards liquidation of a loan',
    direction: -1,
    magnitude: '0.28',
    durationMs: 30 * MINUTE_MS,
    waypoints: way([0.2, '0.4'], [0.4, '0.4'], [0.6, '0.75'], [0.8, '0.75'], [1, '1']),
  },
  crashThenRally: {
    note: 'down, then up beyond the start: shows both directions',
    direction: -1,
    magnitude: '0.2',
    durationMs: 4 * MINUTE_MS,
    waypoints: way([0.4, '1'], [0.5, '0.9'], [1, '-0.5']),
  },
} as const satisfies Record<string, ScenarioShape>;

export type ScenarioName = keyof typeof SCENARIOS;

export function isScenarioName(name: string): name is ScenarioName {
  return Object.hasOwn(SCENARIOS, name);
}

export interface ScenarioSpec {
  readonly name: ScenarioName;
  readonly startMs: number;
  readonly startPrice: Decimal;
  readonly priceStep: Decimal;
  /** Largest move as a fraction of the start price, below 1 for falls; default: that of the scenario. */
  readonly magnitude?: Decimal | undefined;
  readonly durationMs?: number | undefined;
  readonly tickMs?: number | undefined;
  /** Seeded noise on every tick between the waypoints, as a fraction of the price; 0 is none. */
  readonly noise?: { readonly seed: number; readonly size: number } | undefined;
}

/** @throws RangeError for a fall of the whole price or more, and for a duration below 1 ms */
export function scenarioSource(spec: ScenarioSpec): PriceSource {
  const shape: ScenarioShape = SCENARIOS[spec.name];
  const durationMs = spec.durationMs ?? shape.durationMs;
  const magnitude = spec.magnitude ?? decimal(shape.magnitude);
  if (!Number.isInteger(durationMs) || durationMs < 1)
    throw new RangeError(`scenario ${spec.name}: duration must be a whole number of milliseconds from 1`);
  const lowest = shape.waypoints.map(({ move }) => factorOf(shape, magnitude, move));
  if (magnitude.lte(ZERO) || lowest.some((factor) => factor.lte(ZERO)))
    throw new RangeError(`scenario ${spec.name}: magnitude must be above 0, and below 1 for a fall`);
  const points = waypoints(spec, shape, magnitude, durationMs);
  const tickMs = spec.tickMs ?? 250;
  return sourceFromPoints(withNoise(interpolate(points, tickMs, spec.priceStep), points, spec));
}

function factorOf(shape: ScenarioShape, magnitude: Decimal, move: string): Decimal {
  const signed = magnitude.times(decimal(move));
  return shape.direction === 1 ? ONE.plus(signed) : ONE.minus(signed);
}

function waypoints(
  spec: ScenarioSpec,
  shape: ScenarioShape,
  magnitude: Decimal,
  durationMs: number,
): readonly PricePoint[] {
  const start: PricePoint = { atMs: spec.startMs, price: spec.startPrice };
  const rest = shape.waypoints.map(({ at, move }) => ({
    atMs: spec.startMs + Math.round(at * durationMs),
    price: roundToStep(spec.startPrice.times(factorOf(shape, magnitude, move)), spec.priceStep, 'halfUp'),
  }));
  return [start, ...rest];
}

/** Adds noise, except at the waypoints: the extremes of a scenario are exact. */
function* withNoise(
  ticks: Iterable<PricePoint>,
  exact: readonly PricePoint[],
  spec: ScenarioSpec,
): Generator<PricePoint> {
  const { noise, priceStep } = spec;
  const random = createRandom(noise?.seed ?? 0);
  const kept = new Set(exact);
  for (const tick of ticks) {
    if (noise === undefined || noise.size === 0 || kept.has(tick)) {
      yield tick;
      continue;
    }
    const factor = 1 + Math.round((random.uniform() * 2 - 1) * noise.size * 1e9) / 1e9;
    const price = roundToStep(tick.price.times(decimalFromNumber(factor)), priceStep, 'halfUp');
    yield { ...tick, price: price.gt(priceStep) ? price : priceStep };
  }
}
