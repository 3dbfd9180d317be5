import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { AccountSpec, PriceSpec, TimedEvent, TimedFault } from '../../src/world/spec.ts';
import { between, chance, type FaultWorld, PRICES, pick, TROUBLED_MS } from './parts.ts';

const START_MS = 4_000;
const FALLEN_MS = START_MS + 3_000;
const QUIET_MS = 36_000;
/** Maintenance margin at ten times leverage, as a part of the notional. */
const MAINTENANCE = 0.03;
const NOTIONAL = 30_000;

interface Hazard {
  readonly coins: readonly string[];
  readonly pair: readonly [fault: string, request: string];
  readonly faults: readonly TimedFault[];
  readonly events: readonly TimedEvent[];
  /** Default: the rule that halves. */
  readonly rules?: readonly string[];
  /** Distance to liquidation at the start, and after the fall; default: just near enough for the rule `half`. */
  readonly distances?: readonly [atStart: number, left: number];
}

/** Each hazard depends on the outcome of orders; the price moves slowly enough for it. */
type MakeHazard = (random: SeededRandom) => Hazard;

const HAZARDS: readonly MakeHazard[] = [
  // Two markets are reduced at the same time; an order of one arrives late, while one of the other is accepted.
  (random) => ({
    coins: ['BTC', 'ETH'],
    pair: ['applied late', 'stopLimit'],
    faults: [
      {
        atMs: 0,
        untilMs: TROUBLED_MS,
        fault: {
          effect: { kind: 'appliedLate', delayMs: 1_700, connection: 'reset' },
          probability: pick(random, [0.3, 0.5]),
          target: { endpoint: 'stopLimit' },
        },
      },
    ],
    events: [],
  }),
  // A process ends while it waits for the answer to its order, and soon runs again.
  (random) => {
    const atMs = FALLEN_MS + between(random, 0, 3_000);
    return {
      coins: ['BTC'],
      pair: ['reply never comes', 'stopLimit'],
      faults: [
        {
          atMs: 0,
          untilMs: TROUBLED_MS,
          fault: {
            effect: { kind: 'lostReply', connection: 'hang' },
            probability: 0.5,
            target: { endpoint: 'stopLimit' },
          },
        },
      ],
      events: [
        { atMs, kind: 'kill', daemon: 'north' },
        { atMs: atMs + between(random, 200, 1_500), kind: 'start', daemon: 'north' },
      ],
    };
  },
];

/** From this seed on the market stops just before a standing stop, and lists are empty for a while. */
const EMPTY_LISTS_FROM = 2_100_000;
/** A long farther from liquidation than where other rules fire. Its stop is at 80 % of the way. */
const STOP_DISTANCES = [0.25, 0.0375] as const;

function emptyLists(random: SeededRandom): Hazard {
  const atMs = FALLEN_MS + between(random, 1_000, 4_000);
  return {
    coins: ['BTC'],
    pair: ['empty list', 'openPositions'],
    faults: [
      {
        atMs,
        untilMs: atMs + between(random, 4_000, 8_000),
        fault: { effect: { kind: 'emptyList' }, probability: 1, target: { endpoint: 'openPositions' } },
      },
    ],
    events: [],
    rules: ['standing'],
    distances: STOP_DISTANCES,
  };
}

/**
 * Worlds in which a single guard keeps an order from being sent twice: one account that slowly comes near liquidation.
 */
export function hazardWorld(
  seed: number,
  configOf: (
    random: SeededRandom,
    parts: {
      readonly accounts: readonly AccountSpec[];
      readonly observed: readonly string[];
      readonly readings: readonly string[];
      readonly rules: readonly string[];
    },
  ) => string,
): FaultWorld {
  const random = createRandom(seed * 5_147 + 17);
  const hazard = seed >= EMPTY_LISTS_FROM ? emptyLists(random) : pick(random, HAZARDS)(random);
  const { coins, pair, faults, events, rules = ['half'] } = hazard;
  const [atStart, left] = hazard.distances ?? [START_DISTANCE, undefined];
  const isLong = chance(random, 0.5) || hazard.distances !== undefined;
  const accounts = accountsOf(coins, isLong ? 'long' : 'short', atStart);
  const config = configOf(random, { accounts, observed: [], readings: [], rules });
  const far = (atStart - (left ?? between(random, 40, 44) / 1_000)) / coins.length;
  return {
    spec: {
      seed,
      durationMs: TROUBLED_MS + QUIET_MS,
      exchange: { accounts },
      prices: pricesOf(isLong ? -far : far),
      daemons: [{ name: 'north', config }],
      network: { toExchange: { minMs: 5, maxMs: 80 }, store: 0.4 },
      faults,
      events,
    },
    readings: [],
    pairs: [pair],
    observed: [],
    sparesSecond: false,
    second: 'second',
    calm: 'calm',
  };
}

/** Distance of each position while the other prices stand still. */
const START_DISTANCE = 0.06;

function accountsOf(
  coins: readonly string[],
  side: 'long' | 'short',
  atStart: number,
): readonly AccountSpec[] {
  const margin = NOTIONAL * (MAINTENANCE + atStart / coins.length);
  const positions = coins.map((coin) => ({
    market: `${coin}_PERP`,
    side,
    amount: (NOTIONAL / coins.length / (PRICES[coin] ?? 1)).toFixed(2),
  }));
  return [
    {
      id: 'first',
      collateral: { USDT: String(Math.round(margin)) },
      leverage: 10,
      main: { USDT: '500' },
      positions,
    },
    {
      id: 'calm',
      collateral: { USDT: '60000' },
      leverage: 10,
      main: { USDT: '500' },
      positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.200' }],
    },
  ];
}

function pricesOf(far: number): readonly PriceSpec[] {
  const text = (coin: string, change: number): string => ((PRICES[coin] ?? 0) * (1 + change)).toFixed(1);
  return Object.keys(PRICES).map((coin) => ({
    market: `${coin}_USDT`,
    points: [
      [0, text(coin, 0)],
      [START_MS, text(coin, 0)],
      [FALLEN_MS, text(coin, far)],
      [TROUBLED_MS, text(coin, far)],
    ],
    tickMs: 250,
  }));
}
