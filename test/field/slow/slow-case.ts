import { readFileSync } from 'node:fs';
import { chanceOf } from '../../../src/world/chance.ts';
import { FACTOR_NAMES, type Levels, valuesOf } from '../factors.ts';
import { type FieldCase, fieldCase, type Way } from '../field-case.ts';

/** Factors of the slow grid: the grinds in which most accounts are lost, without any other trouble. */
export const SLOW_FACTORS = {
  speed: ['0.001 %/s', '0.003 %/s', '0.01 %/s', '0.03 %/s'],
  path: ['straight', 'noise of 1 %', 'noise of 2 %', 'noise of 4 %', 'steps', 'pauses', 'half recoveries'],
  basis: ['-1 %', '-0.5 %', '-0.3 %', '-0.1 %', '-0.05 %', '0', '0.05 %', '0.1 %', '0.3 %', '0.5 %', '1 %'],
  trigger: ['last', 'mark'],
  account: ['one long', 'one short'],
  leverage: ['5x', '8x', '10x', '20x'],
  rules: ['conservative', 'balanced', 'last-resort'],
  latency: ['0.1 s', '0.8 s'],
} as const;

type SlowFactor = keyof typeof SLOW_FACTORS;
export type SlowLevels = { readonly [F in SlowFactor]: (typeof SLOW_FACTORS)[F][number] };

export interface SlowCase {
  readonly id: string;
  readonly slow: SlowLevels;
  readonly fieldCase: FieldCase;
  /** The same account guarded by nothing but the standing stops of its set. */
  readonly stopAlone: FieldCase;
}

const CALM_MS = 30_000;
/** A fall takes at most about this long to liquidation. */
const LONGEST_MS = 2_400_000;
const STEP_MS = 1_000;
/** A fall that noise has turned into a rise ends there. */
const MOST_STEPS = 7_200;
/** Where the first rule of a set acts, as a distance. */
const ACTS_AT = { conservative: 0.06, balanced: 0.04, 'last-resort': 0.03 };
/** The price goes on beyond liquidation by this, and by the basis. */
const BEYOND = 0.015;

export function slowCase(seed: number, index: number, fixed: Partial<SlowLevels> = {}): SlowCase {
  const random = chanceOf(seed, `slow ${index}`);
  const drawn = Object.fromEntries(
    Object.entries(SLOW_FACTORS).map(([name, values]) => [name, values[random.below(values.length)]]),
  ) as SlowLevels;
  const slow = { ...drawn, ...fixed };
  const speed = Number.parseFloat(slow.speed) / 100;
  const basis = Number.parseFloat(slow.basis) / 100;
  const levels: Levels = {
    ...(Object.fromEntries(FACTOR_NAMES.map((name) => [name, valuesOf(name)[0]])) as Levels),
    latency: slow.latency,
    account: slow.account,
    leverage: slow.leverage,
    rules: slow.rules,
    stopTriggerSource: slow.trigger,
  };
  const reach = Math.min(ACTS_AT[slow.rules] + 0.003, speed * (LONGEST_MS / 1_000) + 0.012);
  const made = fieldCase(seed, index, levels, {
    speed,
    distance: reach,
    basis: { ratio: basis, isRamp: false },
    tickMs: STEP_MS,
    wayOf: (distance) =>
      wayOf(slow.path, { speed, distance, depth: distance + BEYOND + Math.abs(basis) }, random),
  });
  const id = `${seed}-w${index}`;
  return { id, slow, fieldCase: { ...made, id }, stopAlone: withStopAlone(made, slow.rules) };
}

interface Fall {
  readonly speed: number;
  readonly distance: number;
  readonly depth: number;
}

type Random = ReturnType<typeof chanceOf>;

/** How deep the price has fallen at each second, as a fraction of its start. */
function wayOf(path: SlowLevels['path'], { speed, distance, depth }: Fall, random: Random): Way {
  const way: [number, number][] = [
    [0, 0],
    [CALM_MS, 0],
  ];
  const daily = path.startsWith('noise') ? Number.parseFloat(path.slice('noise of '.length)) / 100 : 0;
  const perStep = daily / Math.sqrt(86_400);
  const deepest = (): number => way.at(-1)?.[1] ?? 0;
  const go = (by: number): void => {
    way.push([(way.at(-1)?.[0] ?? 0) + STEP_MS, deepest() + by]);
  };
  const stay = (steps: number, by = 0): void => {
    for (let step = 0; step < steps; step += 1) go(by);
  };
  // Where a pause or a recovery comes: anywhere on the second half of the way.
  let turn = distance * (0.5 + 0.45 * random.uniform());
  while (deepest() < depth && way.length < MOST_STEPS) {
    if (path === 'steps') {
      stay(29);
      go(30 * speed);
    } else go(speed + perStep * random.normal());
    if ((path === 'pauses' || path === 'half recoveries') && deepest() >= turn) {
      if (path === 'pauses') stay(180);
      else stay(120, -deepest() / 240);
      turn = path === 'pauses' && random.below(2) === 0 ? turn + 0.1 * distance : Number.POSITIVE_INFINITY;
    }
  }
  stay(5);
  return way;
}

const RULES = new URL('standing-stops.yaml', import.meta.url);

/** The standing stops of the sets as they were when the bar was set: they do not follow the sets. */
function withStopAlone(made: FieldCase, rules: SlowLevels['rules']): FieldCase {
  const { world } = made;
  const daemons = world.daemons.map((daemon) => ({
    ...daemon,
    config: `${daemon.config.replace(`rules: [${rules}]`, `rules: [${rules}-stop]`)}${readFileSync(RULES, 'utf8')}`,
  }));
  return { ...made, world: { ...world, daemons } };
}
