import { describe, expect, test } from 'vitest';
import type { DecisionInputs, StoredDecision } from '../../../src/core/audit/audit-record.ts';
import { type RulesSource, recompute } from '../../../src/core/audit/recompute.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { type CompiledRules, compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../../src/core/rules/evaluate.ts';
import { below, PERP, position, positionsSnapshot, rule, settings } from '../rules/fixtures.ts';

const NEAR = rule('position', below('liquidationDistance', 0.2), { id: 'near' });

function decided(rules = [NEAR]) {
  const { marketSettings: _marketSettings, ...plain } = settings();
  const source: RulesSource = { rules, settings: plain, markets: { '*_PERP': PERP } };
  const snapshot = positionsSnapshot([position()]);
  const inputs = {
    snapshot,
    state: emptyAccountState('desk-1'),
    now: snapshot.at,
    options: {},
    rules: source,
  } as DecisionInputs;
  const { transitions, decisions, active } = evaluate(inputs, compileRules(rules, settings()));
  const recorded: StoredDecision = {
    kind: 'decision',
    atMs: snapshot.at.wallMs,
    transitions,
    decisions,
    active,
    inputs: '',
  };
  return { recorded, inputs };
}

describe('recomputing a recorded decision', () => {
  test('gives the same decision, and compiles rules of one source once', () => {
    const { recorded, inputs } = decided();
    expect(recorded.transitions).toHaveLength(1);
    const compiled = new Map<string, CompiledRules>();
    expect(recompute(recorded, inputs, compiled)).toEqual({ kind: 'same' });
    const [made] = compiled.values();
    expect(recompute(recorded, inputs, compiled)).toEqual({ kind: 'same' });
    expect([...compiled.values()]).toEqual([made]);
    const other = decided([NEAR, rule('position', below('liquidationDistance', 0.05), { id: 'nearer' })]);
    expect(recompute(other.recorded, other.inputs, compiled)).toEqual({ kind: 'same' });
    expect(compiled.size).toBe(2);
    expect(recompute(recorded, inputs)).toEqual({ kind: 'same' });
  });

  test.each(['transitions', 'decisions', 'active'] as const)('shows that its %s were changed', (part) => {
    const { recorded, inputs } = decided();
    const changed = { ...recorded, [part]: [] };
    const result = recompute(changed, inputs);
    expect(result).toMatchObject({ kind: 'different', part, recorded: '[]' });
    expect(result).toHaveProperty('computed', expect.stringContaining('"near"'));
  });

  test('is impossible when its inputs are no valid rules', () => {
    const { recorded, inputs } = decided();
    const unknownField = {
      ...(inputs.rules as RulesSource),
      rules: [rule('position', below('noSuchField', 1))],
    };
    const result = recompute(recorded, { ...inputs, rules: unknownField });
    expect(result).toMatchObject({
      kind: 'impossible',
      why: expect.stringContaining('noSuchField') as string,
    });
  });

  test('throws on a defect of the program, which says nothing about the inputs', () => {
    const { recorded, inputs } = decided();
    const broken = Object.defineProperty({ ...inputs }, 'snapshot', {
      get: () => {
        throw new RangeError('a defect');
      },
    });
    expect(() => recompute(recorded, broken)).toThrow(RangeError);
  });
});
