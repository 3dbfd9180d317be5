import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { ACCOUNT, partedWorld, SIZE_BASE, TARGET_BASE } from './parted-world.ts';

/** `WORLDS=1000 FIRST_SEED=1 npm test -- test/world/parted` runs as many. */
const WORLDS = Number(process.env['WORLDS'] ?? 15);
const FIRST_SEED = Number(process.env['FIRST_SEED'] ?? 1);

interface Played {
  readonly world: World;
  /** Sizes that targets were computed from, by any daemon. */
  readonly bases: readonly string[];
}

async function play(seed: number): Promise<Played> {
  const bases: string[] = [];
  const world = openWorld(partedWorld(seed), {
    observe: () => ({
      emit(event) {
        if (
          event.kind === 'audited' &&
          event.event.kind === 'targetSet' &&
          event.event.sizeBase !== undefined
        )
          bases.push(event.event.sizeBase);
      },
    }),
  });
  await world.run();
  return { world, bases };
}

const sizeOf = ({ exchange }: World): number =>
  exchange.model.openPositions(ACCOUNT)[0]?.amount.toNumber() ?? 0;

async function requireOneEpisode(seed: number): Promise<void> {
  const { world, bases } = await play(seed);
  expect([...new Set(bases)], `seed ${seed}`).toEqual([SIZE_BASE]);
  expect(sizeOf(world), `seed ${seed}`).toBeLessThanOrEqual(TARGET_BASE);
  expect((await world.audit.verify(ACCOUNT)).kind, `seed ${seed}`).toBe('intact');
}

test(
  `in ${WORLDS} worlds in which daemons lose their store one by one, a lasting breach is one episode`,
  async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + WORLDS; seed++) await requireOneEpisode(seed);
  },
  600_000 + 30_000 * WORLDS,
);

test.each([
  ['as who had acted alone had not seen what others recorded before', 46],
  ['as who had never polled the account acted alone', 547],
  ['as who acted alone had read nothing before', 904],
])('a lasting breach does not begin anew, %s: seed %i', async (_, seed) => await requireOneEpisode(seed));
