import { CRASH_2020_03_12, CRASH_2021_05_19, CRASH_2022_11_08, CRASH_2025_10_10 } from './crash-shapes.ts';
import { course, type Scenario, type ScenarioPoint } from './scenario.ts';

/** Instant moves of all markets, in percent of the majors; other coins by their beta. */
const SHOCKS = [-5, -10, -20, -30, -50, 5, 10, 20, 30, 50] as const;

/** Moves as in portfolio margin: a fine range and tails (Deribit: 16 % and -66 to +500 %); the worst counts. */
const GRID_PERCENT = [-66, -50, -33, -25, -16, -12, -8, -4, 4, 8, 12, 16, 25, 33, 50, 100, 200, 500] as const;

function jump(percent: number, minutes: number): readonly ScenarioPoint[] {
  return course(`0 0, 1 0, 1 ${percent}, ${minutes} ${percent}`);
}

function signed(percent: number): string {
  return `${percent < 0 ? '-' : '+'}${Math.abs(percent)} %`;
}

function named(prefix: string, percent: number): string {
  return `${prefix}-${percent < 0 ? 'down' : 'up'}-${Math.abs(percent)}`;
}

function ofKind(kind: Scenario['kind'], all: readonly Omit<Scenario, 'kind'>[]): readonly Scenario[] {
  return all.map((one) => Object.assign(one, { kind }));
}

const shocks = SHOCKS.map(
  (percent): Scenario => ({
    id: named('shock', percent),
    title: `Shock ${signed(percent)}`,
    about: `The majors move by ${signed(percent)} at once and stay there, all other coins by their beta.`,
    kind: 'shock',
    majors: jump(percent, 10),
  }),
);

const history = ofKind('history', [
  {
    id: '2020-03-12',
    title: '12 March 2020',
    about: 'Half of the price within a day, in two falls; orders were delayed for minutes.',
    majors: CRASH_2020_03_12,
  },
  {
    id: '2021-05-19',
    title: '19 May 2021',
    about: 'A quarter down and back again within hours, in swings of 10 % within minutes.',
    majors: CRASH_2021_05_19,
  },
  {
    id: '2022-11-08',
    title: '8 November 2022',
    about: 'An exchange fails: a fall, a day of doubt, another fall.',
    majors: CRASH_2022_11_08,
  },
  {
    id: '2025-10-10',
    title: '10 October 2025',
    about: 'The largest liquidation wave so far: -13 % within half an hour, and half of it back.',
    majors: CRASH_2025_10_10,
  },
]);

const FALL = course('0 0, 5 -2, 8 -1.5, 15 -12, 17 -9, 25 -20, 30 -18, 40 -19');

const shapes = ofKind('shape', [
  {
    id: 'slow-bleed',
    title: 'Slow bleed',
    about: '-24 % over hours without one alarming minute.',
    majors: course('0 0, 720 -24'),
  },
  {
    id: 'wick',
    title: 'Wick and back',
    about: '-15 % within twelve seconds, and back within twenty: closing there was a mistake.',
    majors: course('0 0, 5 -0.6, 5.2 -15, 5.5 -1.5, 20 0.2'),
  },
  {
    id: 'weekend-gap',
    title: 'Weekend gap',
    about: 'Hours without a trade, then 12 % lower at once: stops in between never trade at their price.',
    majors: course('0 0, 10 -0.3, 250 -0.3, 250 -12, 280 -11'),
  },
  {
    id: 'rally',
    title: 'Rally',
    about: '+35 % within two hours, in waves: what a crash is to longs, this is to shorts.',
    majors: course('0 0, 20 6, 30 4.5, 60 18, 70 15, 100 33, 110 30, 120 35'),
  },
  {
    id: 'alts-together',
    title: 'Alt coins fall along',
    about: 'The majors fall by 20 % in 25 minutes, all other coins by their beta.',
    majors: FALL,
  },
  {
    id: 'alts-alone',
    title: 'Alt coins fall alone',
    about: 'The majors barely move, all others lose 45 % within an hour: a hedge with majors does not hold.',
    majors: course('0 0, 60 -3, 70 -2.5'),
    others: course('0 0, 10 -5, 25 -30, 30 -24, 60 -45, 70 -42'),
  },
  {
    id: 'majors-alone',
    title: 'Majors fall alone',
    about: 'The majors lose 15 %, all others stay where they are: shorts in other coins hedge nothing.',
    majors: course('0 0, 10 -4, 12 -3, 30 -15, 40 -14'),
    others: course('0 0, 40 -0.5'),
  },
]);

/** Every scenario that `stress` plays over time. */
export const SCENARIO_LIBRARY: readonly Scenario[] = [...shocks, ...history, ...shapes];

/** The grid: instant moves of all markets, each held for a minute. */
export const SHOCK_GRID: readonly Scenario[] = GRID_PERCENT.map((percent) => ({
  id: named('grid', percent),
  title: signed(percent),
  about: `The majors move by ${signed(percent)} at once, all other coins by their beta.`,
  kind: 'grid',
  majors: jump(percent, 2),
}));
