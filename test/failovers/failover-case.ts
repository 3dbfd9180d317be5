import { createRandom } from '../../src/simulator/scenarios/random.ts';

/** What keeps more than one server. */
export type Keeper = 'sentinel' | 'cluster';

/** What becomes of the server that is in use. */
export const TROUBLES = {
  /** `swap`: another is made the primary, and the one of before goes on as a replica. */
  sentinel: ['kill', 'hang', 'swap', 'killWithLostWrites'],
  cluster: ['kill', 'hang', 'swap', 'killWithLostWrites', 'moveSlot', 'moveSlotAtOnce'],
} as const satisfies Readonly<Record<Keeper, readonly string[]>>;

export type Trouble = (typeof TROUBLES)[Keeper][number];

export interface FailoverCase {
  readonly seed: number;
  readonly keeper: Keeper;
  readonly trouble: Trouble;
  /** The trouble begins at so many events of the daemons after the price has crossed the rule's threshold. */
  readonly atEvent: number;
  /** And so many milliseconds later. */
  readonly delayMs: number;
  readonly daemons: 1 | 2;
  /** From the trouble on, until the price goes on falling: until then what was sent rests. */
  readonly fallsAfterMs: number;
  /** Of a slot that is moved: keys that go first, and how long until the others follow. */
  readonly keysFirst: number;
  readonly pauseMs: number;
}

/** Seeds in a row take all troubles of a keeper in turn. */
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
