import { expect, test } from 'vitest';
import { sliceOf } from '../support/slice.ts';
import { CONTENDED_GRACE_MS, contendedWorld } from './contended-world.ts';
import { playJudged } from './invariants.ts';

/** `WORLDS=1000 npm test -- test/world/contended` runs as many. */
const WORLDS = Number(process.env['WORLDS'] ?? 15);
const FIRST_SEED = Number(process.env['FIRST_SEED'] ?? 1);
const SEEDS = Array.from({ length: WORLDS }, (_, index) => FIRST_SEED + index);

test(
  `in ${SEEDS.length} worlds of contending daemons no orders add up that must not`,
  async () => {
    let orders = 0;
    for (const seed of SEEDS) {
      // If ids are unique among open orders only, a filled one is no proof against a late arrival.
      const clientOrderIdUniqueness = seed % 2 === 0 ? 'openOrders' : 'forever';
      const overshoot = seed % 4 < 2 ? 'never' : 'audited';
      const spec = contendedWorld(seed, { clientOrderIdUniqueness }, overshoot);
      const { world, violations } = await playJudged(spec, { graceMs: CONTENDED_GRACE_MS });
      expect(violations, `seed ${seed}`).toEqual([]);
      expect(world.errors, `seed ${seed}`).toEqual([]);
      expect((await world.audit.verify('desk-1')).kind, `seed ${seed}`).toBe('intact');
      orders += world.exchange.model.ledger({ kinds: ['order_placed'] }).length;
    }
    // A world without actions proves nothing.
    expect(orders).toBeGreaterThan(5 * SEEDS.length);
  },
  600_000 + 30_000 * WORLDS,
);

/** Seeds in which a resumed process that had lost its lane placed a second order. */
test.each(sliceOf([190, 253, 282], 3, 'worlds where a suspended process sent'))(
  'a resumed process does not send what it was about to send: seed %i',
  async (seed) => {
    const { violations } = await playJudged(contendedWorld(seed), { graceMs: CONTENDED_GRACE_MS });
    expect(violations).toEqual([]);
  },
);
