import { expect, test } from 'vitest';
import { rulesIn } from '../../../src/core/digest/rules-fired.ts';
import type { Transition } from '../../../src/core/rules/decision.ts';
import type { RuleLine } from '../../../src/core/view/account-view.ts';

test('a rule that the config does not have any more was told as info, whatever it fired as', () => {
  const line = (ruleId: string) =>
    ({
      ruleId,
      mode: 'enforce',
      severity: null,
      subject: 'account',
      phase: 'firing',
      sinceMs: 1,
    }) as RuleLine;
  const lines = [line('known'), line('unknown')];
  const transition = {
    ruleId: 'known',
    mode: 'enforce',
    severity: 'warning',
    subject: 'account',
    to: 'firing',
  };
  const transitions = [transition as Transition];
  const rules = rulesIn({ transitions, lines, names: new Map(), toMs: 2 });
  expect(rules.map(({ ruleId, severity }) => [ruleId, severity])).toEqual([
    ['unknown', 'critical'],
    ['known', 'warning'],
  ]);
});
