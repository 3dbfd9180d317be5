import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Snapshot } from '../../../src/core/quantities/snapshot.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import type { ConditionSpec, RuleSpec } from '../../../src/core/rules/rule.ts';
import { runsOf } from '../../support/slice.ts';
import {
  above,
  at,
  below,
  creditLine,
  d,
  list,
  position,
  positionsSnapshot,
  read,
  rule,
  SERVER_MS,
  settings,
  snapshot,
} from '../rules/fixtures.ts';
import { figures, poll, storedWith, view } from './fixtures.ts';

const NEAR = rule('position', below('liquidationDistance', 0.2), { id: 'near' });

/** A position at this distance to liquidation, in percent. */
const distance = (percent: number, ms: number): Snapshot => {
  const mark = 81 / (1 - percent / 100);
  return positionsSnapshot([position({ unrealizedPnl: d(((mark - 100) * 2).toFixed(6)) })], at(ms));
};

const line = (specs: readonly RuleSpec[], snapshots: readonly Snapshot[], nowMs?: number) => {
  const shown = view(poll(specs, snapshots), nowMs === undefined ? {} : { nowMs });
  expect(shown.rules).toHaveLength(1);
  return shown.rules[0]!;
};

describe('the line of a rule', () => {
  test('without anything to do', () => {
    expect(line([NEAR], [distance(40, 0)])).toEqual({
      ruleId: 'near',
      subject: 'position:42',
      severity: 'critical',
      mode: 'enforce',
      phase: 'inactive',
      frozen: false,
      episode: 0,
      stage: null,
      sinceMs: null,
      silenced: false,
      reason: 'the condition is not met: distance to liquidation is 40 %, not below 20 %',
      condition: 'distance to liquidation below 20 %',
    });
  });

  test('firing', () => {
    const fires = line([NEAR], [distance(15, 0), distance(12, 1_000)]);
    expect(fires).toMatchObject({ phase: 'firing', episode: 1, stage: 0, sinceMs: SERVER_MS, frozen: false });
    expect(fires.reason).toBe('the condition still holds: distance to liquidation is 12 %, below 20 %');
  });

  test('waiting for its time', () => {
    const waiting = line([{ ...NEAR, forMs: 5_000 }], [distance(15, 0), distance(15, 1_500)]);
    expect(waiting).toMatchObject({ phase: 'pending', stage: null, sinceMs: SERVER_MS });
    expect(waiting.reason).toBe('distance to liquidation is 15 %, below 20 %; it has held for 1.5 s of 5 s');
  });

  test('waiting for its time, by a clock with fractions: `status` could not be read', () => {
    const later = distance(15, 1_500);
    const byClock = { ...later, at: { ...later.at, monotonicMs: later.at.monotonicMs + 0.25 } };
    expect(line([{ ...NEAR, forMs: 5_000 }], [distance(15, 0), byClock]).sinceMs).toBe(SERVER_MS);
  });

  test('kept firing', () => {
    const kept = line(
      [{ ...NEAR, keepFiringForMs: 60_000 }],
      [distance(15, 0), distance(40, 1_000), distance(40, 3_000)],
    );
    expect(kept.phase).toBe('firing');
    expect(kept.reason).toBe(
      'the condition is clear, but not for long enough yet (2 s of 60 s): distance to liquidation is 40 %, not below 20 %; it fired because distance to liquidation is 15 %, below 20 %',
    );
  });

  test('held by its hysteresis', () => {
    const held = line(
      [rule('position', below('liquidationDistance', 0.2, 0.3))],
      [distance(15, 0), distance(25, 1_000)],
    );
    expect(held.reason).toBe(
      'the condition still holds: distance to liquidation is 25 %, after it was below 20 %, and not yet above 30 %',
    );
    expect(held.condition).toBe('distance to liquidation below 20 %, clears above 30 %');
  });

  test('not decided by the data, at rest and firing', () => {
    const unknown = positionsSnapshot([position({ unrealizedPnl: undefined })], at(1_000));
    expect(line([NEAR], [unknown])).toMatchObject({
      phase: 'inactive',
      frozen: true,
      reason: 'the data do not decide: distance to liquidation is unknown: the exchange did not say it',
    });
    expect(line([NEAR], [distance(15, 0), unknown])).toMatchObject({
      phase: 'firing',
      frozen: true,
      reason:
        'the data do not decide: distance to liquidation is unknown: the exchange did not say it; before, it fired because distance to liquidation is 15 %, below 20 %',
    });
  });

  test('with data that have become too old since: not judged any more', () => {
    expect(line([NEAR], [distance(40, 0)], SERVER_MS + 60_000)).toMatchObject({
      phase: 'inactive',
      frozen: true,
      reason: 'the data do not decide: what was read is too old',
    });
  });

  test('outside its hours', () => {
    const day = new Date(SERVER_MS).getUTCDay();
    const activeWindow = { days: [(day + 3) % 7], fromMinute: 0, toMinute: 60, timeZone: 'UTC' };
    expect(line([{ ...NEAR, activeWindow }], [distance(15, 0)])).toMatchObject({
      phase: 'inactive',
      frozen: false,
      reason: 'the rule is outside its active window',
    });
  });

  test('changed or new, and not judged since', () => {
    const polled = poll([NEAR], [distance(15, 0)]);
    const changed = compileRules(
      [{ ...NEAR, checksum: 'c2', when: below('liquidationDistance', 0.3) }],
      settings(),
    );
    expect(view({ ...polled, rules: changed }).rules).toMatchObject([
      { phase: 'firing', reason: 'the rule was changed and has not been judged since' },
    ]);
    const added = compileRules([{ ...NEAR, id: 'added' }], settings());
    expect(view({ ...polled, rules: added }).rules).toMatchObject([
      {
        ruleId: 'added',
        phase: 'inactive',
        reason: 'distance to liquidation is 15 %, below 20 %; not judged yet',
      },
      { ruleId: 'near', phase: 'firing', severity: null },
    ]);
  });

  test('for a position missing in the shown list', () => {
    const polled = poll([NEAR], [distance(15, 0)]);
    const { figures } = poll([NEAR], [positionsSnapshot([], at(0))]).stored.documents;
    const stored = storedWith({ ...polled.stored.documents, figures: figures! });
    expect(view({ ...polled, stored }).rules).toMatchObject([
      {
        subject: 'position:42',
        phase: 'firing',
        reason: expect.stringContaining('it is not in the list any more: presumed closed'),
      },
    ]);
  });

  test('only for the subjects that it selects', () => {
    const eth = rule('position', below('liquidationDistance', 0.2), { where: { market: ['ETH_*'] } });
    const taken = positionsSnapshot([position(), position({ positionId: '43', market: 'ETH_PERP' })]);
    expect(view(poll([eth], [taken])).rules.map(({ subject }) => subject)).toEqual(['position:43']);
  });

  test.each<[ConditionSpec, string]>([
    [
      {
        kind: 'all',
        conditions: [
          below('liquidationDistance', 0.1),
          { kind: 'any', conditions: [above('marginUsage', 0.9), above('notional', 50_000)] },
        ],
      },
      'distance to liquidation below 10 % and (margin usage above 90 % or value of the position above 50000)',
    ],
    [{ kind: 'not', condition: below('pnlPercent', -0.2) }, 'not (unrealised result below -20 %)'],
    [
      {
        kind: 'field',
        field: 'liquidationState',
        comparison: { op: 'in', values: ['margin_call', 'liquidation'] },
      },
      'liquidation state is one of margin call, liquidation',
    ],
    [
      {
        kind: 'field',
        field: 'liquidationProbability',
        parameter: { windowMs: 600_000 },
        comparison: { op: 'above', threshold: 0.1, clearBelow: 0.05 },
      },
      'chance of liquidation within the next 10 min above 10 %, clears below 5 %',
    ],
    [
      { kind: 'field', field: 'disagreement', comparison: { op: 'equals', value: true } },
      'the reported liquidation price is passed although the exchange does not liquidate',
    ],
  ])('condition %#', (when, words) => {
    expect(line([rule('position', when)], [distance(40, 0)]).condition).toBe(words);
  });
});

test('the worst severity is the highest one that fires', () => {
  const taken = snapshot({ positions: read(list([position()])), creditLine: read(list([creditLine()])) });
  const warn = rule('creditLine', above('currentLtv', 0.5), { id: 'w', severity: 'warning' });
  const info = rule('position', below('liquidationDistance', 0.5), { id: 'i', severity: 'info' });
  const idle = rule('position', below('liquidationDistance', 0.01), { id: 'c' });
  expect(view(poll([info, warn, idle], [taken])).worst).toBe('warning');
  expect(view(poll([info, idle], [taken])).worst).toBe('info');
  expect(view(poll([idle], [taken])).worst).toBeNull();
});

test('at the time of an evaluation the lines and its decisions match one to one', () => {
  const record = fc.record({
    id: fc.constantFrom('1', '2', '3'),
    market: fc.constantFrom('BTC_PERP', 'ETH_PERP'),
    pnl: fc.constantFrom('-35', '-20', '10', undefined),
    liquidation: fc.constantFrom('81', '60', null, undefined),
  });
  const taken = fc.record({
    records: fc.array(record, { maxLength: 3 }),
    complete: fc.boolean(),
    ageMs: fc.constantFrom(0, 0, 30_000),
    ltv: fc.constantFrom('60', '74', undefined),
  });
  const specs = [
    NEAR,
    rule('position', below('liquidationDistance', 0.1, 0.3), { id: 'latched', where: { market: ['BTC_*'] } }),
    rule('position', above('notional', 100), { id: 'later', forMs: 2_500, where: { direction: 'long' } }),
    rule('creditLine', above('currentLtv', 0.7), { id: 'ltv', keepFiringForMs: 1_500 }),
    rule('account', above('positionCount', 1), { id: 'many' }),
  ];
  fc.assert(
    fc.property(fc.array(taken, { minLength: 1, maxLength: 5 }), (drawn) => {
      const snapshots = drawn.map(({ records, complete, ageMs, ltv }, index) => {
        const positions = records.map(({ id, market, pnl, liquidation }) =>
          position({
            positionId: id,
            market,
            unrealizedPnl: pnl === undefined ? undefined : d(pnl),
            liquidationPrice: typeof liquidation !== 'string' ? liquidation : d(liquidation),
          }),
        );
        const creditLines = [creditLine({ currentLtv: ltv === undefined ? undefined : d(ltv) })];
        return snapshot(
          { positions: read(list(positions, complete), ageMs), creditLine: read(list(creditLines)) },
          at(index * 1_000),
        );
      });
      const polled = poll(specs, snapshots);
      const lines = view(polled).rules.map(({ ruleId, subject, phase, frozen }) =>
        JSON.stringify([ruleId, subject, phase, frozen]),
      );
      const decisions = polled.evaluation.decisions.map(({ ruleId, subject, phase, reason }) =>
        JSON.stringify([ruleId, subject, phase, reason === 'frozenByUnknown']),
      );
      expect(lines.sort()).toEqual(decisions.sort());
      // The figures alone give the same, as far as they go.
      expect(view(polled)).toMatchObject(figures(polled));
    }),
    { numRuns: runsOf(300) },
  );
});
