import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { EVENT_METRICS } from '../../src/telemetry/metrics/event-metrics.ts';
import type { MetricSpec } from '../../src/telemetry/metrics/metric-spec.ts';
import { createMetrics } from '../../src/telemetry/metrics/registry.ts';
import { STATE_METRICS } from '../../src/telemetry/metrics/state-metrics.ts';
import { DASHBOARDS, type Dashboard, panelsOf, queryOf } from '../grafana/dashboards.ts';
import { CASES } from './cases.ts';
import { RULE_FILES } from './rule-files.ts';

const SPECS: readonly MetricSpec[] = [...Object.values(EVENT_METRICS), ...Object.values(STATE_METRICS)];
/** Labels by metric: the daemon's own table, and the library's for process metrics. */
const LABELS = new Map<string, readonly string[]>(
  SPECS.map(({ name, labels }) => [`breakwater_${name}`, labels]),
);
const GIVEN = new Set(['instance', 'job', 'pod', 'le']);

interface Use {
  readonly where: string;
  readonly expr: string;
}

const rules: readonly Use[] = RULE_FILES.flatMap((file) => {
  const { groups } = parse(readFileSync(file, 'utf8')) as {
    groups: readonly { rules: readonly { alert?: string; record?: string; expr: string }[] }[];
  };
  return groups.flatMap((group) =>
    group.rules.map(({ alert, record, expr }) => ({ where: alert ?? record ?? '?', expr })),
  );
});

const panels: readonly Use[] = DASHBOARDS.flatMap(usesOf);

function usesOf(dashboard: Dashboard): readonly Use[] {
  const inPanels = panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `${dashboard.title}: ${title}`, expr })),
  );
  const inMarks = dashboard.annotations.list.map(({ name, expr }) => ({
    where: `${dashboard.title}: ${name}`,
    expr,
  }));
  const inVariables = dashboard.templating.list
    .filter(({ type }) => type === 'query')
    .map((variable) => ({ where: `${dashboard.title}: $${variable.name}`, expr: queryOf(variable) }));
  return inPanels.concat(inMarks, inVariables);
}

const cases: readonly Use[] = CASES.flatMap(({ alert, firing, calm }) =>
  [firing, calm].flat().flatMap((world) => Object.keys(world).map((expr) => ({ where: alert, expr }))),
);

/** Each named metric, with the labels that select it. */
function selectorsIn(expr: string): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  return [...expr.matchAll(/\b(breakwater_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({
      name: LABELS.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''),
      labels: [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
    }),
  );
}

describe.each([
  ['rules', rules],
  ['dashboards', panels],
  ['cases of the alerts', cases],
])('the %s', (_, uses) => {
  test('name only metrics of the daemon, with labels that they have', async () => {
    const processes = await createMetrics('0').registry.getMetricsAsJSON();
    const known = new Set([...LABELS.keys(), ...processes.map(({ name }) => name)]);
    expect(uses.length).toBeGreaterThan(30);
    for (const { where, expr } of uses) {
      for (const { name, labels } of selectorsIn(expr)) {
        expect([where, name, known.has(name)]).toEqual([where, name, true]);
        const own = LABELS.get(name);
        if (own === undefined) continue;
        const foreign = labels.filter((label) => !own.includes(label) && !GIVEN.has(label));
        expect([where, name, foreign]).toEqual([where, name, []]);
      }
    }
  });

  test('group by labels that the grouped series have', () => {
    for (const { where, expr } of uses) {
      const selectors = selectorsIn(expr);
      if (selectors.some(({ name }) => !LABELS.has(name))) continue;
      const labels = new Set(selectors.flatMap(({ name }) => LABELS.get(name) ?? []));
      const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
        list.split(', '),
      );
      if (labels.size === 0) continue;
      const foreign = grouped.filter((label) => !labels.has(label) && !GIVEN.has(label));
      expect([where, foreign]).toEqual([where, []]);
    }
  });
});

/**
 * Metrics that need no panel, because others show the same: account_refused, and degraded, whose reasons always exist;
 * the state of an account summarizes data_age, rule_state, account_paused and intents_open. The receiver of heartbeats
 * alarms about a missing one. Messages to bots are in the log.
 */
const SHOWN_OTHERWISE = [
  'breakwater_accounts_refused_total',
  'breakwater_protection_money_total',
  'breakwater_protection_unknown_total',
  'breakwater_exchange_store_available',
  'breakwater_bot_updates_total',
  'breakwater_heartbeat_pings_total',
  'breakwater_heartbeat_last_success_timestamp_seconds',
  'breakwater_log_lines_lost_total',
  'breakwater_position_stop_cover_ratio',
  'breakwater_account_state',
];

test('every metric of the table is on a dashboard or in an alert', () => {
  const used = new Set(
    [...rules, ...panels].flatMap(({ expr }) => selectorsIn(expr).map(({ name }) => name)),
  );
  expect([...LABELS.keys()].filter((name) => !used.has(name))).toEqual(SHOWN_OTHERWISE);
});
