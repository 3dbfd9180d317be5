import { expect, test } from 'vitest';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../../src/core/rules/evaluate.ts';
import type { RuleSpec } from '../../../src/core/rules/rule.ts';
import { at, below, d, position, positionsSnapshot, rule, settings } from '../rules/fixtures.ts';

/** A long worth 1000 whose own liquidation price is at this distance. */
const long = (index: number, distance: number): PositionRecord =>
  position({
    positionId: String(index),
    market: `C${index}_PERP`,
    amount: d('10'),
    basePrice: d('100.0'),
    unrealizedPnl: d('0.0000'),
    liquidationPrice: d((100 * (1 - distance)).toFixed(4)),
  });

const dueOf = (records: readonly PositionRecord[], rules: readonly RuleSpec[] = []) => {
  const compiled = compileRules(rules, settings());
  return evaluate(
    { snapshot: positionsSnapshot(records, at(0)), state: emptyAccountState('desk-1'), now: at(0) },
    compiled,
  ).nextDue;
};

const ten = (distance: number) => Array.from({ length: 10 }, (_, index) => long(index, distance));

test('ten correlated longs at 61 % have the cadence of an account 6.1 % away, not the calm one', () => {
  expect(dueOf([long(0, 0.61)])).toMatchObject({ reason: 'calm' });
  const together = dueOf(ten(0.1));
  expect(together).toMatchObject({ reason: 'nearThreshold', subject: 'account' });
  // As near as a single position 1 % away.
  expect(together.inMs).toBeCloseTo(dueOf([long(0, 0.01)]).inMs, 6);
});

test('a threshold on the joint distance is a level, too', () => {
  const near = rule('account', below('jointDistance', 0.06), { id: 'near' });
  expect(dueOf(ten(0.61)).inMs).toBeCloseTo(6_100, 6);
  expect(dueOf(ten(0.61), [near]).inMs).toBe(1_000);
  expect(dueOf(ten(0.61), [near])).toMatchObject({ reason: 'nearThreshold', subject: 'account' });
});

/** Twelve longs of a pool that shows only margin in use: nothing is free, and no position alone is in danger. */
const silent: readonly PositionRecord[] = Array.from({ length: 12 }, (_, index) => ({
  ...long(index, 0),
  liquidationPrice: null,
  margin: d('300'),
  freeMargin: d('0'),
}));

test('a pool with an unknown buffer is polled as if it were as near as it may be, not calmly', () => {
  const due = dueOf(silent);
  expect(due).toMatchObject({ reason: 'nearThreshold', subject: 'account' });
  // No position alone uses up the buffer, so twelve equal ones are at least a twelfth away.
  expect(due.inMs).toBeCloseTo(100_000 / 12, -1);
  expect(dueOf(silent, [rule('account', below('jointDistance', 0.08))]).inMs).toBe(1_000);
});

test('positions of unknown side may all be on the same one', () => {
  const unsigned = compileRules([], settings({ bothSign: 'unsigned' }));
  const dueUnsigned = (records: readonly PositionRecord[]) =>
    evaluate(
      { snapshot: positionsSnapshot(records, at(0)), state: emptyAccountState('desk-1'), now: at(0) },
      unsigned,
    ).nextDue;
  const sideless = silent.map(({ positionSide: _side, ...record }) => record);
  expect(dueUnsigned(sideless)).toMatchObject({ reason: 'nearThreshold', subject: 'account' });
  expect(dueUnsigned(sideless).inMs).toBeCloseTo(100_000 / 12, -1);
  // A position with its side and liquidation price shows the buffer, but not the sides of the others.
  expect(dueUnsigned([long(0, 0.5), ...sideless.slice(1)]).inMs).toBeCloseTo(
    (100_000 * 0.5 * 0.97) / 11.97,
    -1,
  );
});
