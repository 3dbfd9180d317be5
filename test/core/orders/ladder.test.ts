import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Cover, LaneState, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { newLane } from '../../../src/core/lanes/lane-state.ts';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import { type DesiredLadder, desiredLadder } from '../../../src/core/orders/ladder.ts';
import { judgeLadder } from '../../../src/core/orders/ladder-cover.ts';
import { type DecimalString, toDecimal, toNumber, ZERO } from '../../../src/core/quantities/decimal.ts';
import type { Rung } from '../../../src/core/rules/rule.ts';
import { market, settings } from '../lanes/fixtures.ts';

const RUNGS: readonly Rung[] = [
  { at: 0.75, leave: 0.7 },
  { at: 0.88, leave: 0.3 },
  { at: 0.95, leave: 0 },
];

function positionOf(changed: Partial<ReadPosition> = {}): ReadPosition {
  return {
    positionId: '42',
    positionSide: 'BOTH',
    openDate: 1,
    direction: 'long',
    sizeBase: '1' as DecimalString,
    markPrice: '1000' as DecimalString,
    markError: 0,
    liquidationPrice: '800' as DecimalString,
    distance: 0.2,
    liquidationState: 'none',
    disagreement: false,
    fenceRisk: 0,
    ...changed,
  };
}

function coverOf(ladder: readonly Rung[]): Cover {
  return {
    key: 'cover',
    episodeKey: 'cover',
    ruleId: 'stops',
    mode: 'enforce',
    exemptFromLimits: false,
    refusedBy: null,
    positionId: '42',
    episode: 1,
    stage: 0,
    severity: 'info',
    blockedBy: null,
    at: ladder[0]?.at ?? 0,
    slippage: 0.01,
    ladder,
    anchor: null,
  };
}

function sceneOf(position: ReadPosition, cover: Cover, orders: readonly OwnOrder[] = []) {
  const state: LaneState = { ...newLane('desk', 'BTC_PERP', 'e1', 0), covers: [cover], orders };
  const read = { sentAtMs: 0, receivedAtMs: 10, positions: [position] };
  const admitted = { intents: [], covers: [cover] };
  return { state, read, admitted, market, settings, nowMs: 100, mayCancel: true };
}

function ladderOf(position: ReadPosition, rungs = RUNGS, most?: string): DesiredLadder {
  const bounds = {
    isCalm: true,
    isNew: true,
    isOne: false,
    most: most === undefined ? undefined : toDecimal(most as DecimalString),
  };
  const ladder = desiredLadder(position, bounds, sceneOf(position, coverOf(rungs)));
  if (ladder === undefined || 'blocked' in ladder) throw new Error('no ladder');
  return ladder;
}

function amountsOf(ladder: DesiredLadder): readonly number[] {
  return ladder.rungs.map(({ amount }) => toNumber(amount));
}

const side = fc.constantFrom<'long' | 'short'>('long', 'short');
const rungsOf = fc
  .array(fc.tuple(fc.double({ min: 0.05, max: 0.99, noNaN: true }), fc.integer({ min: 0, max: 99 })), {
    minLength: 1,
    maxLength: 5,
  })
  .map((drawn) => {
    const ats = drawn.map(([at]) => at).toSorted((a, b) => a - b);
    const leaves = [...new Set(drawn.map(([, leave]) => leave / 100))].toSorted((a, b) => b - a);
    return leaves.map((leave, index): Rung => ({ at: ats[index] ?? 0.99, leave }));
  });

test('a ladder never exceeds the position, and never stands on the wrong side or too near to liquidation', () => {
  fc.assert(
    fc.property(
      side,
      rungsOf,
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0.01, max: 0.6, noNaN: true }),
      (direction, rungs, thousandths, way) => {
        const sign = direction === 'long' ? 1 : -1;
        const liquidation = (1_000 * (1 - sign * way)).toFixed(1);
        const size = thousandths / 1_000;
        const sizeBase = String(size) as DecimalString;
        const position = positionOf({ direction, sizeBase, liquidationPrice: liquidation as DecimalString });
        const bounds = { isCalm: true, isNew: true, most: undefined, isOne: false };
        const ladder = desiredLadder(position, bounds, sceneOf(position, coverOf(rungs)));
        if (ladder === undefined || 'blocked' in ladder) return;
        const sum = amountsOf(ladder).reduce((total, amount) => total + amount, 0);
        expect(sum).toBeLessThanOrEqual(Math.max(size, 0.001) + 1e-9);
        let before = 0;
        for (const { prices, amount } of ladder.rungs) {
          const activation = Number(prices.activationPrice);
          expect(toNumber(amount)).toBeGreaterThanOrEqual(0.001);
          expect(sign * (1_000 - activation)).toBeGreaterThan(before);
          expect(sign * (activation - Number(liquidation))).toBeGreaterThanOrEqual(
            0.001 * Number(liquidation) + 0.2 - 1e-9,
          );
          before = sign * (1_000 - activation);
        }
      },
    ),
  );
});

test.each([
  ['1', [0.3, 0.4, 0.3]],
  ['0.001', [0.001]],
  ['0.002', [0.001, 0.001]],
  ['0.003', [0.002, 0.001]],
] as const)('parts of a size of %s that are too small are taken by the next stop', (sizeBase, amounts) => {
  expect(amountsOf(ladderOf(positionOf({ sizeBase: sizeBase as DecimalString })))).toEqual(amounts);
});

test('if a reduction leaves no room for all stops, the nearest ones are left out', () => {
  const position = positionOf();
  const judged = judgeLadder(
    ladderOf(position),
    [],
    { reducing: toDecimal('0.5' as DecimalString), isCalm: true },
    sceneOf(position, coverOf(RUNGS)),
  );
  expect(judged.place.map(({ amount }) => toNumber(amount))).toEqual([0.2, 0.3]);
});

test('with both sides of a market open no more than half of the net exposure is placed', () => {
  const position = positionOf();
  const judged = judgeLadder(
    ladderOf(position, RUNGS, '0.25'),
    [],
    { reducing: ZERO, isCalm: true },
    sceneOf(position, coverOf(RUNGS)),
  );
  expect(judged.place.map(({ amount }) => toNumber(amount))).toEqual([0.25]);
});

function standing(ladder: DesiredLadder): readonly OwnOrder[] {
  return judgeLadder(
    ladder,
    [],
    { reducing: ZERO, isCalm: true },
    sceneOf(ladder.position, ladder.cover),
  ).place.map(
    (want): OwnOrder => ({
      role: 'cover',
      key: want.key,
      ruleId: want.ruleId,
      positionId: '42',
      openDate: 1,
      request: { ...want.prices, market: 'BTC_PERP', amount: String(toNumber(want.amount)) } as never,
      amount: String(toNumber(want.amount)) as DecimalString,
      slippage: 0.01,
      status: 'open',
      sentMs: 0,
      arrivedByMs: 0,
      placedSizeBase: '1' as DecimalString,
      baseSizeBase: '1' as DecimalString,
      seenAbove: true,
      seenBelow: false,
      activatedMs: null,
      reachedMs: null,
      presumedFilled: false,
      ambiguous: false,
      overshoot: false,
      coverBasis: want.coverBasis,
    }),
  );
}

const MOVES = [
  ['a little', '810', true, true, [], []],
  ['nearer by more than a tenth, in calm', '840', true, true, [0.3, 0.4, 0.3], []],
  ['nearer by more than a tenth, in a fall', '840', false, true, [0.3, 0.4, 0.3], []],
  ['nearer, and no cancel reaches stops', '840', false, false, [], []],
  ['farther away, in a fall', '770', false, true, [], []],
  ['farther away, in calm', '770', true, true, [], [0.3, 0.4, 0.3]],
] as const;

test.each(MOVES)(
  'liquidation moves %s: tighter stops are added first, others are removed only when calm',
  (_, liquidationPrice, isCalm, cancelCoversStops, placed, removed) => {
    const own = standing(ladderOf(positionOf()));
    const position = positionOf({ liquidationPrice: liquidationPrice as DecimalString });
    const scene = { ...sceneOf(position, coverOf(RUNGS), own), settings: { ...settings, cancelCoversStops } };
    const judged = judgeLadder(ladderOf(position), own, { reducing: ZERO, isCalm }, scene);
    expect(judged.place.map(({ amount }) => toNumber(amount))).toEqual(placed);
    expect(judged.remove.map(({ order }) => Number(order.amount))).toEqual(removed);
  },
);

test('at most two generations of a stop stand', () => {
  const first = standing(ladderOf(positionOf()));
  const second = standing(ladderOf(positionOf({ liquidationPrice: '840' as DecimalString })));
  const position = positionOf({ liquidationPrice: '870' as DecimalString });
  const own = [...first, ...second];
  expect(
    judgeLadder(
      ladderOf(position),
      own,
      { reducing: ZERO, isCalm: false },
      sceneOf(position, coverOf(RUNGS), own),
    ),
  ).toEqual({
    place: [],
    remove: [],
  });
});
