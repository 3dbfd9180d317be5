import { createRandom } from '../../src/simulator/scenarios/random.ts';

export type Version = 'old' | 'new';

export interface MixedCase {
  readonly seed: number;
  /** Which of the two has `--instance 0`; the other one has 1. */
  readonly first: Version;
  /** Which is killed in the middle of the first reduction, while both run. */
  readonly killed: Version | 'none';
  /** From the moment at which the rule may fire, milliseconds. */
  readonly killedAfterMs: number;
  /** Which goes on alone afterwards; then the other one, started anew on what that left. */
  readonly next: Version;
}

/** Six seeds in a row have each order, with each version killed and none. */
export function mixedCase(seed: number): MixedCase {
  const random = createRandom(seed);
  const killed = (['old', 'new', 'none'] as const)[seed % 3]!;
  return {
    seed,
    first: random.below(2) === 0 ? 'old' : 'new',
    killed,
    killedAfterMs: random.below(1_200),
    next: seed % 2 === 0 ? 'old' : 'new',
  };
}
