import { expect, test } from 'vitest';
import { hasRedisServer } from '../support/redis.ts';
import { PRESSING_FROM } from './fault-world.ts';
import { playForReal, realWorlds } from './real-play.ts';

test.runIf(hasRedisServer())(
  'a world of the fault matrix holds on real parts; npm run faults -- --real plays more',
  async () => {
    const [world] = realWorlds(PRESSING_FROM, 1);
    if (world === undefined) return expect.fail('there is always one more');
    const { violations } = await playForReal(world);
    expect(violations, `npm run faults -- --real --seeds 1 --from ${world.spec.seed}`).toEqual([]);
  },
);
