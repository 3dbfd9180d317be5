import { createRandom } from '../../src/simulator/scenarios/random.ts';

/** The manager of the servers. */
export type Keeper = 'sentinel' | 'cluster';

/** What happens to the server in use. */
export const TROUBLES = {
  /** `swap`: another server becomes the primary, and the previous one continues as a replica. */
  sentinel: ['kill', 'hang', 'swap', 'killWithLostWrites'],
  cluster: ['kill', 'hang', 'swap', 'killWithLostWrites', 'moveSlot', 'moveSlotAtOnce'],
} as const satisfies Readonly<Record<Keeper, readonly string[]>>;

export type Trouble = (typeof TROUBLES)[Keeper][number];

export interface FailoverCase {
  readonly seed: number;
  readonly keeper: Keeper;
  readonly trouble: Trouble;
  /** The trouble begins this many daemon events after the price has crossed the rule's threshold. */
  readonly atEvent: number;
  /** And this many milliseconds later. */
  readonly delayMs: number;
  readonly daemons: 1 | 2;
  /** Time from the trouble until the price falls on; until then open orders cannot fill. */
  readonly fallsAfterMs: number;
  /** For a slot that moves: the number of keys moved first, and the time until the others follow. */
  readonly keysFirst: number;
  readonly pauseMs: number;
}

/** Consecutive seeds take all troubles of a keeper in turn. */
export function failoverCase(keeper: Keeper, seed: number): FailoverCase {
  const random = createRandom(seed * 2 + (keeper === 'cluster' ? 1 : 0));
  const troubles: readonly Trouble[] = TROUBLES[keeper];
  return {
    seed,
    keeper,
    trouble: troubles[seed % troubles.length]!,
    atEvent: 1 + random.below(24),
    fallsAfterMs: random.below(3) === 0 ? 0 : random.below(4_000),
    delayMs: random.below(3) === 0 ? 0 : random.below(60),
    daemons: random.below(2) === 0 ? 1 : 2,
    keysFirst: 1 + random.below(20),
    pauseMs: random.below(2_000),
  };
}
