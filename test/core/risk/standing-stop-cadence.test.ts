import { expect, test } from 'vitest';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import type { OwnStop } from '../../../src/core/quantities/snapshot.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../../src/core/rules/evaluate.ts';
import type { ActionSpec, RuleSpec, SubjectKind } from '../../../src/core/rules/rule.ts';
import { at, below, d, LONG, list, position, read, rule, settings, snapshot } from '../rules/fixtures.ts';

const PROTECT: ActionSpec = { kind: 'protect', at: 0.85, slippage: 0.05 };
const SECOND = position({ positionId: '43' });

const standingStop = (on: SubjectKind = 'position', changes: Partial<RuleSpec> = {}): RuleSpec =>
  rule(on, below(on === 'account' ? 'jointDistance' : 'liquidationDistance', 0.5), {
    actions: [PROTECT],
    ...changes,
  });

const stopOf = ({ positionId }: PositionRecord, changes: Partial<OwnStop> = {}): OwnStop => ({
  positionId,
  activationPrice: d('83.00'),
  amount: LONG.amount,
  confirmed: true,
  ...changes,
});

function dueWith(rules: readonly RuleSpec[], ownStops: readonly OwnStop[], records = [position()]) {
  const shown = snapshot({ positions: read(list(records)) }, at(0), { ownStops });
  const { nextDue, state } = evaluate(
    { snapshot: shown, state: emptyAccountState('desk-1'), now: at(0) },
    compileRules(rules, settings()),
  );
  expect(state.rules.flatMap(({ entries }) => entries)).not.toEqual([]);
  return nextDue;
}

const AT_ALERT = { inMs: 1_000, reason: 'ruleActive', isPressing: true };

test('a confirmed standing stop needs no alert cadence while its rule fires', () => {
  expect(dueWith([standingStop()], [stopOf(LONG)])).toEqual({ inMs: 10_000, reason: 'calm' });
});

test.each<[string, readonly OwnStop[]]>([
  ['missing', []],
  ['in doubt', [stopOf(LONG, { confirmed: false })]],
  ['of half the size', [stopOf(LONG, { amount: d('1') })]],
  ['beyond liquidation', [stopOf(LONG, { activationPrice: d('80.00') })]],
  ['that of another position', [stopOf(SECOND)]],
])('a standing stop that is %s is polled at the alert cadence', (_, ownStops) => {
  expect(dueWith([standingStop()], ownStops)).toMatchObject(AT_ALERT);
});

test('a stop that is not placed yet is polled at the alert cadence, even if another stop covers the position', () => {
  expect(dueWith([standingStop('position', { forMs: 5_000 })], [stopOf(LONG)])).toMatchObject(AT_ALERT);
});

test("an account's stop rule is at rest once every position is covered", () => {
  const both = [position(), SECOND];
  const rules = [standingStop('account')];
  expect(dueWith(rules, [stopOf(LONG)], both)).toMatchObject(AT_ALERT);
  expect(dueWith(rules, [stopOf(LONG), stopOf(SECOND)], both).reason).not.toBe('ruleActive');
});

test('a rule that only observes waits for no stop', () => {
  expect(dueWith([standingStop('position', { mode: 'observe' })], [])).toMatchObject({ reason: 'calm' });
});

test('a rule that also reduces, now or later, is never at rest', () => {
  const reduce: ActionSpec = { kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.02] };
  const escalates = { escalate: [{ afterMs: 60_000, actions: [reduce] }] };
  expect(dueWith([standingStop('position', escalates)], [stopOf(LONG)])).toMatchObject(AT_ALERT);
});
