import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import { chanceOf } from '../../src/world/chance.ts';
import type { PriceSpec, TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { drawLiveReadings } from '../support/live-readings.ts';
import { onStep } from './coins.ts';
import { configOf } from './config.ts';
import type { Levels } from './factors.ts';
import { type Holdings, holdingsOf } from './holdings.ts';
import {
  cancelTroubleOf,
  falseListsOf,
  type RoundTrips,
  refusalsOf,
  roundTripsOf,
  slownessOf,
  stallsOf,
  type Times,
} from './troubles.ts';

/** One cell of the grid, ready to be played with the daemon, without it, or by the player. */
export interface FieldCase {
  readonly id: string;
  readonly levels: Levels;
  readonly world: WorldSpec;
  /** Positions that must be closed for the account to survive. */
  readonly losing: readonly LosingPosition[];
  /** Distance to liquidation below which the player may act. */
  readonly threshold: number;
  /** Speed of the fall, as a part of the price per second. */
  readonly speed: number;
  readonly roundTrips: RoundTrips;
  readonly readLagMs: number;
  readonly times: Times;
}

export interface LosingPosition {
  readonly market: string;
  /** Side of the order that reduces it. */
  readonly side: 'buy' | 'sell';
  readonly positionSide: 'LONG' | 'SHORT' | 'BOTH';
  readonly amount: string;
  readonly amountStep: string;
  readonly priceStep: string;
}

export const DAEMON = 'north';
const SPEEDS = { '0.1 %/s': 0.001, '0.16 %/s': 0.0016, '0.3 %/s': 0.003, '0.5 %/s': 0.005, '1 %/s': 0.01 };
const BASES = { '0': 0, '0.3 %': 0.003, '1 %': 0.01 };
/** Maintenance margin: 3 % up to 10x (live notes), less beyond, where 3 % would leave nothing. */
const LEVERAGES = {
  '3x': { leverage: 3, maintenance: 0.03 },
  '5x': { leverage: 5, maintenance: 0.03 },
  '8x': { leverage: 8, maintenance: 0.03 },
  '10x': { leverage: 10, maintenance: 0.03 },
  '15x': { leverage: 15, maintenance: 0.01 },
  '20x': { leverage: 20, maintenance: 0.01 },
  '25x': { leverage: 25, maintenance: 0.005 },
};
/** Length of the calm before the fall. */
const CALM_MS = 20_000;
/** The fall takes at most this long to the threshold. */
const APPROACH_MS = 45_000;
const TAIL_MS = 10_000;

/** Distance to liquidation below which the player may act: the same for every rule set. */
export function thresholdFor({ leverage }: Levels): number {
  return LEVERAGES[leverage].leverage > 10 ? 0.03 : 0.05;
}

/** What a case has besides its levels, or instead of values derived from them. */
export interface Plan {
  readonly calmMs?: number;
  /** Distance to liquidation when the fall begins. */
  readonly distance?: number;
  readonly depth?: number;
  /** Speed of the fall, as a part of the price per second. */
  readonly speed?: number;
  /** The fall stops there for a while. */
  readonly hold?: { readonly atDistance: number; readonly forMs: number };
  /** The price jumps there. */
  readonly gap?: { readonly atDistance: number; readonly size: number };
  readonly basis?: Basis;
  /** Another way of the price, by the distance to liquidation at its start. */
  readonly wayOf?: (distance: number) => Way;
  readonly tickMs?: number;
}

/** The case at a place in the sequence of a seed; the same numbers give the same case. */
export function fieldCase(seed: number, index: number, levels: Levels, plan: Plan = {}): FieldCase {
  const random = chanceOf(seed, `case ${index}`);
  const { leverage, maintenance } = LEVERAGES[levels.leverage];
  const speed = plan.speed ?? SPEEDS[levels.speed];
  const threshold = thresholdFor(levels);
  const basis = plan.basis ?? basisOf(levels, random);
  const move = levels.account === 'one short' ? 1 : -1;
  const distance = Math.min(
    (1 / leverage - maintenance) / (1 + move * maintenance),
    plan.distance ?? threshold + 0.015 + (speed * APPROACH_MS) / 1_000,
  );
  const holdings = holdingsOf({
    levels,
    maintenance,
    leverage,
    distance,
    basis: basis.isRamp ? 0 : basis.ratio,
    withBystander: levels.list === 'one broken record',
  });
  // Beyond liquidation: just past it, or so far that one reduction is not enough.
  const beyond = (random.below(2) === 0 ? 0.02 : 0.07) + (basis.isRamp ? Math.abs(basis.ratio) : 0);
  const depth = plan.depth ?? distance + beyond;
  const way =
    plan.wayOf?.(distance) ??
    wayOf({ ...plan, calmMs: plan.calmMs ?? calmOf(levels), speed, distance, depth });
  const times: Times = {
    fallMs: way[1]?.[0] ?? 0,
    breachMs: timeOf(way, distance - threshold),
    endMs: (way.at(-1)?.[0] ?? 0) + TAIL_MS,
  };
  const roundTrips = roundTripsOf(levels);
  const noise = random.below(2) === 0 || plan.wayOf !== undefined ? 0 : 0.0002;
  const oneWayMs = Math.min(roundTrips.readMs, roundTrips.orderMs) / 2;
  return {
    id: `${seed}-${index}`,
    levels,
    world: {
      seed: seed * 100_003 + index,
      durationMs: Math.round(times.endMs),
      exchange: {
        money: levels.money,
        accounts: [holdings.account],
        prices: holdings.prices,
        markets: holdings.markets,
        readings: readingsOf(levels),
      },
      prices: pricesOf(holdings, way, { noise, tickMs: plan.tickMs ?? TICK_MS }, random),
      daemons: [
        {
          name: DAEMON,
          config: configOf(levels, holdings, maintenance, chanceOf(seed, `config ${index}`).below(2) === 0),
        },
      ],
      network: { toExchange: oneWayMs, toDaemon: oneWayMs },
      faults: [
        ...slownessOf(roundTrips),
        ...refusalsOf(levels, times, random),
        ...falseListsOf(levels, times, random),
        ...cancelTroubleOf(levels),
      ],
      events: [...basisEvents(holdings, basis, times.fallMs), ...stallsOf(levels, times, DAEMON, random)],
    },
    losing: losingOf(holdings, levels),
    threshold,
    speed,
    roundTrips,
    readLagMs: levels.readLag === '0 s' ? 0 : 500,
    times,
  };
}

export interface Basis {
  /** Mark less last, as a fraction. */
  readonly ratio: number;
  /** It arises during the fall, within ten seconds. */
  readonly isRamp: boolean;
}

const RAMP_MS = 10_000;

function basisOf({ basis }: Levels, random: SeededRandom): Basis {
  const [sign, isRamp] = [random.below(2) === 0 ? 1 : -1, random.below(2) === 0];
  return { ratio: sign * BASES[basis], isRamp };
}

function basisEvents({ positions }: Holdings, { ratio, isRamp }: Basis, fallMs: number): TimedEvent[] {
  if (ratio === 0) return [];
  const when = isRamp ? { afterMs: fallMs, overMs: RAMP_MS } : {};
  const markets = [...new Set(positions.map(({ market }) => market))];
  return markets.map((market) => ({
    atMs: 0,
    kind: 'condition',
    condition: { kind: 'basis', market, ratio: String(ratio), ...when },
  }));
}

/** Times, and the depth of the fall by then, joined by straight lines. */
export type Way = readonly (readonly [atMs: number, fallen: number])[];

/** A list that is empty for a minute needs a longer calm. */
function calmOf({ list }: Levels): number {
  return list === 'empty for a minute' ? 80_000 : CALM_MS;
}

function wayOf({
  calmMs,
  speed,
  distance,
  depth,
  hold,
  gap,
}: Plan & Required<Pick<Plan, 'calmMs' | 'speed' | 'distance' | 'depth'>>): Way {
  const way: [number, number][] = [
    [0, 0],
    [calmMs, 0],
  ];
  const fallTo = (fallen: number): void => {
    const [atMs, before] = way.at(-1) ?? [0, 0];
    if (fallen > before) way.push([Math.round(atMs + (1_000 * (fallen - before)) / speed), fallen]);
  };
  const stay = (forMs: number, fallen: number): void => {
    const [atMs] = way.at(-1) ?? [0, 0];
    way.push([atMs + forMs, fallen]);
  };
  if (hold !== undefined) {
    fallTo(distance - hold.atDistance);
    stay(hold.forMs, distance - hold.atDistance);
  }
  if (gap !== undefined) {
    fallTo(distance - gap.atDistance);
    stay(1, distance - gap.atDistance + gap.size);
  }
  fallTo(depth);
  return way;
}

/** When the fall reaches this depth; the beginning of the fall if it never does. */
function timeOf(way: Way, fallen: number): number {
  const index = way.findIndex(([, far]) => far >= fallen && far > 0);
  const [before, after] = [way[index - 1], way[index]];
  if (before === undefined || after === undefined) return way[1]?.[0] ?? 0;
  const [[fromMs, from], [toMs, to]] = [before, after];
  return fromMs + ((toMs - fromMs) * Math.max(0, fallen - from)) / (to - from);
}

const TICK_MS = 100;
const KNOT_MS = 1_000;

/** All markets move together, each with its own small noise; a constant price has no ticks. */
function pricesOf(
  { coins, move }: Holdings,
  way: Way,
  { noise, tickMs }: { readonly noise: number; readonly tickMs: number },
  random: SeededRandom,
): PriceSpec[] {
  return coins.map(({ leader, price, priceStep }) => {
    const points = ticksOf(way, tickMs, () => noise * random.normal());
    return {
      market: leader,
      points: points.map(([atMs, fallen]) => [atMs, onStep(price * (1 + move * fallen), priceStep)]),
    };
  });
}

/** Each knot gets noise; in between the price is linear. */
function ticksOf(way: Way, tickMs: number, noise: () => number): Way {
  const ticks: (readonly [number, number])[] = [];
  let here = 0;
  for (const [index, [toMs, to]] of way.entries()) {
    const [fromMs, from] = way[index - 1] ?? [0, 0];
    if (to === from) {
      ticks.push([toMs, to]);
      continue;
    }
    for (let knotMs = fromMs; knotMs < toMs; knotMs += KNOT_MS) {
      const untilMs = Math.min(toMs, knotMs + KNOT_MS);
      const next = untilMs === toMs ? 0 : noise();
      for (let atMs = Math.min(knotMs + tickMs, untilMs); atMs <= untilMs; atMs += tickMs) {
        const away = here + ((next - here) * (atMs - knotMs)) / KNOT_MS;
        ticks.push([atMs, from + ((to - from) * (atMs - fromMs)) / (toMs - fromMs) + away]);
      }
      here = next;
    }
    if ((ticks.at(-1)?.[0] ?? 0) < toMs) ticks.push([toMs, to]);
  }
  return ticks;
}

function readingsOf(levels: Levels): Record<string, unknown> {
  const isLive = levels.replies === 'as the live service';
  return {
    marginModel: levels.margin,
    cancelCoversStops: levels.cancelCoversStops,
    stopTriggerSource: levels.stopTriggerSource,
    stopTriggersAtEquality: levels.stopTriggersAtEquality,
    wrongSideActivation: levels.wrongSideActivation,
    reduceOnlyRoom: levels.reduceOnlyRoom,
    clientOrderIdUniqueness: levels.clientOrderIdUniqueness,
    shortAmount: levels.shortAmount,
    lateArrivalMs: levels.lateArrival === '0 s' ? 0 : 2_000,
    readLagMs: levels.readLag === '0 s' ? 0 : 500,
    ...(isLive
      ? {
          ...drawLiveReadings(drawOf(JSON.stringify(levels))),
          // Only a small total and a near band leave no order that could be placed.
          maxTotal: 'none',
          priceBand: '10%',
          unknownFields: 'ignored',
          publicPrices: 'shown',
          orderFieldSpelling: 'camel',
          orderErrorCodes: 'generic',
          validationStatus: '422',
          validationCode: '0',
          successBody: 'emptyArray',
        }
      : {}),
    // In the money of the market.
    minTotal: levels.money === 'BTC' ? 'none' : '5.05',
  };
}

/** Draws that follow from a text, so that cases with the same levels have the same readings. */
function drawOf(text: string): (bound: number) => number {
  let sum = 7;
  for (let at = 0; at < text.length; at++) sum = (sum * 31 + text.charCodeAt(at)) % 1_000_003;
  const random = createRandom(sum);
  return (bound) => random.below(bound);
}

function losingOf({ positions }: Holdings, { account }: Levels): LosingPosition[] {
  return positions
    .filter(({ isLosing }) => isLosing)
    .map(({ market, side, amount, coin: { amountStep, priceStep } }) => ({
      market,
      side: side === 'long' ? 'sell' : 'buy',
      positionSide: account === 'hedged' ? (side === 'long' ? 'LONG' : 'SHORT') : 'BOTH',
      amount,
      amountStep,
      priceStep,
    }));
}
