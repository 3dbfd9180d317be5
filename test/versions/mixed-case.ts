import { createRandom } from '../../src/simulator/scenarios/random.ts';

export type Version = 'old' | 'new';

export interface MixedCase {
  readonly seed: number;
  /** Which of the two has `--instance 0`; the other has 1. */
  readonly first: Version;
  /** Which is killed in the middle of the first reduction, while both run. */
  readonly killed: Version | 'none';
  /** Milliseconds from the moment at which the rule may fire. */
  readonly killedAfterMs: number;
  /** Which continues alone afterwards; then the other one, restarted on the state left by the first. */
  readonly next: Version;
}

/** Six consecutive seeds have each order, with each version killed and none. */
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
