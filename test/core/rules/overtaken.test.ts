import { expect, test } from 'vitest';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { positionsReadMs, withoutOvertaken } from '../../../src/core/rules/overtaken.ts';
import { OWN_RULES } from '../../../src/core/rules/own-rules.ts';
import { at, below, list, position, read, rule, settings, snapshot } from './fixtures.ts';

/** The state was last judged by a read sent at 9,000 on the clock that processes share. */
const judged = { ...emptyAccountState('desk-1'), positionsReadMs: 9_000 };
const readBefore = (ageMs: number) => snapshot({ positions: read(list([position()]), ageMs) }, at(0));

test.for([
  [10_000, 1_000, 'read', 'is the same one'],
  [10_000, 1_002, 'read', 'is the same one, but for rounding'],
  [10_000, 1_003, 'notRead', 'is older'],
  [10_000, 400, 'read', 'is newer'],
  [9_000, 5, 'notRead', 'is older than one of this moment'],
  [8_999, 5_000, 'read', 'is new, and the shared clock stepped back'],
] as const)('at %i a read of %i ms is %s: it %s', ([laneNowMs, ageMs, kind]) => {
  const moment = { laneNowMs, isNew: true };
  const left = withoutOvertaken(readBefore(ageMs), judged, moment).sources.positions;
  expect(left?.kind).toBe(kind);
  if (kind === 'notRead') expect(left).toEqual({ kind, ageMs: laneNowMs - 9_000 });
});

test('after the shared clock stepped back, a process judged what it had read long before another one', () => {
  const moment = { laneNowMs: 8_999, isNew: false };
  const left = withoutOvertaken(readBefore(5_000), judged, moment).sources.positions;
  expect(left).toEqual({ kind: 'notRead', ageMs: 5_000 });
});

test('nothing is overtaken before something was judged, and what was not read stays so', () => {
  const first = readBefore(60_000);
  const moment = { laneNowMs: 10_000, isNew: false };
  expect(withoutOvertaken(first, emptyAccountState('desk-1'), moment)).toBe(first);
  const nothing = snapshot({}, at(0));
  expect(withoutOvertaken(nothing, judged, moment)).toBe(nothing);
});

test('the newest read is remembered by the shared clock, and kept where none came', () => {
  expect(positionsReadMs(readBefore(250.4), judged, 10_000)).toBe(9_749);
  expect(positionsReadMs(snapshot({}, at(0)), judged, 10_000)).toBe(9_000);
});

test('thresholds of rules that send orders come first, those of others after them', () => {
  const { position: compiled } = compileRules(
    [
      rule('position', below('liquidationDistance', 0.08), { id: 'tells' }),
      rule('position', below('liquidationDistance', 0.05), {
        id: 'acts',
        actions: [{ kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.01] }],
      }),
    ],
    settings(),
  );
  expect(compiled.thresholds).toHaveLength(2);
  expect(JSON.stringify(compiled.thresholds[0])).toContain('0.05');
  expect(JSON.stringify(compiled.thresholds[1])).toContain('0.08');
});

test('the names of the daemon’s own rules are what people silence and route by', () => {
  expect(Object.values(OWN_RULES)).toMatchSnapshot();
});
