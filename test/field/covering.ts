import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import { chanceOf } from '../../src/world/chance.ts';
import { FACTOR_NAMES, type Factor, type Levels, valuesOf } from './factors.ts';

export type Fixed = Readonly<Partial<Record<Factor, string>>>;

/**
 * The levels of a seed's cases in order: first rows that together contain every pair of values, then random rows. A
 * fixed value stands in every row.
 */
export function* rows(seed: number, fixed: Fixed = {}): Generator<Levels> {
  yield* coveringRows(seed, fixed);
  const random = chanceOf(seed, 'rows by chance');
  for (;;) yield rowOf((factor) => fixed[factor] ?? pick(random, valuesOf(factor)));
}

/** Candidates for each row; the one that covers most is taken. */
const CANDIDATES = 12;

/** A small set of rows that contains every pair of values of two factors. */
export function coveringRows(seed: number, fixed: Fixed = {}): readonly Levels[] {
  const random = chanceOf(seed, 'covering rows');
  const uncovered = allPairs(fixed);
  const found: Levels[] = [];
  while (uncovered.size > 0) {
    const candidates = Array.from({ length: CANDIDATES }, () => candidate(uncovered, fixed, random));
    const best = candidates.reduce((a, b) => (gain(b, uncovered) > gain(a, uncovered) ? b : a));
    for (const pair of pairsOf(best)) uncovered.delete(pair);
    found.push(best);
  }
  return found;
}

/** Begins with a missing pair, then gives each factor the value that covers most. */
function candidate(uncovered: ReadonlySet<string>, fixed: Fixed, random: SeededRandom): Levels {
  const chosen: Partial<Record<Factor, string>> = { ...fixed };
  const missing = [...uncovered][random.below(uncovered.size)] ?? '';
  for (const [factor, value] of membersOf(missing)) chosen[factor] = value;
  for (const factor of shuffled(FACTOR_NAMES, random)) {
    chosen[factor] ??= bestValue(factor, chosen, uncovered, random);
  }
  return rowOf((factor) => chosen[factor] ?? '');
}

function bestValue(
  factor: Factor,
  chosen: Fixed,
  uncovered: ReadonlySet<string>,
  random: SeededRandom,
): string {
  let best = '';
  let most = -1;
  for (const value of shuffled(valuesOf(factor), random)) {
    const covers = FACTOR_NAMES.filter((other) => {
      const theirs = chosen[other];
      return other !== factor && theirs !== undefined && uncovered.has(pairOf(factor, value, other, theirs));
    }).length;
    if (covers > most) [best, most] = [value, covers];
  }
  return best;
}

function gain(row: Levels, uncovered: ReadonlySet<string>): number {
  return pairsOf(row).filter((pair) => uncovered.has(pair)).length;
}

/** Every pair of values of two different factors. */
export function allPairs(fixed: Fixed = {}): Set<string> {
  const pairs = new Set<string>();
  const valuesIn = (factor: Factor): readonly string[] => {
    const value = fixed[factor];
    return value === undefined ? valuesOf(factor) : [value];
  };
  for (const [index, a] of FACTOR_NAMES.entries()) {
    for (const b of FACTOR_NAMES.slice(index + 1)) {
      for (const valueA of valuesIn(a))
        for (const valueB of valuesIn(b)) pairs.add(pairOf(a, valueA, b, valueB));
    }
  }
  return pairs;
}

export function pairsOf(row: Levels): readonly string[] {
  return FACTOR_NAMES.flatMap((a, index) =>
    FACTOR_NAMES.slice(index + 1).map((b) => pairOf(a, row[a], b, row[b])),
  );
}

/** Key of a pair; its factors are in the order of the table. */
function pairOf(a: Factor, valueA: string, b: Factor, valueB: string): string {
  const isInOrder = FACTOR_NAMES.indexOf(a) < FACTOR_NAMES.indexOf(b);
  return isInOrder ? `${a}=${valueA}|${b}=${valueB}` : `${b}=${valueB}|${a}=${valueA}`;
}

function membersOf(pair: string): readonly (readonly [Factor, string])[] {
  return pair.split('|').map((member) => {
    const at = member.indexOf('=');
    return [member.slice(0, at) as Factor, member.slice(at + 1)] as const;
  });
}

function rowOf(valueOf: (factor: Factor) => string): Levels {
  return Object.fromEntries(FACTOR_NAMES.map((factor) => [factor, valueOf(factor)])) as Levels;
}

function pick<T>(random: SeededRandom, choices: readonly T[]): T {
  return choices[random.below(choices.length)] as T;
}

function shuffled<T>(items: readonly T[], random: SeededRandom): readonly T[] {
  const left = [...items];
  for (let index = left.length - 1; index > 0; index -= 1) {
    const other = random.below(index + 1);
    [left[index], left[other]] = [left[other] as T, left[index] as T];
  }
  return left;
}
