import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { AccountSpec, PositionSpec, TimedEvent } from '../../src/world/spec.ts';
import { between, chance, type FaultWorld, LATEST_EVENT_MS, PRICES, pick } from './parts.ts';

/**
 * Adds entry prices with more digits than a double holds (as after fills at several prices), hosts that are cut off,
 * longer losses of the store, accounts polled by one tick, and notices.
 */
export function widened(world: FaultWorld, random: SeededRandom): FaultWorld {
  const { spec, sparesSecond } = world;
  const accounts = spec.exchange.accounts.map(
    ({ positions = [], ...account }): AccountSpec => ({
      ...account,
      positions: positions.map((position) =>
        chance(random, 0.5) && position.entry === undefined
          ? { ...position, entry: longEntry(random, position) }
          : position,
      ),
    }),
  );
  const cuts = Array.from({ length: sparesSecond ? 0 : random.below(3) }, () => pick(random, CUTS));
  const events = cuts.flatMap((cut) => cut(random, pick(random, spec.daemons).name));
  const wider = {
    ...world,
    spec: {
      ...spec,
      exchange: { ...spec.exchange, accounts },
      events: [...(spec.events ?? []), ...events],
    },
  };
  const telling = withNotices(wider);
  return chance(random, 0.5) ? inOneBucket(telling) : telling;
}

/** Notifies people of what the rules find, with a reminder every few seconds. */
function withNotices(world: FaultWorld): FaultWorld {
  const told = JSON.stringify(world.spec)
    .replaceAll('do: [{ ', 'do: [{ notify: {} }, { ')
    .replaceAll('rules:\\n', 'notify: { remindEvery: 3s }\\nrules:\\n');
  return { ...world, spec: JSON.parse(told) as FaultWorld['spec'] };
}

/** Ids in the same bucket as `first`: one tick polls all of them. */
const BESIDE_FIRST = { second: 'second-89', calm: 'calm-89' } as const;

function inOneBucket(world: FaultWorld): FaultWorld {
  const renamed = Object.entries(BESIDE_FIRST).reduce(
    (text, [id, beside]) =>
      text.replaceAll(`"${id}"`, `"${beside}"`).replaceAll(`id: ${id},`, `id: ${beside},`),
    JSON.stringify([world.spec, world.observed]),
  );
  const [spec, observed] = JSON.parse(renamed) as [FaultWorld['spec'], FaultWorld['observed']];
  return { ...world, spec, observed, ...BESIDE_FIRST };
}

function longEntry(random: SeededRandom, { market }: PositionSpec): string {
  const digits = Array.from({ length: 22 }, () => random.below(10)).join('');
  return `${PRICES[market.slice(0, 3)] ?? 0}.${digits}`;
}

type Cut = (random: SeededRandom, daemon: string) => readonly TimedEvent[];

const LINK_ENDS = ['store', 'exchange'] as const;

const CUTS: readonly Cut[] = [
  (random) => {
    const atMs = between(random, 1_000, 12_000);
    return [
      { atMs, kind: 'store', state: 'down' },
      { atMs: atMs + between(random, 14_000, 22_000), kind: 'store', state: 'up' },
    ];
  },
  (random, daemon) => {
    const to = pick(random, LINK_ENDS);
    const atMs = between(random, 1_000, LATEST_EVENT_MS);
    const backMs = atMs + between(random, 200, 10_000);
    return [
      { atMs, kind: 'link', daemon, to, state: pick(random, ['down', 'deaf'] as const) },
      { atMs: backMs, kind: 'link', daemon, to, state: 'up' },
    ];
  },
  // It is back for barely longer than it takes to be trusted, and is lost again.
  (random, daemon) => {
    const to = pick(random, LINK_ENDS);
    const atMs = between(random, 1_000, LATEST_EVENT_MS - 10_000);
    const everyMs = between(random, 1_500, 4_000);
    return Array.from({ length: 6 }, (_, turn) => ({
      atMs: atMs + turn * everyMs,
      kind: 'link' as const,
      daemon,
      to,
      state: turn % 2 === 0 ? ('down' as const) : ('up' as const),
    }));
  },
];
