import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FieldCache } from '../../../src/core/fields/field-cache.ts';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { CreditLineQuantities, cureTo } from '../../../src/core/quantities/credit-line.ts';
import { PositionQuantities } from '../../../src/core/quantities/position.ts';
import { known, NONE, unknown } from '../../../src/core/quantities/quantity.ts';
import type { Snapshot } from '../../../src/core/quantities/snapshot.ts';
import {
  leastIntervalMs,
  levelThresholds,
  ltvLevels,
  nextDue,
  priceLevels,
  safeIntervalMs,
} from '../../../src/core/risk/cadence.ts';
import { outlookOf, passageProbability } from '../../../src/core/risk/forecast.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { compileCondition } from '../../../src/core/rules/condition.ts';
import { type EvaluateOptions, evaluate } from '../../../src/core/rules/evaluate.ts';
import type { ConditionSpec, RuleSpec } from '../../../src/core/rules/rule.ts';
import {
  above,
  at,
  below,
  creditLine,
  d,
  LOAN,
  list,
  position,
  positionsSnapshot,
  read,
  rule,
  settings,
  short,
  snapshot,
} from '../rules/fixtures.ts';

/** The chance of crossing a threshold between two polls that sets their spacing. */
const CROSSING_CHANCE = 1e-4;

const DAY = 86_400_000;
const due = (rules: readonly RuleSpec[], taken: Snapshot, options: EvaluateOptions = {}) =>
  evaluate(
    { snapshot: taken, state: emptyAccountState('desk-1'), now: at(0), options },
    compileRules(rules, settings()),
  ).nextDue;
const withPositions = (...records: readonly PositionRecord[]): Snapshot => positionsSnapshot(records);

describe('safe interval between polls', () => {
  test('keeps the chance of reaching the level within the bound, and near it', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-5, max: 1, noNaN: true }),
        fc.double({ min: 0.3, max: 3, noNaN: true }),
        fc.double({ min: 0, max: 10, noNaN: true }),
        (distance, sigma, drift) => {
          const motion = { variancePerMs: sigma ** 2 / DAY, driftPerMs: -drift / DAY };
          const safe = safeIntervalMs(distance, motion, 'fall');
          const chance = passageProbability(distance, {
            variance: motion.variancePerMs * safe,
            adverseMove: (drift / DAY) * safe,
          });
          expect(chance).toBeLessThanOrEqual(CROSSING_CHANCE * (1 + 1e-6));
          // With drift only one of the formula's two terms is left, so the chance may be half of the bound.
          expect(chance).toBeGreaterThan(CROSSING_CHANCE * 0.49);
          expect(safeIntervalMs(distance, motion, 'rise')).toBeGreaterThanOrEqual(safe);
        },
      ),
    );
  });

  test('is finite for a market that never moved', () => {
    const still = safeIntervalMs(0.01, { variancePerMs: 0, driftPerMs: 0 }, 'fall');
    expect(still).toBeLessThan(DAY);
    expect(still).toBeGreaterThan(0);
  });

  test.each([0.002, 0.005, 0.01])(
    'is short enough that a market that was still crashes no further than a level %d away',
    (distance) => {
      // ETH on 19 May 2021: 9.6 % in its worst minute, on average no faster.
      const fastestPerMs = 0.096 / 60_000;
      for (const towards of ['fall', 'rise'] as const) {
        const still = safeIntervalMs(distance, { variancePerMs: 0, driftPerMs: 0 }, towards);
        expect(still * fastestPerMs).toBeLessThanOrEqual(distance * 1.02);
      }
    },
  );
});

describe('next due', () => {
  const near = below('liquidationDistance', 0.05);

  test.each([
    ['nothing to watch', [], snapshot({}), 10_000, 'calm'],
    ['far from everything', [rule('position', near)], withPositions(position()), 10_000, 'calm'],
    // Mark 85.27: the distance of 5 % is 0.009 % away, and reached within a second with more than the bound's chance.
    [
      'at a threshold',
      [rule('position', near)],
      withPositions(position({ unrealizedPnl: d('-29.45') })),
      1_000,
      'nearThreshold',
    ],
    // Mark 85, 5 % from liquidation.
    [
      'at a threshold that no rule has, no nearer than a crash needs to liquidation',
      [],
      withPositions(position({ unrealizedPnl: d('-30'), liquidationPrice: d('80.75') })),
      5_000,
      'nearThreshold',
    ],
    [
      'at the liquidation price',
      [],
      withPositions(position({ unrealizedPnl: d('-37.99') })),
      1_000,
      'nearThreshold',
    ],
    [
      'at the liquidation price of a short',
      [],
      withPositions(short({ unrealizedPnl: d('-41.99') })),
      1_000,
      'nearThreshold',
    ],
    [
      'firing',
      [rule('position', near)],
      withPositions(position({ unrealizedPnl: d('-32') })),
      1_000,
      'ruleActive',
    ],
    [
      'pending',
      [rule('position', near, { forMs: 9_000 })],
      withPositions(position({ unrealizedPnl: d('-32') })),
      1_000,
      'ruleActive',
    ],
    [
      'margin called',
      [],
      withPositions(position({ liquidationState: { known: true, value: 'margin_call' } })),
      1_000,
      'marginCall',
    ],
    [
      'in an undocumented state',
      [],
      withPositions(position({ liquidationState: { known: false, raw: 'x' } })),
      1_000,
      'marginCall',
    ],
    ['blind', [], snapshot({ positions: { kind: 'notRead', ageMs: 0 } }), 1_000, 'blind'],
    ['too old', [], snapshot({ mainBalance: read({}, 10_001) }), 1_000, 'blind'],
    [
      'a credit line at its margin call',
      [],
      snapshot({ creditLine: read(list([creditLine({ currentLtv: d('74.99') })])) }),
      1_000,
      'nearThreshold',
    ],
    ['a credit line far from it', [], snapshot({ creditLine: read(list([LOAN])) }), 10_000, 'calm'],
    [
      'a credit line at a threshold',
      [rule('creditLine', above('ltvToLiquidation', 0.7501))],
      snapshot({ creditLine: read(list([LOAN])) }),
      1_000,
      'nearThreshold',
    ],
  ] as const)('%s', (_, rules, taken, inMs, reason) => {
    expect(due(rules, taken)).toMatchObject({ inMs, reason });
  });

  test.each([
    ['markPrice', 90.001],
    ['notional', 180.002],
    ['unrealizedPnl', -19.999],
    ['pnlPercent', -0.09999],
    ['liquidationDistance', 0.10001],
  ])('near a threshold of %s', (field, threshold) => {
    expect(due([rule('position', above(field, threshold))], withPositions(position()))).toMatchObject({
      inMs: 1_000,
      reason: 'nearThreshold',
      subject: 'position:42',
    });
  });

  // Mark 110: the price rises by 0.0005 for each 0.001 lost.
  test.each([
    ['markPrice', 110.001],
    ['notional', 220.002],
    ['unrealizedPnl', -20.001],
    ['pnlPercent', -0.10001],
    ['liquidationDistance', 0.09999],
  ])('for a short, rising to a threshold of %s', (field, threshold) => {
    const levels = priceLevels(
      new PositionQuantities(short(), settings()),
      [{ field, threshold }],
      unknown('tooFewSamples'),
    );
    expect(levels?.lower).toBe(0);
    expect(levels?.upper).toBeGreaterThan(110);
    expect(levels?.upper).toBeCloseTo(110, 1);
  });

  test('near the level at which a forecast crosses its threshold, given the motion', () => {
    const day = 86_400_000;
    const falling = { variancePerMs: 0.02 ** 2 / day, driftPerMs: -0.01 / day };
    const { variance, adverseMove } = outlookOf(falling, 'fall', day);
    const motion = known(falling);
    const price = new PositionQuantities(position(), settings());
    const prices = priceLevels(
      price,
      [
        {
          field: 'liquidationProbability',
          threshold: 0.317_310_507_863,
          reach: { deviations: 1, windowMs: day },
        },
      ],
      motion,
    );
    expect(prices?.lower).toBeCloseTo(81 * Math.exp(adverseMove + Math.sqrt(variance)), 9);
    const ltvs = ltvLevels(
      new CreditLineQuantities(LOAN, settings()),
      [{ field: 'marginCallProbability', threshold: 0.3, reach: { deviations: 1, windowMs: day } }],
      known({ variancePerMs: 0.02 ** 2 / day, driftPerMs: 0.01 / day }),
    );
    expect(ltvs?.upper).toBeCloseTo(0.75 * Math.exp(-adverseMove - Math.sqrt(variance)), 9);
  });

  test('level thresholds are found once each, with their reach', () => {
    const fieldCache = new FieldCache('position');
    const chance: ConditionSpec = {
      kind: 'field',
      field: 'liquidationProbability',
      parameter: { windowMs: 60_000 },
      comparison: { op: 'above', threshold: 0.317_310_507_863 },
    };
    const conditions = [
      below('minutesToLiquidation', 30),
      chance,
      chance,
      below('notional', 1),
      below('size', 1),
    ];
    const { leaves } = compileCondition({ kind: 'any', conditions }, fieldCache);
    const [minutes, probability, notional, ...rest] = levelThresholds(leaves, fieldCache);
    expect(minutes).toMatchObject({
      field: 'minutesToLiquidation',
      threshold: 30,
      reach: { windowMs: 1_800_000 },
    });
    expect(probability?.reach?.deviations).toBeCloseTo(1, 9);
    expect(notional).toEqual({ field: 'notional', threshold: 1 });
    expect(rest).toEqual([]);
  });

  test('the interval at some distance from a threshold lies between alert and calm', () => {
    const { inMs, reason } = due([rule('position', above('markPrice', 90.6))], withPositions(position()));
    expect(reason).toBe('nearThreshold');
    expect(inMs).toBeGreaterThan(1_000);
    expect(inMs).toBeLessThan(10_000);
  });

  describe('a level at which an order is sent, 6.5 % away', () => {
    const reduce = { kind: 'reduce', target: { kind: 'by', fraction: 1 }, slippageSteps: [0.01] } as const;
    // At a mark of 90 the rule's level is 81 / 0.965.
    const taken = (ageMs: number): Snapshot => snapshot({ positions: read(list([position()]), ageMs) });
    const acting = rule('position', below('liquidationDistance', 0.035), { actions: [reduce] });

    test('is looked at before a fall of 1 % a second reaches it', () => {
      const { inMs, reason } = due([acting], taken(0));
      expect(reason).toBe('nearThreshold');
      expect(inMs).toBe(Math.round((1e5 * (90 - 81 / 0.965)) / 90));
    });

    test('is looked at earlier by the age of the last read', () => {
      expect(due([acting], taken(3_000)).inMs).toBe(due([acting], taken(0)).inMs - 3_000);
      expect(due([acting], taken(6_000))).toMatchObject({ inMs: 1_000, isPressing: true });
    });

    test('of a rule that only notifies adds nothing to the cadence of volatility', () => {
      const telling = rule('position', below('liquidationDistance', 0.035));
      expect(due([telling], taken(0))).toEqual(due([], taken(0)));
    });

    test('of a later stage that reduces counts, too', () => {
      const escalate = [{ afterMs: 1_000, actions: [reduce] }];
      const late = rule('position', below('liquidationDistance', 0.035), { escalate });
      expect(due([late], taken(0))).toEqual(due([acting], taken(0)));
    });
  });

  test.each([
    [0, 10_000],
    [1_000, 10_000],
    [4_000, 6_000],
    [9_500, 1_000],
    [9_900, 1_000],
  ])('calm: a source last read %i ms ago is read again in %i ms', (ageMs, inMs) => {
    const told = snapshot({ positions: read(list([]), ageMs), creditLine: read(list([]), 0) });
    expect(due([], told)).toEqual({ inMs, reason: 'calm' });
    expect(due([], snapshot({ positions: read(list([]), 0), creditLine: read(list([]), ageMs) }))).toEqual({
      inMs,
      reason: 'calm',
    });
  });

  test('a position near a threshold did not press while the credit line was overdue as well', () => {
    const near = position({ unrealizedPnl: d('-37.50') });
    const told = (creditLineMs: number) =>
      snapshot({ positions: read(list([near])), creditLine: read(list([]), creditLineMs) });
    expect(due([], told(0))).toMatchObject({ reason: 'nearThreshold', isPressing: true });
    expect(due([], told(10_000))).toMatchObject({ isPressing: true });
  });

  test('the request budget stretches the interval', () => {
    const options = { leastIntervalMs: 4_000 };
    expect(due([], withPositions(position({ unrealizedPnl: d('-37.99') })), options)).toMatchObject({
      inMs: 4_000,
      reason: 'budget',
    });
    expect(due([], withPositions(position()), options)).toMatchObject({ inMs: 10_000, reason: 'calm' });
    expect(leastIntervalMs({ requests: 1_000, perMs: 10_000, reserved: 0.2 }, 400, 3)).toBe(15_000);
    expect(leastIntervalMs({ requests: 1_000, perMs: 10_000, reserved: 1 }, 1, 1)).toBe(
      Number.MAX_SAFE_INTEGER,
    );
    const bounds = { calmMs: 10_000, alertMs: 1_000, leastIntervalMs: 60_000 };
    expect(nextDue(bounds, { inMs: 10_000, reason: 'calm' })).toEqual({ inMs: 60_000, reason: 'budget' });
  });
});

describe('cure of a credit line', () => {
  const quantities = (changes: Parameters<typeof creditLine>[0] = {}): CreditLineQuantities =>
    new CreditLineQuantities(creditLine(changes), settings());

  test("repaying or adding the cure's amount reaches the target", () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 95 }), fc.integer({ min: 1, max: 99 }), (current, share) => {
        const target = (current * share) / 10_000;
        const cure = cureTo(quantities({ currentLtv: d(String(current)) }), target);
        if (cure.kind !== 'value') throw new Error('there is a cure');
        const [debt, collateral] = [1_008, 1_008 / (current / 100)];
        expect((debt - cure.value.repay) / collateral).toBeCloseTo(target, 9);
        expect(debt / (collateral + cure.value.addCollateral)).toBeCloseTo(target, 9);
      }),
    );
  });

  test('is none at or below the target, and unknown without figures', () => {
    expect(cureTo(quantities(), 0.6)).toEqual(NONE);
    expect(cureTo(quantities({ totalFunding: undefined }), 0.5)).toEqual(unknown('fieldMissing'));
    expect(cureTo(quantities({ currentLtv: undefined }), 0.5)).toEqual(unknown('fieldMissing'));
    expect(cureTo(quantities(), 0)).toEqual(unknown('notPositive'));
    expect(cureTo(quantities(), 0.5)).toMatchObject(known({ targetLtv: 0.5 }));
  });
});
