import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withGenerated } from '../../scripts/documents/config-tables.ts';
import { metricTables } from '../../scripts/documents/metric-tables.ts';
import { EVENT_METRICS } from '../../src/telemetry/metrics/event-metrics.ts';
import type { MetricSpec } from '../../src/telemetry/metrics/metric-spec.ts';
import { createMetrics } from '../../src/telemetry/metrics/registry.ts';
import { STATE_METRICS } from '../../src/telemetry/metrics/state-metrics.ts';

const text = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
const ALL: readonly MetricSpec[] = [...Object.values(STATE_METRICS), ...Object.values(EVENT_METRICS)];

test('docs/metrics.md is fresh (else run npm run generate)', () => {
  expect(text).toBe(withGenerated(text, metricTables()));
});

test('it lists every metric once, and no other name', async () => {
  const processMetrics = await createMetrics('x').registry.getMetricsAsJSON();
  const histograms = new Set(
    ALL.filter(({ type }) => type === 'histogram').map(({ name }) => `breakwater_${name}`),
  );
  const known = new Set([
    ...ALL.map(({ name }) => `breakwater_${name}`),
    ...processMetrics.map(({ name }) => name),
  ]);
  for (const { name } of ALL)
    expect([name, text.split(`| \`breakwater_${name}\` |`).length - 1]).toEqual([name, 1]);
  for (const [name] of text.matchAll(/breakwater_[a-z_0-9]+/g)) {
    const base = name.replace(/_(bucket|count|sum)$/, '');
    expect([name, known.has(name) || histograms.has(base)]).toEqual([name, true]);
  }
});

test("names are unique and follow Prometheus's rules: base units, totals for counters, a help text", () => {
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length);
  for (const { name, type, unit, help, buckets } of ALL) {
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    if (unit === 'seconds' || unit === 'ratio')
      expect(name.replace(/_total$/, '')).toMatch(new RegExp(`_${unit}$`));
    expect(help).toMatch(/^[A-Z1].{10,}\.$/);
    expect([name, buckets !== undefined]).toEqual([name, type === 'histogram']);
  }
});
