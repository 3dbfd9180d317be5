import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { TimedFault } from '../../src/world/spec.ts';
import { FAULTS, requestsOf } from './matrix.ts';
import { between, chance, type FaultWorld, pick, TROUBLED_MS } from './parts.ts';

/**
 * In a part of the worlds rules cancel in the whole account before they reduce; and of the account that is spared all
 * cancels may fail, as none of them may stand in the way of its reductions.
 */
export function withAccountWide(world: FaultWorld, random: SeededRandom): FaultWorld {
  if (!chance(random, 0.4)) return world;
  const types = pick(random, ['[spot]', '[spot, margin, futures]']);
  const cancel = `{ cancelAll: { types: ${types}, scope: account } }`;
  const text = JSON.stringify(world.spec)
    .replaceAll('{ cancelAll: { types: [margin, futures], scope: market } }', cancel)
    .replaceAll(/\{ reduce: \{ (untilDistance: 9%|by: 30%)/g, `${cancel}, $&`);
  const spec = JSON.parse(text) as FaultWorld['spec'];
  const wide = { ...world, spec };
  return world.sparesSecond && chance(random, 0.7) ? withCancelsFailing(wide, random) : wide;
}

/** A gateway's 429 is one of the address: it stops the polls of every account. */
const OF_ADDRESS = 'gateway 429';
const OF_CANCELS = Object.keys(FAULTS).filter(
  (fault) => fault !== OF_ADDRESS && requestsOf(fault).includes('cancelAll'),
);

function withCancelsFailing(world: FaultWorld, random: SeededRandom): FaultWorld {
  const { spec, second, pairs } = world;
  const name = pick(random, OF_CANCELS);
  const effect = FAULTS[name];
  if (effect === undefined) throw new RangeError(`there is no fault ${name}`);
  const atMs = between(random, 0, 5_000);
  const target = { endpoint: 'cancelAll', account: second };
  const fault: TimedFault = { atMs, untilMs: TROUBLED_MS, fault: { effect, target } };
  return {
    ...world,
    spec: { ...spec, faults: [...(spec.faults ?? []), fault] },
    pairs: [...pairs, [name, 'cancelAll']],
  };
}
