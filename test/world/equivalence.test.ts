import { beforeAll, describe, expect, test } from 'vitest';
import { sliceOf } from '../support/slice.ts';
import { notHeldUp } from '../support/working-time.ts';
import { differences, pairsOf, readBefore } from './equivalence/differences.ts';
import { type Played, playForReal, playInWorld, SEED } from './equivalence/play.ts';
import { accountIdOf, type Group, type Scenario } from './equivalence/scenario.ts';
import { GROUPS as ALL_GROUPS } from './equivalence/scenarios.ts';
import type { Trace } from './equivalence/trace.ts';

/**
 * The world is valid as far as it agrees with the real daemon. Each scenario is played twice, from one specification
 * and one config text: in the world, and by the daemon with its queues on a real Redis against the exchange over HTTP.
 * All real plays run at the same time. A run plays a third of the scenarios with the default readings, and some of the
 * other readings.
 */

const [BY_DEFAULT, ...UNDER_READINGS] = ALL_GROUPS;
const GROUPS: readonly Group[] = [
  { ...BY_DEFAULT, scenarios: sliceOf(BY_DEFAULT.scenarios, 3, 'scenarios with the readings of default') },
  ...sliceOf(UNDER_READINGS, 5, 'groups of readings'),
];

const inWorld = new Map<string, Played>();
const forReal = new Map<string, Played>();

beforeAll(async () => {
  // The world's machine is never held up.
  const real = await notHeldUp(250, 4, () => Promise.all(GROUPS.map((group) => playForReal(group))));
  for (const [index, group] of GROUPS.entries()) {
    forReal.set(group.name, real[index] as Played);
    inWorld.set(group.name, await playInWorld(group));
  }
  process.stdout.write(`${JSON.stringify({ event: 'equivalence', seed: SEED, ...latencies() })}\n`);
});

function traceOf(played: ReadonlyMap<string, Played>, group: string, scenario: Scenario): Trace {
  const trace = played.get(group)?.traces.get(accountIdOf(scenario));
  if (trace === undefined) throw new Error(`${scenario.id} was not played`);
  return trace;
}

/** For orders of the real plays: the time since the read before, and the time behind the world's orders. */
function latencies() {
  const pairs = GROUPS.flatMap(({ name, scenarios }) =>
    scenarios.flatMap((scenario) =>
      pairsOf(traceOf(inWorld, name, scenario), traceOf(forReal, name, scenario)),
    ),
  );
  const spread = (values: readonly number[]) => {
    const inOrder = values.toSorted((a, b) => a - b).map(Math.round);
    return { p50: inOrder[inOrder.length >> 1], max: inOrder.at(-1) };
  };
  return {
    orders: pairs.length,
    readToOrderMs: spread(pairs.map(({ real }) => real.atMs - readBefore(real))),
    behindTheWorldMs: spread(pairs.map(({ world, real }) => real.atMs - world.atMs)),
  };
}

test('there are at least 30 scenarios', () => {
  const ids = ALL_GROUPS.flatMap(({ scenarios }) => scenarios.map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThanOrEqual(30);
});

describe.each(GROUPS)('$name', (group) => {
  test('nothing failed unexpectedly', () => {
    expect(inWorld.get(group.name)?.errors).toEqual([]);
    expect(forReal.get(group.name)?.errors).toEqual([]);
  });

  test.each(group.scenarios)('$id: $about', (scenario) => {
    const world = traceOf(inWorld, group.name, scenario);
    const real = traceOf(forReal, group.name, scenario);
    expect(differences(group, world, real)).toEqual([]);
    expect(outcomesOf(world)).toContain(scenario.leadsTo);
  });
});

/** So that two plays are not equal because both did nothing. */
function outcomesOf({ orders, ledger, actions }: Trace): readonly Scenario['leadsTo'][] {
  const said = Object.values(actions).flat();
  const outcomes: Scenario['leadsTo'][] = [
    ...(orders.some(({ isOurs }) => isOurs) ? (['orders'] as const) : []),
    ...(said.some((words) => words.startsWith('wouldPlace')) ? (['wouldPlace'] as const) : []),
    ...(said.some((words) => words.startsWith('refused')) ? (['refused'] as const) : []),
    ...(Object.values(ledger)
      .flat()
      .some((words) => words.startsWith('liquidation '))
      ? (['liquidation'] as const)
      : []),
  ];
  return outcomes.length === 0 ? ['nothing'] : outcomes;
}
