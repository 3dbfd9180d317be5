import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Ran, run, withFolder, writeFiles } from '../support/programs.ts';
import { sliceOf } from '../support/slice.ts';
import { type AlertCase, CASES } from './cases.ts';
import { RULE_FILES } from './rule-files.ts';

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

const read = (file: string): RuleFile => parse(readFileSync(file, 'utf8')) as RuleFile;
const [RECORDING = '', ALERTING = ''] = RULE_FILES;
const recording = read(RECORDING);
const alerting = read(ALERTING);
const alerts = alerting.groups.flatMap(({ rules }) => rules);
const MISSING = 'promtool is not installed (Debian: apt-get install prometheus)';
const SAMPLES_APART_S = 15;

const namesOf = (rules: readonly Rule[]): string[] => rules.map(({ alert = '?' }) => alert).sort();
const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');

describe('each alert', () => {
  test('is unique, and has a case in which it fires and one in which it does not', () => {
    const names = namesOf(alerts);
    expect(new Set(names).size).toBe(names.length);
    expect(CASES.map(({ alert }) => alert).sort()).toEqual(names);
    for (const { firing, calm } of CASES) {
      for (const world of [firing, calm].flat()) expect(Object.keys(world)).not.toEqual([]);
    }
  });

  test.each(alerts.map((rule) => [rule.alert ?? '?', rule] as const))('%s says what to do', (name, rule) => {
    expect(name).toMatch(/^Breakwater[A-Z]/);
    expect(['critical', 'warning']).toContain(rule.labels?.['severity']);
    const { summary = '', description = '', runbook_url: url = '' } = rule.annotations ?? {};
    expect(summary.length).toBeGreaterThan(10);
    expect(description.length).toBeGreaterThan(40);
    expect(url).toBe(`https://breakwater.example/docs/runbook.md#${name.toLowerCase()}`);
    const paragraph =
      new RegExp(`^### ${name}$([\\s\\S]*?)(?=^##|(?![\\s\\S]))`, 'm').exec(runbook)?.[1] ?? '';
    for (const part of ['**Means.**', '**Breakwater**', '**You.**']) expect(paragraph).toContain(part);
  });

  test('has a paragraph in the runbook, and no other paragraph is there', () => {
    const titles = [...runbook.matchAll(/^### (\S+)$/gm)].map(([, title = '']) => title);
    expect(titles.sort()).toEqual(namesOf(alerts));
  });

  test('uses only recorded series', () => {
    const recorded = new Set(recording.groups.flatMap(({ rules }) => rules.map(({ record }) => record)));
    for (const { expr } of alerts) {
      for (const [name] of expr.matchAll(/breakwater:[a-z0-9_:]+/g)) expect(recorded).toContain(name);
    }
  });
});

describe('promtool', () => {
  test('finds nothing wrong with the rules', async ({ skip }) => {
    const found = (await run('promtool', ['check', 'rules', '--lint-fatal', ...RULE_FILES])) ?? skip(MISSING);
    expect(found).toMatchObject({ code: 0 });
  });

  test('every alert fires when it should, with its text, and not otherwise', async ({ skip }) => {
    const found = (await tested(alerting)) ?? skip(MISSING);
    expect(found.output).toContain('SUCCESS');
    expect(found.code).toBe(0);
  });

  const mutants = Math.max(...alerts.map(({ expr }) => [...expr.matchAll(THRESHOLD())].length));
  const which = Array.from({ length: mutants }, (_, index) => index);

  const names = alerts.map(({ alert = '?' }) => alert);
  const some = new Set(sliceOf(names, 5, 'alerts to change'));

  // One direction per run, both with FULL=1.
  test.each(
    sliceOf([1, -1] as const, 2, 'ways to move a threshold').flatMap((way) =>
      which.map((index) => [index, way] as const),
    ),
  )('the tests notice when threshold %i of an alert is moved (%i)', async (index, direction) => {
    const changed = new Set<string>();
    const mutated = changeRules((rule) => {
      const expr = withThreshold(rule.expr, index, direction);
      if (expr !== rule.expr && some.has(rule.alert ?? '?')) changed.add(rule.alert ?? '?');
      return { ...rule, expr };
    });
    const found = await tested(mutated, ({ alert }) => changed.has(alert));
    if (found === undefined) return;
    expect([...changed].filter((name) => !found.output.includes(`alertname: ${name},`))).toEqual([]);
  });

  test('the tests notice an alert without its wait, or a missing one', async ({ skip }) => {
    const waits = alerts.filter((rule) => rule.for !== undefined).map(({ alert = '?' }) => alert);
    const waiting = waits.filter((name) => some.has(name));
    const hasty = changeRules(({ for: _for, ...rule }) => rule);
    const found = (await tested(hasty, ({ alert }) => waiting.includes(alert))) ?? skip(MISSING);
    expect(waiting.filter((name) => !found.output.includes(`alertname: ${name},`))).toEqual([]);
    const never = changeRules((rule) => ({ ...rule, expr: 'vector(1) > 2' }));
    const silent = await tested(never, ({ alert }) => some.has(alert));
    const changed = CASES.filter(({ alert }) => some.has(alert));
    expect(changed.filter(({ alert }) => silent?.output.includes(`alertname: ${alert},`) !== true)).toEqual(
      [],
    );
  });
});

function changeRules(change: (rule: Rule) => Rule): RuleFile {
  return { groups: alerting.groups.map(({ name, rules }) => ({ name, rules: rules.map(change) })) };
}

/** A comparison with a number. */
function THRESHOLD(): RegExp {
  return /([<>]=?|==) (-?[\d.]+)/g;
}

function withThreshold(expr: string, index: number, direction: 1 | -1): string {
  let seen = 0;
  return expr.replace(THRESHOLD(), (whole, operator: string, text: string) => {
    if (seen++ !== index) return whole;
    const value = Number(text);
    const moved = Number.isInteger(value) && value < 3 ? value + direction : value * (1 + direction / 4);
    return `${operator} ${moved}`;
  });
}

/** One file per alert, with only the rules it needs: much faster than all rules with all cases. */
async function tested(rules: RuleFile, isMeant?: (one: AlertCase) => boolean): Promise<Ran | undefined> {
  const cases = isMeant === undefined ? CASES : CASES.filter(isMeant);
  const all = rules.groups.flatMap((group) => group.rules);
  return await withFolder(async (folder) => {
    const files = cases.map((one, index) => {
      const rule = all.filter(({ alert }) => alert === one.alert);
      const groups = [
        { name: 'recording', rules: recordedFor(rule[0]?.expr ?? '') },
        { name: 'alerting', rules: rule },
      ];
      const tests = {
        rule_files: [`rules-${index}.yml`],
        evaluation_interval: `${SAMPLES_APART_S}s`,
        group_eval_order: ['recording', 'alerting'],
        tests: testsOf(one),
      };
      return { [`rules-${index}.yml`]: text({ groups }), [`tests-${index}.yml`]: text(tests) };
    });
    await writeFiles(folder, Object.assign({}, ...files) as Record<string, string>);
    const tests = cases.map((_, index) => path.join(folder, `tests-${index}.yml`));
    return await run('promtool', ['test', 'rules', ...tests]);
  });
}

function text(value: object): string {
  return stringify(value, { aliasDuplicateObjects: false });
}

function recordedFor(expr: string): readonly Rule[] {
  const names = new Set([...expr.matchAll(/breakwater:[a-z0-9_:]+/g)].map(([name]) => name));
  return recording.groups.flatMap(({ rules }) => rules.filter(({ record }) => names.has(record ?? '')));
}

function testsOf(one: AlertCase): readonly object[] {
  const { alert, firing, calm, at = '10m' } = one;
  const rule = alerts.find((each) => each.alert === alert);
  const expected = {
    exp_labels: { severity: one.severity, ...(one.withoutJob ? {} : { job: 'breakwater' }), ...one.labels },
    exp_annotations: {
      summary: one.summary,
      description: one.description,
      runbook_url: rule?.annotations?.['runbook_url'],
    },
  };
  const early = secondsOf(rule?.for) - SAMPLES_APART_S;
  return [
    test_(firing, [
      { eval_time: at, alertname: alert, exp_alerts: [expected] },
      ...(early < 0 ? [] : [{ eval_time: `${early}s`, alertname: alert, exp_alerts: [] }]),
    ]),
    ...[calm].flat().map((world) => test_(world, [{ eval_time: at, alertname: alert, exp_alerts: [] }])),
  ];
}

function test_(world: Readonly<Record<string, string>>, alertTests: readonly object[]): object {
  return {
    interval: `${SAMPLES_APART_S}s`,
    input_series: Object.entries(world).map(([series, values]) => ({ series, values })),
    alert_rule_test: alertTests,
  };
}

function secondsOf(duration: string | undefined): number {
  const [, count = '0', unit = 's'] = /^(\d+)([sm])$/.exec(duration ?? '0s') ?? [];
  return Number(count) * (unit === 'm' ? 60 : 1);
}
