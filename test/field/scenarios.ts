import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import { chanceOf } from '../../src/world/chance.ts';
import type { TimedEvent, TimedFault } from '../../src/world/spec.ts';
import { FACTOR_NAMES, type Factor, type Levels, valuesOf } from './factors.ts';
import { type FieldCase, fieldCase, type Plan, thresholdFor } from './field-case.ts';
import { ACCOUNT } from './holdings.ts';

/** One trouble of real crashes that the factors do not cover, on an otherwise fair exchange. */
export interface Scenario {
  readonly id: string;
  readonly about: string;
  readonly cases: number;
  readonly make: (draw: Draw) => Twist;
}

interface Draw {
  readonly random: SeededRandom;
  readonly levels: Levels;
  /** Distance at which the player may act. */
  readonly threshold: number;
}

/** Changes that a scenario makes to a case. */
interface Twist {
  readonly plan?: Plan;
  readonly levels?: Partial<Levels>;
  /** Applied once the times are known. */
  readonly faults?: (fieldCase: FieldCase) => readonly TimedFault[];
  readonly events?: (fieldCase: FieldCase) => readonly TimedEvent[];
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const READS = ['openPositions', 'creditLine', 'mainBalance'];
const COMMANDS = ['stopLimit', 'cancelAll'];
/** Replies of an exchange that is down. */
const OUTAGES: readonly FaultEffect[] = [
  { kind: 'unavailable', meaning: 'overloaded' },
  { kind: 'gatewayStatus', status: 502 },
  { kind: 'hang' },
  { kind: 'reset' },
];

/** Ends in the middle of a crash: afterwards the account is between its threshold and liquidation. */
function outage(words: string, lengthMs: number, what: string, endpoints: readonly string[]): Scenario {
  return {
    id: `outage of ${what}, ${words}`,
    about: `${what} fail for ${words}; the threshold is crossed before it ends, liquidation comes after`,
    cases: lengthMs > 10 * MINUTE ? 2 : 10,
    make: ({ random, threshold, levels }) => {
      const effect = OUTAGES[random.below(OUTAGES.length)] as FaultEffect;
      const share = 0.5 + 0.3 * random.uniform();
      return {
        // Falls to below the threshold, and stays there until the trouble is over.
        plan: { hold: { atDistance: threshold * share, forMs: lengthMs + 5 * SECOND } },
        levels: { speed: levels.speed === '1 %/s' ? '0.5 %/s' : levels.speed },
        faults: ({ times }) => {
          const atMs = Math.max(0, times.breachMs - 2 * SECOND);
          return endpoints.map((endpoint) => ({
            atMs,
            untilMs: atMs + lengthMs,
            fault: { effect, target: { endpoint } },
          }));
        },
      };
    },
  };
}

const LENGTHS = [
  ['30 s', 30 * SECOND],
  ['2 min', 2 * MINUTE],
  ['25 min', 25 * MINUTE],
  ['110 min', 110 * MINUTE],
] as const;

function thinBook(words: string, factor: string): Scenario {
  return {
    id: `book of ${words}`,
    about: `the book holds ${words} of what it does on a quiet day, from the beginning of the fall`,
    cases: 12,
    make: () => ({
      events: (fieldCase) =>
        marketsOf(fieldCase).map((market) => ({
          atMs: fieldCase.times.fallMs,
          kind: 'condition',
          condition: { kind: 'depth', market, factor, spread: '0.002' },
        })),
    }),
  };
}

function marketsOf({ losing }: FieldCase): readonly string[] {
  return losing.map(({ market }) => market);
}

const EMPTY_BOOK: Scenario = {
  id: 'book of 0 %, for 10 s',
  about: 'nobody is there for 10 s of the fall, then a tenth',
  cases: 12,
  make: () => ({
    events: (fieldCase) =>
      marketsOf(fieldCase).flatMap((market): TimedEvent[] => {
        const { breachMs } = fieldCase.times;
        const depth = (factor: string) => ({ kind: 'depth', market, factor }) as const;
        return [
          { atMs: breachMs, kind: 'condition', condition: depth('0') },
          { atMs: breachMs + 10 * SECOND, kind: 'condition', condition: depth('0.1') },
        ];
      }),
  }),
};

function wideBasis(words: string, ratio: number): Scenario {
  return {
    id: `basis of ${words}`,
    about: `mark and last move apart by ${words} within a minute of the fall, either way`,
    cases: 12,
    make: ({ random }) => {
      const signed = random.below(2) === 0 ? ratio : -ratio;
      return {
        plan: { distance: 0.2, depth: 0.3 },
        levels: { leverage: '5x', account: random.below(2) === 0 ? 'one long' : 'one short' },
        events: (fieldCase) =>
          marketsOf(fieldCase).map((market) => ({
            atMs: fieldCase.times.fallMs,
            kind: 'condition',
            condition: { kind: 'basis', market, ratio: String(signed), overMs: MINUTE },
          })),
      };
    },
  };
}

const GAPS: Scenario = {
  id: 'gap of any size',
  about: 'the price jumps by 0.5 to 8 % on its way, then falls on',
  cases: 24,
  make: ({ random, threshold }) => {
    const size = 0.005 + 0.075 * random.uniform();
    return { plan: { gap: { atDistance: threshold * (0.7 + 0.9 * random.uniform()), size } } };
  },
};

function move(words: string, speed: number): Scenario {
  return {
    id: `move of ${words}`,
    about: `a fall of ${words}, as in real crashes`,
    cases: 8,
    make: () => ({ plan: { speed } }),
  };
}

const DELEVERAGING: Scenario = {
  id: 'auto-deleveraging of a part',
  about:
    'the exchange closes part of each position that loses, as the threshold is crossed; the fall goes on',
  cases: 16,
  make: ({ random }) => ({
    events: ({ losing, times }) =>
      losing.map(({ market, positionSide, amount }) => {
        const places = amount.split('.')[1]?.length ?? 0;
        return {
          atMs: Math.max(0, times.breachMs + Math.round((random.uniform() - 0.5) * 6 * SECOND)),
          kind: 'condition',
          condition: {
            kind: 'deleverage',
            account: ACCOUNT,
            market,
            ...(positionSide === 'BOTH' ? {} : { positionSide }),
            amount: (Number(amount) * 0.2).toFixed(places),
          },
        };
      }),
  }),
};

const EXECUTED_ALL_THE_SAME: Scenario = {
  id: 'refused, yet executed',
  about: 'every order is answered with 503, half of them were executed all the same',
  cases: 16,
  make: () => ({
    faults: ({ times }) => {
      const target = { endpoint: 'stopLimit' };
      const atMs = times.fallMs;
      return [
        { atMs, fault: { effect: { kind: 'unavailable', meaning: 'executed' }, target, probability: 0.5 } },
        { atMs, fault: { effect: { kind: 'unavailable', meaning: 'failed' }, target, probability: 0.5 } },
      ];
    },
  }),
};

function refusals(words: string, probability: number): Scenario {
  return {
    id: `${words} of all requests fail`,
    about: `${words} of all requests are refused for overload`,
    cases: 16,
    make: () => ({
      faults: ({ times }) =>
        [...READS, ...COMMANDS].map((endpoint) => ({
          atMs: times.fallMs,
          fault: {
            effect: { kind: 'unavailable', meaning: 'overloaded' },
            target: { endpoint },
            probability,
          },
        })),
    }),
  };
}

function falseData(id: string, about: string, kind: 'emptyList' | 'zeroBalance', lengthMs: number): Scenario {
  return {
    id,
    about,
    cases: 12,
    make: () => ({
      plan: { calmMs: 20 * SECOND + lengthMs },
      faults: ({ times }) => {
        const endpoints = kind === 'emptyList' ? ['openPositions'] : READS;
        const untilMs = kind === 'emptyList' ? times.breachMs - SECOND : times.endMs;
        return endpoints.map((endpoint) => ({
          atMs: Math.max(5 * SECOND, times.breachMs - lengthMs),
          untilMs,
          fault: { effect: { kind }, target: { endpoint } },
        }));
      },
    }),
  };
}

export const SCENARIOS: readonly Scenario[] = [
  ...LENGTHS.flatMap(([words, lengthMs]) => [
    outage(words, lengthMs, 'orders', COMMANDS),
    outage(words, lengthMs, 'reads', READS),
    outage(words, lengthMs, 'everything', [...READS, ...COMMANDS]),
  ]),
  thinBook('100 %', '1'),
  thinBook('50 %', '0.5'),
  thinBook('10 %', '0.1'),
  thinBook('2 %', '0.02'),
  EMPTY_BOOK,
  wideBasis('2 %', 0.02),
  wideBasis('7 %', 0.07),
  wideBasis('10 %', 0.1),
  GAPS,
  move('4 % in 5 min', 0.04 / 300),
  move('11 % in 10 min', 0.11 / 600),
  move('40 % in a minute', 0.4 / 60),
  DELEVERAGING,
  EXECUTED_ALL_THE_SAME,
  refusals('a hundredth', 0.01),
  refusals('half', 0.5),
  falseData(
    'empty list for 4 min',
    'a valid list is empty for 4 min before the threshold is crossed',
    'emptyList',
    4 * MINUTE,
  ),
  falseData(
    'balance of 0 for minutes',
    'main balance and free margin read 0 all through the fall',
    'zeroBalance',
    2 * MINUTE,
  ),
];

export interface ScenarioPlace {
  readonly scenario: Scenario;
  readonly index: number;
}

export const SCENARIO_PLACES: readonly ScenarioPlace[] = SCENARIOS.flatMap((scenario) =>
  Array.from({ length: scenario.cases }, (_, index) => ({ scenario, index })),
);

/** Only the first value of these: each scenario has one trouble. */
const VARIED: ReadonlySet<Factor> = new Set(['latency', 'speed', 'account', 'leverage', 'rules', 'margin']);
const FAIR: Partial<Record<Factor, readonly string[]>> = {
  latency: ['0.1 s', '0.4 s', '0.8 s'],
  speed: ['0.1 %/s', '0.16 %/s', '0.3 %/s'],
  account: ['one long', 'one short', 'hedged', 'ten correlated', 'mixed with loan'],
};

/** The case at a place in the list. */
export function scenarioCase(seed: number, place: number): FieldCase {
  const { scenario, index } = SCENARIO_PLACES[place] as ScenarioPlace;
  const random = chanceOf(seed, `${scenario.id} ${index}`);
  const drawn = Object.fromEntries(
    FACTOR_NAMES.map((factor) => {
      const values = VARIED.has(factor) ? (FAIR[factor] ?? valuesOf(factor)) : valuesOf(factor).slice(0, 1);
      return [factor, values[random.below(values.length)]];
    }),
  ) as Levels;
  const twist = scenario.make({ random, levels: drawn, threshold: thresholdFor(drawn) });
  const levels = { ...drawn, ...twist.levels };
  const made = fieldCase(seed, place, levels, twist.plan);
  const { world } = made;
  return {
    ...made,
    id: `${seed}-s${place}`,
    world: {
      ...world,
      faults: [...(world.faults ?? []), ...(twist.faults?.(made) ?? [])],
      events: [...(world.events ?? []), ...(twist.events?.(made) ?? [])],
    },
  };
}
