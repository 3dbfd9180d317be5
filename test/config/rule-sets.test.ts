import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Problem } from '../../src/config/problem.ts';
import { RULE_SET_NAMES, readRuleSet } from '../../src/config/rules/rule-sets.ts';
import type { ConfigSurroundings } from '../../src/config/surroundings.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import type { ConditionSpec } from '../../src/core/rules/rule.ts';
import { linesOf, loaded, surroundings, withRules } from './support.ts';

const use = (entry: string, mode = 'observe'): string =>
  `mode: ${mode}\n${withRules('', [entry]).replace('rules:\n', '')}`;
type FieldCondition = Extract<ConditionSpec, { kind: 'field' }>;

function comparisons(when: ConditionSpec): readonly FieldCondition[] {
  if (when.kind === 'field') return [when];
  return when.kind === 'not' ? comparisons(when.condition) : when.conditions.flatMap(comparisons);
}

const rulesOf = (entry: string) => loaded(use(entry)).accounts[0]?.rules ?? expect.fail();

describe('ready-made rule sets', () => {
  test.each(RULE_SET_NAMES)('%s loads without a warning, in enforce mode, too, and compiles', (name) => {
    expect(linesOf(use(name))).toEqual([]);
    expect(linesOf(use(name, 'enforce'))).toEqual([]);
    const [account] = loaded(use(name)).accounts;
    const { rules, settings } = account ?? expect.fail();
    expect(rules.length).toBeGreaterThan(1);
    for (const { id } of rules) expect(id.startsWith(`${name}/`)).toBe(true);
    expect(() => compileRules(rules, settings)).not.toThrow();
  });

  test('are read again only when the file has changed; a mistake is reported each time', () => {
    const real = surroundings('');
    let suffix = '';
    const own: ConfigSurroundings = {
      ...real,
      readFile: (path) => {
        const reading = real.readFile(path);
        return reading.kind === 'read' ? { ...reading, text: reading.text + suffix } : reading;
      },
    };
    const problems: Problem[] = [];
    const read = () => readRuleSet('balanced', own, (problem) => void problems.push(problem));
    const first = read();
    expect(read()).toBe(first);
    suffix = '# another comment\n';
    expect(read()).not.toBe(first);
    expect(read().summary).toBe(first.summary);
    suffix = 'unknown: 1\n';
    for (const times of [1, 2]) {
      expect(read().rules.size).toBe(0);
      expect(problems.map(({ code }) => code)).toEqual(Array.from({ length: times }, () => 'unknown-key'));
    }
    suffix = '';
    expect([...read().rules.keys()]).toEqual([...first.rules.keys()]);
  });

  test.each(RULE_SET_NAMES)('%s can be combined with all others', (name) => {
    const all = RULE_SET_NAMES.filter((other) => other !== name).join(', ');
    expect(linesOf(use(`${name}, ${all}`))).toEqual([]);
  });

  test.each(RULE_SET_NAMES)('%s explains every rule', (name) => {
    const text = readFileSync(new URL(`../../config/rulesets/${name}.yaml`, import.meta.url), 'utf8');
    const rules = text.split(/^ {2}- id: /m);
    expect(text.startsWith('#')).toBe(true);
    for (const before of rules.slice(0, -1)) expect(before.trimEnd().split('\n').at(-1)).toMatch(/^ {2}#/);
  });

  test.each(['conservative', 'balanced', 'last-resort'])(
    '%s places stops for all positions at once, as the limit of a pool is known late',
    (name) => {
      const stop = rulesOf(name).find(({ id }) => id === `${name}/account-standing-stop`);
      expect(stop?.forMs ?? expect.fail()).toBe(0);
    },
  );

  test('reduce only to where their rule has cleared, and never start at a healthy leverage', () => {
    const maintenance = 0.03;
    const opened = (leverage: number) => 1 / leverage - maintenance;
    // A standing stop does nothing until the market reaches it.
    const isStanding = (actions: readonly { readonly kind: string }[]) =>
      actions.every(({ kind }) => kind === 'protect');
    const thresholds = (name: string) =>
      rulesOf(name).flatMap(({ when, actions }) =>
        when.kind === 'field' &&
        when.field === 'liquidationDistance' &&
        when.comparison.op === 'below' &&
        !isStanding(actions)
          ? [when.comparison.threshold]
          : [],
      );
    expect(Math.max(...thresholds('conservative'))).toBeLessThan(opened(5));
    expect(Math.max(...thresholds('balanced'))).toBeLessThan(opened(10));
    expect(Math.max(...thresholds('last-resort'))).toBeLessThan(opened(10));
    // 0.16 % a second, the average of the worst minute on record, for the 15 s of two attempts.
    expect(Math.min(...thresholds('last-resort'), ...thresholds('balanced'))).toBeGreaterThan(0.0016 * 15);
  });

  test.each(['conservative', 'balanced', 'last-resort'])(
    "%s sees a shared pool's danger that single positions do not show, no later than for a single one",
    (name) => {
      const reducing = rulesOf(name).filter(({ actions }) => actions.some(({ kind }) => kind === 'reduce'));
      const thresholdsOf = (field: string) =>
        reducing.flatMap(({ when }) =>
          comparisons(when).flatMap((found) =>
            found.field === field && found.comparison.op === 'below' ? [found.comparison] : [],
          ),
        );
      const acting = thresholdsOf('jointDistance').map(({ threshold }) => threshold);
      const own = reducing.filter(({ when }) =>
        comparisons(when).some(({ field }) => field === 'liquidationDistance'),
      );
      // A rule that also asks whether the market falls acts earlier than the next one, not instead of it.
      const alone = own.flatMap(({ when }) =>
        comparisons(when).flatMap(({ comparison }) =>
          when.kind === 'field' && comparison.op === 'below' ? [comparison.threshold] : [],
        ),
      );
      expect(acting).toHaveLength(alone.length);
      // It is earlier if the stops of a pool may be less exact than that of a single position.
      for (const [index, threshold] of alone.entries())
        expect(acting[index]).toBeGreaterThanOrEqual(threshold);
    },
  );

  test.each(['conservative', 'balanced', 'last-resort'])(
    '%s acts for an account on its joint distance only, and never cancels for it',
    (name) => {
      const rules = rulesOf(name).filter(({ on }) => on === 'account');
      expect(rules).not.toEqual([]);
      for (const { when, actions, escalate } of rules) {
        expect(comparisons(when).map(({ field }) => field)).toEqual(['positionCount', 'jointDistance']);
        for (const action of [...actions, ...escalate.flatMap((stage) => stage.actions)]) {
          if (action.kind === 'reduce') expect(action.target.kind).toBe('untilJointDistance');
          else expect(['notify', 'protect']).toContain(action.kind);
        }
      }
    },
  );
});

describe('using rules', () => {
  test('takes one rule of a set, a whole set, or a set without some rules', () => {
    expect(rulesOf('balanced/last-line').map(({ id }) => id)).toEqual(['balanced/last-line']);
    expect(rulesOf('{ use: balanced, without: [last-line, margin-called] }').map(({ id }) => id)).toEqual([
      'balanced/liquidation-likely',
      'balanced/near-liquidation',
      'balanced/account-near-liquidation',
      'balanced/account-last-line',
      'balanced/unclear-direction',
      'balanced/standing-stop',
      'balanced/account-standing-stop',
    ]);
  });

  test('with changes: keys are replaced as a whole, and only that rule gets another checksum', () => {
    const [plain, changed] = [
      'balanced',
      '{ use: balanced, with: { near-liquidation: { limits: { perHour: 1 }, severity: info } } }',
    ].map(rulesOf);
    const different = plain?.filter(({ checksum }, index) => checksum !== changed?.[index]?.checksum);
    expect(different?.map(({ id }) => id)).toEqual(['balanced/near-liquidation']);
    expect(changed?.[1]).toMatchObject({ limits: { perHour: 1 }, severity: 'info', forMs: 0 });
    expect(changed?.[1]?.limits.cooldownMs).toBeUndefined();
  });

  test('with another `where` and mode, for positions and for actions on positions', () => {
    const rules = rulesOf('{ use: balanced, where: { market: BTC_PERP }, mode: enforce }');
    for (const { on, where, mode, actions } of rules) {
      expect({ where, mode }).toEqual({
        where: on === 'account' ? {} : { market: ['BTC_PERP'] },
        mode: 'enforce',
      });
      for (const action of actions) {
        if (on === 'account' && action.kind === 'reduce') expect(action.positions).toEqual(['BTC_PERP']);
      }
    }
    const own = withRules(
      '  - { id: r, on: account, when: { positionCount: { above: 3 } }, do: [{ reduce: { by: 10%, positions: "*" } }] }\n',
      ['{ use: r, where: { market: "*_PERP" } }'],
    );
    expect(loaded(own).accounts[0]?.rules[0]?.actions).toEqual([
      {
        kind: 'reduce',
        target: { kind: 'by', fraction: 0.1 },
        slippageSteps: [0.005, 0.01, 0.02],
        positions: ['*_PERP'],
      },
    ]);
  });

  test('defaults of the account fill in what a rule leaves out', () => {
    const rules =
      '  - { id: r, on: position, when: { size: { above: 0 } }, do: [{ reduce: { by: 1% } }, { protect: {} }, { notify: {} }] }\n';
    const text = withRules(rules, ['r'], '    acting: { slippage: 3%, protect: { at: 40% } }\n');
    expect(loaded(text).accounts[0]?.rules[0]?.actions).toEqual([
      { kind: 'reduce', target: { kind: 'by', fraction: 0.01 }, slippageSteps: [0.03] },
      { kind: 'protect', at: 0.4, slippage: 0.01 },
      { kind: 'notify', channels: ['log'], cure: [] },
    ]);
  });

  test('mistakes are reported', () => {
    const lines = linesOf(
      withRules(
        `  - { id: balanced, on: position, when: { size: { above: 0 } } }
  - { id: r, on: position, when: { size: { above: 0 } }, do: [{ notify: { channels: [ops, lgo] } }] }
`,
        ['r', 'r', 'balanced/nope', '{ use: r, without: [x], with: { r: { on: account } } }', 'nope/r'],
      ),
    );
    expect(lines.map((line) => line.replace(/^\S+ /, ''))).toEqual([
      'accounts[0].rules[1]: expected each rule once, got "r" again',
      'accounts[0].rules[2]: expected a rule of the set balanced (liquidation-likely, near-liquidation, last-line, account-near-liquidation, account-last-line, margin-called, unclear-direction, standing-stop, account-standing-stop), got "nope"',
      'accounts[0].rules[3]: expected each rule once, got "r" again',
      'accounts[0].rules[3].without[0]: expected a rule of r (r), got "x"; did you mean r?',
      'accounts[0].rules[3].with.r.on: expected keys other than id and on, which cannot be changed, got on',
      'accounts[0].rules[4]: expected a rule of this file or a rule set (conservative, balanced, last-resort, credit-line, circuit-breaker), got "nope/r"',
      'rules[0]: warning: expected an account that uses this rule, got none: "balanced" has no effect',
      'rules[0].id: expected an id that is not the name of a rule set, got "balanced"',
      'rules[1].do[0].notify.channels[0]: expected a channel (log), got "ops"',
      'rules[1].do[0].notify.channels[1]: expected a channel (log), got "lgo"; did you mean log?',
    ]);
  });
});
