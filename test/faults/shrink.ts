import type { WorldSpec } from '../../src/world/spec.ts';
import type { FaultWorld } from './parts.ts';

/**
 * The shortest list of faults and events with which a world still fails, found by leaving out ever smaller parts.
 * `fails` is called with every candidate.
 */
export async function shrink(
  failing: FaultWorld,
  fails: (world: FaultWorld) => Promise<boolean>,
): Promise<FaultWorld> {
  let current = failing;
  let partSize = Math.ceil(troublesOf(current).length / 2);
  while (partSize >= 1) {
    const smaller = await withoutOnePart(current, partSize, fails);
    if (smaller !== undefined) current = smaller;
    else if (partSize === 1) break;
    else partSize = Math.ceil(partSize / 2);
  }
  return current;
}

async function withoutOnePart(
  world: FaultWorld,
  partSize: number,
  fails: (world: FaultWorld) => Promise<boolean>,
): Promise<FaultWorld | undefined> {
  const troubles = troublesOf(world);
  for (let at = 0; at < troubles.length; at += partSize) {
    const left = withTroubles(world, [...troubles.slice(0, at), ...troubles.slice(at + partSize)]);
    if (await fails(left)) return left;
  }
  return undefined;
}

type Trouble =
  | { readonly fault: NonNullable<WorldSpec['faults']>[number] }
  | { readonly event: NonNullable<WorldSpec['events']>[number] };

function troublesOf({ spec: { faults = [], events = [] } }: FaultWorld): readonly Trouble[] {
  return [...faults.map((fault) => ({ fault })), ...events.map((event) => ({ event }))];
}

function withTroubles(world: FaultWorld, troubles: readonly Trouble[]): FaultWorld {
  const faults = troubles.flatMap((trouble) => ('fault' in trouble ? [trouble.fault] : []));
  const events = troubles.flatMap((trouble) => ('event' in trouble ? [trouble.event] : []));
  return { ...world, spec: { ...world.spec, faults, events } };
}
