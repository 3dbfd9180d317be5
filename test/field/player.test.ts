import { expect, test } from 'vitest';
import { ZERO } from '../../src/core/quantities/decimal.ts';
import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import { openWorld } from '../../src/world/open-world.ts';
import { liquidatedMs, playUnprotected, runUntilLiquidated } from './baseline.ts';
import { FACTOR_NAMES, FACTORS, type Levels, valuesOf } from './factors.ts';
import { type FieldCase, fieldCase } from './field-case.ts';
import { ACCOUNT } from './holdings.ts';
import { judge } from './judge.ts';
import { playerPrevents } from './player.ts';

/** An exchange without trouble: the first value of every factor, except these. */
function fair(changes: Partial<Levels> = {}): Levels {
  const first = Object.fromEntries(FACTOR_NAMES.map((factor) => [factor, valuesOf(factor)[0]]));
  return { ...(first as Levels), leverage: '10x', rules: 'balanced', ...changes };
}

function withFault(fieldCase: FieldCase, effect: FaultEffect, endpoint: string): FieldCase {
  const { world } = fieldCase;
  const faults = [...(world.faults ?? []), { atMs: 0, fault: { effect, target: { endpoint } } }];
  return { ...fieldCase, world: { ...world, faults } };
}

async function prevents(fieldCase: FieldCase): Promise<boolean> {
  return playerPrevents(fieldCase, await playUnprotected(fieldCase));
}

const KINDS: readonly Partial<Levels>[] = [
  ...FACTORS.account.flatMap((account) => FACTORS.margin.map((margin) => ({ account, margin }))),
  ...(['standing', 'money', 'scale', 'collateral'] as const).flatMap((factor) =>
    valuesOf(factor)
      .slice(1)
      .flatMap((value) =>
        (['one short', 'hedged', 'mixed with loan'] as const).map((account) => ({
          account,
          [factor]: value,
        })),
      ),
  ),
  { account: 'ten correlated', scale: 'huge price', money: 'BTC', collateral: 'half in coins' },
  { account: 'sixty markets', scale: 'tiny price', money: 'BTC', standing: 'in profit, withdrawn' },
];

const wordsOf = (kind: Partial<Levels>): string => Object.values(kind).join(', ');

test.each(KINDS.map((kind) => [wordsOf(kind), kind] as const))(
  'an account (%s) is liquidated where its distance predicts',
  async (_, kind) => {
    const made = fieldCase(1, 0, fair({ ...kind, speed: '0.5 %/s' }));
    const baseline = await playUnprotected(made);
    const { breachMs = Number.NaN, liquidatedMs: lostMs = Number.NaN } = baseline;
    // It survives as long as the price takes from the threshold for the rest; entries and money are rounded.
    expect(breachMs).toBeGreaterThanOrEqual(made.times.breachMs - 1_000);
    expect(breachMs).toBeLessThanOrEqual(made.times.breachMs + 1_000);
    expect(lostMs - breachMs).toBeGreaterThan(8_000);
    expect(lostMs - breachMs).toBeLessThan(11_000);
    // Just before its first part is closed.
    expect(baseline.distanceAt(lostMs - 200)).toBeLessThan(0.003);
  },
);

test.each(KINDS.map((kind) => [wordsOf(kind), kind] as const))(
  'the player saves an account (%s) on a fair exchange',
  async (_, kind) => {
    expect(await prevents(fieldCase(1, 0, fair({ ...kind, speed: '0.5 %/s', latency: '0.8 s' })))).toBe(true);
  },
);

test.each(FACTORS.account)(
  'an account (%s) whose profit was withdrawn is liquidated while its positions are in profit',
  async (account) => {
    const made = fieldCase(1, 0, fair({ account, standing: 'in profit, withdrawn' }));
    const { liquidatedMs: lostMs = Number.NaN } = await playUnprotected(made);
    const world = openWorld({ ...made.world, daemons: [] });
    await world.run(lostMs - 200);
    const { model } = world.exchange;
    const positions = made.losing.flatMap(({ market }) => model.openPositions(ACCOUNT, market));
    const losing = positions.filter(({ direction }) => (direction === 'short') === (account === 'one short'));
    expect(losing.map(({ unrealizedPnl }) => unrealizedPnl.gt(ZERO))).toEqual(losing.map(() => true));
    expect(losing.length).toBeGreaterThan(0);
    expect(model.account(ACCOUNT).collateral['USDT']?.gt(ZERO)).toBe(true);
  },
);

test.each(
  FACTORS.stopTriggerSource.flatMap((stopTriggerSource) =>
    FACTORS.wrongSideActivation.map((wrongSideActivation) => ({ stopTriggerSource, wrongSideActivation })),
  ),
)(
  'the player needs no gap: triggers on $stopTriggerSource, wrong side $wrongSideActivation',
  async (readings) => {
    const hard = { speed: '1 %/s', latency: '0.8 s', basis: '1 %', stopTriggersAtEquality: 'no' } as const;
    expect(await prevents(fieldCase(1, 0, fair({ ...readings, ...hard })))).toBe(true);
  },
);

test('the player cannot help if every order is refused, no list shows the position, or there is no time', async () => {
  const made = fieldCase(1, 0, fair({ speed: '0.5 %/s' }));
  expect(await prevents(withFault(made, { kind: 'unavailable', meaning: 'failed' }, 'stopLimit'))).toBe(
    false,
  );
  expect(await prevents(withFault(made, { kind: 'emptyList' }, 'openPositions'))).toBe(false);
  expect(await prevents(withFault(made, { kind: 'hang' }, 'openPositions'))).toBe(false);
  const gap = { atDistance: 0.06, size: 0.07 };
  expect(await prevents(fieldCase(1, 0, fair({ speed: '0.1 %/s' }), { gap }))).toBe(false);
});

test('the player does not act before a poll has shown the threshold crossed', async () => {
  const made = fieldCase(1, 0, fair({ speed: '0.1 %/s' }));
  // Falls to just above the threshold, and no further.
  const spared = fieldCase(1, 0, fair({ speed: '0.1 %/s' }), { depth: 0.072 - 0.052 });
  expect(await prevents(made)).toBe(true);
  const baseline = await playUnprotected(spared);
  expect(baseline.breachMs).toBeUndefined();
  expect(await playerPrevents(spared, baseline)).toBe(false);
});

test('an observe-only daemon loses what the player prevents', async () => {
  const made = fieldCase(1, 0, fair({ speed: '0.3 %/s' }));
  const [daemon] = made.world.daemons;
  const observing = { name: daemon?.name ?? '', config: daemon?.config.replace('enforce', 'observe') ?? '' };
  const idle = { ...made, world: { ...made.world, daemons: [observing] } };
  expect(await judge(idle)).toMatchObject({ verdict: 'liquidated', daemon: { failure: 'no request left' } });
  expect(await judge(made)).toMatchObject({ verdict: 'prevented', daemon: { failure: null } });
});

test('a replayed case is identical to the byte', async () => {
  const hashes = await Promise.all(
    [1, 2].map(async () => {
      const world = openWorld(fieldCase(5, 7, fair({ errors: '30 %', stalls: '0.2 to 3 s' })).world);
      await runUntilLiquidated(world);
      return [await world.hash(), liquidatedMs(world)];
    }),
  );
  expect(hashes[0]).toEqual(hashes[1]);
});
